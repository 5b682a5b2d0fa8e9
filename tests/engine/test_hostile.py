"""Tests that misbehave, and what the engine makes of them: each found by someone who tried to break it."""

from __future__ import annotations

import collections
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import outcomes, rows

PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--conformance-db", "out.sqlite"]


def _run(folder: Path, *arguments: str, **files: str) -> subprocess.CompletedProcess[str]:
    for name, source in files.items():
        (folder / f"{name}.py").write_text(source)
    return subprocess.run([*PYTEST, *arguments], cwd=folder, capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_overdue_test_that_comes_back_is_the_only_one_blamed(tmp_path: Path, workers: str) -> None:
    source = (
        "import time, pytest\n"
        "@pytest.mark.parametrize('n', range(24))\n"
        "def test_it(n):\n    if n % 6 == 0:\n        time.sleep(1.3)\n"
    )
    _run(tmp_path, "--conformance-workers", workers, "--conformance-timeout", "1", test_slow=source)
    late = {test_id for test_id, outcome in outcomes(tmp_path / "out.sqlite").items() if outcome == "timed_out"}
    assert late == {f"test_slow.py::test_it[{n}]" for n in (0, 6, 12, 18)}
    assert collections.Counter(outcomes(tmp_path / "out.sqlite").values()) == {"timed_out": 4, "passed": 20}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_child_that_a_test_forks_and_lets_go_is_no_worker(tmp_path: Path, workers: str) -> None:
    source = (
        "import os, pytest\n"
        "def test_fork():\n    pid = os.fork()\n    if pid == 0:\n        assert False\n    os.waitpid(pid, 0)\n"
        "@pytest.mark.parametrize('n', range(20))\ndef test_after(n): pass\n"
    )
    _run(tmp_path, "--conformance-workers", workers, test_fork=source)
    assert collections.Counter(outcomes(tmp_path / "out.sqlite").values()) == {"passed": 21}
    assert rows(tmp_path / "out.sqlite", "select state, max(attempt) from run, test_results") == [("complete", 1)]


def test_a_test_in_another_process_group_is_ended_all_the_same(tmp_path: Path) -> None:
    source = (
        "import os, time\n"
        "def test_moves():\n    os.setpgid(0, os.getpgid(os.getppid()))\n    time.sleep(600)\n"
        "def test_after(): pass\n"
    )
    _run(tmp_path, "--conformance-workers", "1", "--conformance-timeout", "1", test_moves=source)
    assert outcomes(tmp_path / "out.sqlite") == {
        "test_moves.py::test_moves": "timed_out",
        "test_moves.py::test_after": "passed",
    }


def test_a_locked_database_blames_no_test(tmp_path: Path) -> None:
    source = (
        "import sqlite3, subprocess, sys, time, pytest\n"
        "HOLD = 'import sqlite3, time; c = sqlite3.connect(\"out.sqlite\", isolation_level=None); '"
        "'c.execute(\"begin immediate\"); time.sleep(4)'\n"
        "@pytest.mark.parametrize('n', range(60))\n"
        "def test_it(n):\n    if n == 3:\n"
        "        subprocess.Popen([sys.executable, '-c', HOLD], start_new_session=True)\n"
        "    time.sleep(0.05)\n"
    )
    done = _run(tmp_path, "--conformance-workers", "2", "--conformance-timeout", "2", test_lock=source)
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(outcomes(tmp_path / "out.sqlite").values()) == {"passed"}


@pytest.mark.parametrize("engine", [(), ("--conformance-workers", "2"), ("-n", "2")])
def test_files_that_fail_differently_in_each_process_are_one_error_each(
    tmp_path: Path, engine: tuple[str, ...]
) -> None:
    done = _run(
        tmp_path,
        "--continue-on-collection-errors",
        *engine,
        test_pid="import os\nraise RuntimeError(os.getpid())\n",
        test_exits="import sys\nsys.exit(3)\n",
        test_exits_hard="import os\nos._exit(0)\n",
        test_forks="import os\nchild = os.fork()\nif not child: os._exit(7)\n"
        "assert os.waitpid(child, 0)[1] >> 8 == 7\ndef test_a(): pass\n",
        test_good="def test_a(): pass\n",
    )
    assert "INTERNALERROR" not in done.stdout
    assert outcomes(tmp_path / "out.sqlite") == {
        "test_pid.py::(collection)": "error",
        "test_exits.py::(collection)": "error",
        "test_exits_hard.py::(collection)": "error",
        "test_forks.py::test_a": "passed",
        "test_good.py::test_a": "passed",
    }
    query = "select message, signature from test_results where outcome = 'error' order by file"
    (soft, _), (hard, _), (_, signature) = rows(tmp_path / "out.sqlite", query)
    assert "sys.exit(3)" in soft
    assert "os._exit(0)" in hard
    assert signature == "RuntimeError: N"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_cancelled_run_is_closed(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "test_sleep.py").write_text(
        "import time\ndef test_a(): pass\ndef test_b():\n    open('on', 'w').close()\n    time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [*PYTEST, "--conformance-workers", "1", "test_sleep.py"], cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    end = time.monotonic() + 60
    while not (tmp_path / "on").exists() and time.monotonic() < end:
        time.sleep(0.05)
    parent.send_signal(number)
    assert parent.wait(timeout=60) == pytest.ExitCode.INTERRUPTED
    assert rows(tmp_path / "out.sqlite", "select state from run") == [("interrupted",)]
    assert sorted(outcomes(tmp_path / "out.sqlite").values()) == ["not_run", "passed"]


def test_warnings_of_workers_reach_the_summary(tmp_path: Path) -> None:
    source = "import warnings\ndef test_a(): warnings.warn('old thing', DeprecationWarning)\n"
    done = _run(tmp_path, "--conformance-workers", "1", test_warn=source)
    assert "1 passed, 1 warning" in done.stdout
    assert "DeprecationWarning: old thing" in done.stdout


def test_only_listing_fixtures_records_no_run(tmp_path: Path) -> None:
    _run(tmp_path, "--fixtures", "--conformance-workers", "2", test_a="def test_a(): pass\n")
    assert rows(tmp_path / "out.sqlite", "select count(*) from run") == [(0,)]


@pytest.mark.parametrize("option", ["--setup-plan", "--pdb"])
def test_what_needs_one_process_is_refused_with_workers(tmp_path: Path, option: str) -> None:
    done = _run(tmp_path, option, "--conformance-workers", "2", test_a="def test_a(): pass\n")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "pytest's own process only" in done.stderr


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", "2>/dev/full", ">&- 2>&- <&-"])
def test_missing_or_full_streams_do_not_stop_a_run(tmp_path: Path, redirection: str) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    command = f"{sys.executable} -m conformance run test_a.py --device cpu --db out.sqlite {redirection}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert set(outcomes(tmp_path / "out.sqlite").values()) == {"passed"}


def test_a_full_standard_output_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    command = f"{sys.executable} -m conformance run test_a.py --device cpu --db out.sqlite >/dev/full"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert "cannot write the output" in done.stderr
    assert set(outcomes(tmp_path / "out.sqlite").values()) == {"passed"}


def test_a_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    command = f"cd {folder} && rmdir {folder} && {sys.executable} -m conformance run opinfo --device cpu --ops add"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 2
    assert "no longer exists" in done.stderr
    assert "Traceback" not in done.stderr
