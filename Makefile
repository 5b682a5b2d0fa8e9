# Two commands: `make demo` runs the main job, `make test` runs every check. Both set themselves up.
PYTHON ?= python3
TORCH ?= 2.13.0
VENV ?= .venv
OUT ?= demo
BIN := $(VENV)/bin

.PHONY: demo test install system clean

demo: install
	@mkdir -p $(OUT)
	@# Exit code 1 says that the device has failures: for a demonstration that is a result, not an error.
	@$(BIN)/conformance run opinfo modules --device neuron --templates forward --dtypes one \
		--db $(OUT)/conformance.sqlite || test $$? -eq 1
	@$(BIN)/conformance site build --db $(OUT)/conformance.sqlite --out $(OUT)/site
	@echo "database: $(abspath $(OUT))/conformance.sqlite"
	@echo "site:     $(abspath $(OUT))/site/index.html"

test: install system
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 --dist loadscope

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "torch==$(TORCH)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

# A C++ compiler for the emulated device and a browser for the tests of the site, where Debian's apt can bring them.
system:
	@sh .ci/system

clean:
	rm -rf $(VENV) $(OUT) dist build
