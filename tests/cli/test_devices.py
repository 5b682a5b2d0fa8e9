"""``conformance devices`` as its user sees it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.devices.packages import BACKEND, install

NAMED = {"cpu", "cuda", "hpu", "mps", "neuron", "npu", "openreg", "rbln", "spyre", "tpu", "xla", "xpu"}


@pytest.fixture
def listed(conformance: Run) -> Any:
    """Return a function that gives device -> row, from the JSON."""

    def ask(*arguments: str, **env: str) -> dict[str, dict[str, Any]]:
        done = conformance("devices", "--format", "json", *arguments, env={"CONFORMANCE_NEURON": "auto", **env})
        assert done.returncode == 0, done.stderr
        return {row["device"]: row for row in json.loads(done.stdout)["devices"]}

    return ask


def test_every_device_is_listed_with_what_is_known_of_it(listed: Any) -> None:
    rows = listed()
    assert set(rows) >= NAMED
    keys = {
        "device",
        "here",
        "found",
        "emulated",
        "why",
        "version",
        "count",
        "probe",
        "fork_safe",
        "fork_note",
        "summary",
    }
    assert all(set(row) == keys for row in rows.values())
    assert all(row["why"] for row in rows.values())
    assert rows["cpu"]["found"]
    assert rows["cpu"]["count"] == 1
    assert rows["mps"]["fork_safe"] is False
    assert (
        rows["npu"] | {"why": "torch_npu is not installed", "here": "no", "found": False, "count": None} == rows["npu"]
    )


def test_the_emulator_is_never_listed_as_the_device(listed: Any) -> None:
    row = listed(CONFORMANCE_NEURON="emulated")["neuron"]
    assert (row["here"], row["emulated"], row["count"]) == ("emulated", True, 2)
    assert listed(CONFORMANCE_NEURON="emulated", CONFORMANCE_NEURON_DEVICES="5")["neuron"]["count"] == 5


def test_the_text_is_a_table_with_a_line_for_each(conformance: Run) -> None:
    done = conformance("devices", env={"CONFORMANCE_NEURON": "emulated"})
    head, *lines = done.stdout.splitlines()
    assert " ".join(head.split()) == "device here version count fork fallbacks seen by what was found"
    at = head.index("what was found")
    assert all(line[at - 2 : at] == "  " and line[at] != " " for line in lines)
    assert {line.split()[0] for line in lines} >= NAMED
    assert [line.split()[1] for line in lines if line.startswith("neuron ")] == ["emulated"]
    assert done.stderr == ""


def test_neither_torch_nor_a_backend_is_imported(tmp_path: Path) -> None:
    install(
        tmp_path,
        "torch_tpu",
        "raise SystemExit('imported')\n",
        entry_points={"torch.backends": {"torch_tpu": "torch_tpu:_autoload"}},
    )
    code = (
        "import sys; sys.argv = ['conformance', 'devices']\n"
        "from conformance.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "assert 'torch' not in sys.modules and 'torch_tpu' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert any(line.startswith("tpu") and " present " in line for line in done.stdout.splitlines()), done.stdout


@pytest.mark.parametrize(
    ("name", "value", "slug"),
    [
        ("CONFORMANCE_NEURON", "maybe", "bad-variable"),
        ("CONFORMANCE_NEURON_DEVICES", "0", "bad-devices"),
        ("CONFORMANCE_NEURON_FAULTS", "aten::add=explode", "bad-fault"),
        ("CONFORMANCE_NEURON_PROFILE", "none-such", "bad-profile"),
    ],
)
def test_a_bad_variable_is_one_clear_line(conformance: Run, name: str, value: str, slug: str) -> None:
    done = conformance("devices", env={name: value})
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert name in line
    assert line.endswith(f"[{slug}]")


def test_a_misspelt_variable_is_a_warning(conformance: Run) -> None:
    done = conformance("devices", env={"CONFORMANCE_NEURON_PROFLE": "full"})
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "do you mean CONFORMANCE_NEURON_PROFILE?" in line


def test_real_without_torch_neuron_is_said_in_its_row(listed: Any) -> None:
    row = listed(CONFORMANCE_NEURON="real")["neuron"]
    assert (row["found"], row["here"]) == (False, "no")
    assert "no TorchNeuron" in row["why"]


def test_a_package_of_ones_own_is_listed(listed: Any, tmp_path: Path) -> None:
    source = """
    from conformance.devices import DeviceAdapter, Presence
    class Acme(DeviceAdapter):
        device = "acme"
        summary = "Acme's"
        def look(self):
            return Presence(found=True, why="Acme One", version="7.1", count=4)
    ADAPTER = Acme()
    """
    install(tmp_path, "acme", source, entry_points={"conformance.devices": {"acme": "acme:ADAPTER"}})
    install(tmp_path, "bad", "1 / 0\n", entry_points={"conformance.devices": {"bad": "bad:ADAPTER"}})
    rows = listed(PYTHONPATH=str(tmp_path))
    assert (rows["acme"]["here"], rows["acme"]["version"], rows["acme"]["count"]) == ("present", "7.1", 4)
    assert (rows["bad"]["here"], rows["bad"]["found"]) == ("broken", False)
    assert "ZeroDivisionError" in rows["bad"]["why"]


def test_loading_asks_torch_and_survives_a_backend_that_crashes(listed: Any, tmp_path: Path) -> None:
    install(
        tmp_path,
        "torch_openreg",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    )
    install(tmp_path, "torch_tpu", BACKEND.format(device="tpu", available=False))
    install(tmp_path, "torch_rbln", BACKEND.format(device="rbln", available=True), version="0.12.0")
    rows = listed("--load", PYTHONPATH=str(tmp_path), CONFORMANCE_NEURON="emulated")
    assert rows["cpu"]["found"]
    assert rows["cpu"]["probe"].startswith("none needed")
    assert (rows["neuron"]["count"], rows["neuron"]["probe"], rows["neuron"]["used_by_loading"]) == (
        2,
        "backend account",
        False,
    )
    assert rows["neuron"]["emulated"]
    assert (rows["openreg"]["found"], rows["openreg"]["here"]) == (False, "broken")
    assert "signal 11" in rows["openreg"]["why"]
    assert not rows["tpu"]["found"]
    assert "torch.tpu.is_available() says no" in rows["tpu"]["why"]
    assert (rows["rbln"]["found"], rows["rbln"]["count"], rows["rbln"]["version"]) == (True, 3, "0.12.0")
    assert rows["rbln"]["probe"]


def test_a_reason_of_many_lines_is_one_line_and_short_in_the_table(
    conformance: Run, listed: Any, tmp_path: Path
) -> None:
    source = "raise ValueError('first\\n' + 'long ' * 99)\n"
    install(tmp_path, "acme", source, entry_points={"conformance.devices": {"acme": "acme:ADAPTER"}})
    (line,) = [
        line
        for line in conformance("devices", env={"PYTHONPATH": str(tmp_path)}).stdout.splitlines()
        if line.startswith("acme")
    ]
    assert "first long long" in line
    assert line.endswith(" ...")
    assert listed(PYTHONPATH=str(tmp_path))["acme"]["why"].count("long") == 99


def test_a_run_uses_the_adapter_of_a_package_of_ones_own(conformance: Run, tmp_path: Path) -> None:
    source = """
    from conformance.devices import DeviceAdapter, DeviceDescription
    class Acme(DeviceAdapter):
        device = "cpu"
        summary = "the CPU, as Acme sees it"
        def describe(self):
            return DeviceDescription("Acme's CPU", emulated=False, backend="acme", backend_version="7.1")
    ADAPTER = Acme()
    """
    install(tmp_path, "acme", source, entry_points={"conformance.devices": {"cpu": "acme:ADAPTER"}})
    done = conformance(
        *("run", "opinfo", "--device", "cpu", "--ops", "sin", "--templates", "forward", "--dtypes", "one"),
        *("--db", "acme.sqlite", "--workers", "1"),
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert "Acme's CPU" in done.stdout
