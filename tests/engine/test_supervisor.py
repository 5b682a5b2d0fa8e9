"""Workers: deaths, time limits and what they leave behind, on real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import outcomes, rows

DEATHS = """
import ctypes, os, re, signal, subprocess, sys, time, pytest

@pytest.mark.parametrize("n", range(6))
def test_before(n): pass
def test_segfault(): ctypes.string_at(0)
def test_abort(): os.abort()
def test_exit(): os._exit(3)
def test_exit_zero(): os._exit(0)
def test_killed(): os.kill(os.getpid(), signal.SIGKILL)
def test_hangs(): time.sleep(600)
def test_hangs_and_ignores_sigterm():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stderr.write("still here\\n")
    re.match("(a+)+$", "a" * 60 + "b")  # never ends, and holds the interpreter's lock
def test_ends_when_it_is_asked_for_its_stack():
    ctypes.PyDLL(None).pause()
def test_leaves_a_child():
    subprocess.Popen(["sleep", "987654"])
    os.abort()
def test_writes_to_stderr():
    os.write(2, b"the runtime says no\\n")
    os.abort()
@pytest.fixture
def dying():
    yield
    os._exit(4)
def test_dies_in_teardown(dying): pass
def test_system_exit(): raise SystemExit(5)
@pytest.mark.parametrize("n", range(6))
def test_after(n): pass
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deaths")
    (folder / "test_deaths.py").write_text(DEATHS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--conformance-db", "out.sqlite"]
    command += ["--conformance-workers", "2", "--conformance-timeout", "2", "--junitxml", "out.xml", "test_deaths.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "12 passed" in done.stdout
    assert (folder / "out.xml").read_text().count("<testcase") == 24
    return folder / "out.sqlite"


def test_each_death_is_recorded_for_exactly_its_test(database: Path) -> None:
    found = {test_id.partition("::")[2]: outcome for test_id, outcome in outcomes(database).items()}
    crashed = {name for name, outcome in found.items() if outcome == "crashed"}
    assert crashed == {
        *("test_segfault", "test_abort", "test_exit", "test_exit_zero", "test_killed"),
        *("test_leaves_a_child", "test_writes_to_stderr", "test_dies_in_teardown"),
    }
    assert {name for name, outcome in found.items() if outcome == "timed_out"} == {
        "test_hangs",
        "test_hangs_and_ignores_sigterm",
        "test_ends_when_it_is_asked_for_its_stack",
    }
    assert found["test_system_exit"] == "failed"
    assert sum(outcome == "passed" for outcome in found.values()) == 12
    assert len(found) == 24


def _text(database: Path, name: str) -> tuple[str, str]:
    ((message, details),) = rows(
        database, "select message, details from test_results where test_id = ?", f"test_deaths.py::{name}"
    )
    return message, details


def test_messages_name_the_signal_or_the_code(database: Path) -> None:
    assert "SIGSEGV (signal 11)" in _text(database, "test_segfault")[0]
    assert "SIGABRT (signal 6)" in _text(database, "test_abort")[0]
    assert "SIGKILL (signal 9)" in _text(database, "test_killed")[0]
    assert "exited with code 3" in _text(database, "test_exit")[0]
    assert "exited with code 0" in _text(database, "test_exit_zero")[0]
    assert "time limit of 2 s" in _text(database, "test_hangs")[0]


def test_details_hold_the_stack_and_the_last_words(database: Path) -> None:
    assert "test_segfault" in _text(database, "test_segfault")[1]
    assert "in test_hangs" in _text(database, "test_hangs")[1]
    assert "test_hangs_and_ignores_sigterm" in _text(database, "test_hangs_and_ignores_sigterm")[1]
    assert "the runtime says no" in _text(database, "test_writes_to_stderr")[1]


def test_nothing_stays_behind(database: Path) -> None:
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 987654" not in processes


def test_workers_die_with_a_killed_parent(tmp_path: Path) -> None:
    (tmp_path / "test_sleep.py").write_text(
        "import os, time\ndef test_sleep():\n    open('pid', 'w').write(str(os.getpid()))\n    time.sleep(600)\n"
    )
    command = [sys.executable, "-m", "pytest", "--conformance-db", "out.sqlite", "--conformance-workers", "1"]
    parent = subprocess.Popen([*command, "test_sleep.py"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    pid_file = tmp_path / "pid"
    _wait_until(lambda: pid_file.exists() and bool(pid_file.read_text()))
    worker = int(pid_file.read_text())
    parent.kill()
    parent.wait()
    _wait_until(lambda: not _alive(worker))
    assert rows(tmp_path / "out.sqlite", "select state from run") == [("running",)]
    assert rows(tmp_path / "out.sqlite", "select count(*) from plan") == [(1,)]


def test_an_interrupt_closes_the_run_and_ends_the_workers(tmp_path: Path) -> None:
    (tmp_path / "test_sleep.py").write_text(
        "import os, time\ndef test_a(): pass\ndef test_sleep():\n"
        "    open('pid', 'w').write(str(os.getpid()))\n    time.sleep(600)\n"
    )
    command = [sys.executable, "-m", "conformance", "run", "test_sleep.py", "--device", "cpu", "--db", "out.sqlite"]
    parent = subprocess.Popen(
        [*command, "--workers", "1"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    pid_file = tmp_path / "pid"
    _wait_until(lambda: pid_file.exists() and bool(pid_file.read_text()))
    worker = int(pid_file.read_text())
    parent.send_signal(signal.SIGINT)
    stdout, stderr = parent.communicate(timeout=60)
    assert parent.returncode == 130
    assert "Traceback" not in stderr
    assert "interrupted" in stderr
    assert "not run" in stdout
    _wait_until(lambda: not _alive(worker))
    assert rows(tmp_path / "out.sqlite", "select state from run") == [("interrupted",)]
    assert sorted(outcomes(tmp_path / "out.sqlite").values()) == ["not_run", "passed"]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


def _wait_until(condition: object, *, seconds: float = 60) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_tests_behind_a_hanging_one_do_not_wait_for_it(tmp_path: Path) -> None:
    quick = "".join(f"def test_quick_{number}(module_fixture): note('quick')\n" for number in range(9))
    (tmp_path / "test_hang.py").write_text(
        "import time, pytest\n"
        "def note(word):\n    open('notes', 'a').write(word + '\\n')\n"
        "@pytest.fixture(scope='module')\ndef module_fixture():\n    yield\n    note('torn down')\n"
        "def test_hang(module_fixture):\n    note('hang')\n    time.sleep(10)\n    note('woke up')\n" + quick
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--conformance-db", "out.sqlite"]
    done = subprocess.run(
        [*command, "--conformance-workers", "2", "test_hang.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    notes = (tmp_path / "notes").read_text().split("\n")
    assert notes.count("quick") == 9
    assert "quick" not in notes[notes.index("woke up") :]
    assert notes.count("torn down") >= 2
    assert set(outcomes(tmp_path / "out.sqlite").values()) == {"passed"}
