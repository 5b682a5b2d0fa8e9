"""What a worker's tests may do to it and leave behind, on real processes."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import outcomes, rows
from tests.engine.running import run_pytest


def test_a_marker_gives_a_test_a_limit_of_its_own(tmp_path: Path) -> None:
    source = """
import time, pytest
@pytest.mark.conformance_timeout(1)
def test_short(): time.sleep(30)
@pytest.mark.conformance_timeout(30)
def test_long(): time.sleep(3)
@pytest.mark.conformance_timeout(seconds=0)
def test_none(): time.sleep(3)
def test_usual(): time.sleep(3)
"""
    run_pytest(tmp_path, "--conformance-workers", "4", "--conformance-timeout", "2", "--strict-markers", test_it=source)
    assert outcomes(tmp_path / "out.sqlite") == {
        "test_it.py::test_short": "timed_out",
        "test_it.py::test_long": "passed",
        "test_it.py::test_none": "passed",
        "test_it.py::test_usual": "timed_out",
    }
    ((message,),) = rows(tmp_path / "out.sqlite", "select message from test_results where test_id like '%short'")
    assert message == "exceeded its time limit of 1 s and was killed"


@pytest.mark.parametrize("end", ["pass", "os.abort()", "time.sleep(60)"])
def test_a_child_in_a_session_of_its_own_is_ended(tmp_path: Path, end: str) -> None:
    source = f"""
import os, subprocess, time
def test_it():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:  # a daemon: its parent is gone, its session is its own
            subprocess.Popen(["sleep", "76543"])
            time.sleep(500)
        os._exit(0)
    os.wait()
    time.sleep(0.3)
    {end}
"""
    run_pytest(tmp_path, "--conformance-workers", "1", "--conformance-timeout", "2", test_it=source)
    deadline = time.monotonic() + 5  # init may take a moment to reap them
    while time.monotonic() < deadline and _sleeping("76543"):
        time.sleep(0.1)
    assert not _sleeping("76543")


def _sleeping(seconds: str) -> bool:
    lines = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return any(line.endswith(f"sleep {seconds}") and not line.startswith("Z") for line in lines)


def test_pytest_exit_ends_the_run_and_not_the_record(tmp_path: Path) -> None:
    source = "import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit('no use', 7)\ndef test_c(): pass\n"
    done = run_pytest(tmp_path, "--conformance-workers", "1", test_it=source)
    assert done.returncode == 7
    assert "no use" in done.stdout
    found = {test_id.rpartition("::")[2]: outcome for test_id, outcome in outcomes(tmp_path / "out.sqlite").items()}
    assert found == {"test_a": "passed", "test_b": "not_run", "test_c": "not_run"}
    assert rows(tmp_path / "out.sqlite", "select state from run") == [("interrupted",)]


def test_a_run_that_a_test_ends_as_if_all_were_well_is_not_complete(tmp_path: Path) -> None:
    source = "import pytest\ndef test_a(): pytest.exit('no use', returncode=0)\ndef test_b(): pass\n"
    for workers in ("0", "1"):
        database = tmp_path / f"{workers}.sqlite"
        done = run_pytest(tmp_path, "--conformance-workers", workers, "--conformance-db", str(database), test_it=source)
        assert done.returncode != 0, done.stdout
        assert rows(database, "select state from run") == [("interrupted",)]
    assert "test_it.py::test_a called pytest.exit('no use')" in done.stdout + done.stderr


SICK = """
import os, torch, pytest
from conformance import emulator

@pytest.mark.parametrize("n", range(3))
def test_before(n): assert torch.ones(2, device="neuron").sum().item() == 2
def test_poisons():
    emulator.inject("sin", "poison")
    torch.ones(2, device="neuron").sin()
@pytest.mark.parametrize("n", range(3))
def test_after(n): assert torch.ones(2, device="neuron").sum().item() == 2
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_worker_whose_device_is_sick_is_replaced(tmp_path: Path, workers: str) -> None:
    options = ("--conformance-device", "neuron", "--conformance-workers", workers)
    done = run_pytest(tmp_path, *options, environment={"CONFORMANCE_NEURON": "emulated"}, test_it=SICK)
    found = {test_id.rpartition("::")[2]: outcome for test_id, outcome in outcomes(tmp_path / "out.sqlite").items()}
    assert found.pop("test_poisons") == "failed"
    assert set(found.values()) == {"passed"}
    assert len(found) == 6
    assert "after test_it.py::test_poisons the device was unfit: RuntimeError: neuron: the device is" in done.stderr


def test_without_a_health_check_a_sick_device_fails_what_follows(tmp_path: Path) -> None:
    options = ("--conformance-device", "neuron", "--conformance-workers", "1", "--conformance-health", "off")
    run_pytest(tmp_path, *options, environment={"CONFORMANCE_NEURON": "emulated"}, test_it=SICK)
    found = outcomes(tmp_path / "out.sqlite")
    assert [outcome for test_id, outcome in found.items() if "after" in test_id] == ["failed"] * 3


def test_a_health_check_that_dies_is_no_tests_fault(tmp_path: Path) -> None:
    source = """
import os, pytest
from conformance.devices import cpu
type(cpu.CPU).check_health = lambda self: os.abort()
def test_fails(): assert False
def test_after(): pass
"""
    options = ("--conformance-workers", "1", "--conformance-health", "on")
    done = run_pytest(tmp_path, *options, test_it=source)
    found = {test_id.rpartition("::")[2]: outcome for test_id, outcome in outcomes(tmp_path / "out.sqlite").items()}
    assert found == {"test_fails": "failed", "test_after": "passed"}
    assert "the worker died in its health check" in done.stderr
