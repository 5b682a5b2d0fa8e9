"""``conformance model`` as a user meets it: lines, exit codes, forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run

MODELS = Path(__file__).resolve().parents[1] / "readiness" / "small_models.py"
EMULATED = {"CONFORMANCE_NEURON": "emulated"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nofile.py:model", "--device", "neuron"], "there is no file nofile.py"),
        (["a b", "--device", "neuron"], "'a b' is no model"),
        ([f"{MODELS}:llama"], "give --device DEVICE to run the model there, or --against results"),
        ([f"{MODELS}:llama", "--device", "toaster"], "unknown device 'toaster'"),
        ([f"{MODELS}:llama", "--against", "nofile"], "there is no such file or folder"),
        ([f"{MODELS}:llama", "--against", "."], "cannot read run.json"),
        ([f"{MODELS}:llama", "--against", str(MODELS)], "is no SQLite file"),
        ([f"{MODELS}:nope", "--device", "cpu"], "has no function 'nope'"),
        (["no_such_module_x:make", "--device", "cpu"], "there is no module 'no_such_module_x'"),
        ([f"{MODELS}:perceptron", "--device", "cpu", "--generate", "2"], "--generate needs a model that takes tokens"),
    ],
)
def test_a_wrong_request_is_one_line(conformance: Run, arguments: list[str], words: str) -> None:
    done = conformance("model", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("conformance: error: ")
    assert words in line


def test_a_model_that_ends_the_process_is_one_line(conformance: Run, tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("def model():\n    import os\n    os._exit(5)\n")
    done = conformance("model", "ends.py", "--device", "cpu")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "making the model: the process ended with exit code 5" in line


def test_a_run_is_reported_and_its_exit_code_is_zero(conformance: Run) -> None:
    done = conformance("model", f"{MODELS}:perceptron", "--device", "neuron", env=EMULATED)
    assert (done.returncode, done.stderr) == (0, "")
    assert "on EMULATED neuron" in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[1] == "native: all 3 overloads ran on the device"


def test_a_failing_run_ends_with_one(conformance: Run) -> None:
    env = {**EMULATED, "CONFORMANCE_NEURON_FAULTS": "aten::addmm=error"}
    done = conformance("model", f"{MODELS}:perceptron", "--device", "neuron", "--format", "json", env=env)
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert (document["verdict"], document["trouble"]["overload"]) == ("fails", "aten::addmm")
    assert document["place"]["emulated"] is True


def test_recorded_results_answer_without_the_device(conformance: Run, tmp_path: Path) -> None:
    selection = ["--ops", "t,addmm,nn.functional.relu", "--templates", "forward", "--dtypes", "one"]
    ran = conformance("run", "opinfo", "--device", "neuron", *selection, "--workers", "1", env=EMULATED)
    assert ran.returncode == 0, ran.stderr
    built = conformance("site", "build", "--out", "site")
    assert built.returncode == 0, built.stderr
    for results in ("conformance.sqlite", "site"):
        done = conformance("model", f"{MODELS}:perceptron", "--against", results, "--format", "json")
        assert done.returncode == 0, done.stdout + done.stderr
        document = json.loads(done.stdout)
        assert document["verdict"] == "native"
        assert {use["name"]: use["standing"] for use in document["overloads"]} == {
            "aten::t": "native",
            "aten::addmm": "native",
            "aten::relu": "native",
        }
    asked = conformance("model", f"{MODELS}:recurrent", "--against", "conformance.sqlite")
    assert asked.returncode == 1
    assert "cannot be said: of 9 overloads" in asked.stdout
    reasons = " ".join(asked.stdout.split())
    assert "aten::_thnn_fused_lstm_cell never measured: no operator of PyTorch's tests reaches it" in reasons
    other = conformance("model", f"{MODELS}:llama", "--against", "conformance.sqlite", "--device", "cpu")
    assert "is about 'neuron', not 'cpu'" in other.stderr
