"""The pages about devices say what the adapters do, and the example of an adapter works as it stands there."""

from __future__ import annotations

import re
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from conformance.devices import adapter_for
from tests.conftest import run_conformance
from tests.devices.packages import BACKEND, ask, install

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGES = Path(__file__).resolve().parents[2] / "docs" / "devices"
OURS = sorted(
    entry.name for entry in entry_points(group="conformance.devices") if entry.value.startswith("conformance.")
)


def page_of(device: str) -> str:
    own = PAGES / f"{device}.md"
    return (own if own.is_file() else PAGES / "private-use.md").read_text()


@pytest.mark.parametrize("device", OURS)
def test_every_adapter_has_a_page_that_names_it_and_its_packages(device: str) -> None:
    page = page_of(device)
    assert f"`{device}`" in page or page.startswith(f"# {device}:")
    assert all(package in page.replace("-", "_") for package in adapter_for(device).packages)


@pytest.mark.parametrize("device", OURS)
def test_every_page_says_whether_it_was_run_on_hardware(device: str) -> None:
    if device != "cpu":
        assert re.search(r"^## (Never run on hardware|Not run on a TPU)$", page_of(device), re.MULTILINE)


@pytest.mark.parametrize("device", [device for device in OURS if (PAGES / f"{device}.md").is_file()])
def test_a_page_says_which_variables_are_recorded_and_whether_it_forks(device: str) -> None:
    page, adapter = page_of(device), adapter_for(device)
    for prefix in adapter.environment_prefixes:
        assert f"`{prefix}*`" in page or f"`{prefix}`" in page, prefix
    (row,) = re.findall(r"^\| fork \| (.+) \|$", page, re.MULTILINE)
    assert row.startswith("allowed" if adapter.fork_safe else "not allowed")


def test_the_table_of_named_backends_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|", (PAGES / "private-use.md").read_text(), re.MULTILINE)
    generic = [device for device in OURS if not (PAGES / f"{device}.md").is_file()]
    assert sorted(device for device, _ in rows) == generic
    for device, module in rows:
        assert adapter_for(device).packages == (module.partition(".")[0],)


def test_the_example_of_an_adapter_works(tmp_path: Path) -> None:
    page = (PAGES / "writing-an-adapter.md").read_text()
    (source,) = re.findall(r"```python\n(.+?)```", page, re.DOTALL)
    (project,) = re.findall(r"```toml\n(.+?)```", page, re.DOTALL)
    declared = tomllib.loads(project)["project"]
    install(
        tmp_path,
        "acme_conformance",
        source,
        version=declared["version"],
        distribution=declared["name"],
        entry_points=declared["entry-points"],
    )
    install(tmp_path, "torch_acme", BACKEND.format(device="acme", available=True))
    code = """
    import os
    from conformance.devices import adapter_for
    adapter = adapter_for("acme")
    adapter.prepare()
    adapter.load()
    described = adapter.describe()
    answer = [described.device_name, adapter.is_initialized(), os.environ["ACME_LOG"],
              adapter.worker_environment(1, 2), adapter.worker_environment(0, 1)]
    """
    assert ask(tmp_path, code) == ["Acme One", False, "quiet", {"ACME_DEVICE": "1"}, {}]
    done = run_conformance("devices", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path), "CONFORMANCE_NEURON": "auto"})
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("acme ")]
    assert line.split() == ["acme", "present", "7.1", "2", "safe", "observer", "or", "profiler", "Acme", "One"]


def test_the_parts_of_an_adapter_in_the_table_exist() -> None:
    from conformance.devices import DeviceAdapter

    page = (PAGES / "writing-an-adapter.md").read_text()
    table = page.partition("## What each part is for")[2].partition("## Fallbacks")[0]
    names = [
        name for cell in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)
    ]
    assert len(names) >= 10
    assert all(hasattr(DeviceAdapter, name) for name in names)
