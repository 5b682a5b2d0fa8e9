"""Nothing is lost: runs that are killed or interrupted, and taken up again."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import rows
from tests.engine.running import attempts, results, run_pytest

# Every kind of end, at some tests; what fails, dies or hangs does so each time.
MIXED = """
import os, time, pytest

@pytest.mark.parametrize("n", range(60))
def test_it(n):
    time.sleep(0.01)
    if n % 20 == 7: os.abort()
    if n == 30: os._exit(0)
    if n == 31: time.sleep(60)
    if n % 20 == 9: assert n < 0
    if n % 20 == 11: pytest.skip(f"skipped {n}")
    if n % 20 == 13: pytest.xfail(f"expected {n}")
"""
OPTIONS = ("--conformance-workers", "2", "--conformance-timeout", "1", "--conformance-retries", "1")


def _start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--conformance-db", "out.sqlite"]
    return subprocess.Popen(
        [*command, *options], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def _state(folder: Path) -> list[tuple[object, ...]]:
    return rows(folder / "out.sqlite", "select run_id, state from run order by run_id")


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[tuple[object, ...]], list[tuple[str, int, str]]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    run_pytest(folder, *OPTIONS, test_it=MIXED)
    return results(folder), attempts(folder)


@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_was_killed_ends_with_the_rows_of_an_undisturbed_one(
    tmp_path: Path, seed: int, undisturbed: tuple[list[tuple[object, ...]], list[tuple[str, int, str]]]
) -> None:
    instants = random.Random(seed)
    (tmp_path / "test_it.py").write_text(MIXED)
    for _ in range(8):  # with six seeds: 48 instants, from the start of Python to the last test
        process = _start(tmp_path, *OPTIONS, "--conformance-resume")
        time.sleep(instants.uniform(0.2, 3.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (tmp_path / "out.sqlite").exists() and _has_runs(tmp_path):
            assert rows(tmp_path / "out.sqlite", "pragma integrity_check") == [("ok",)]
            assert len(_state(tmp_path)) <= 1 or _state(tmp_path)[-2] == (len(_state(tmp_path)) - 1, "complete")
    done = run_pytest(tmp_path, *OPTIONS, "--conformance-resume")
    assert done.returncode == 1, done.stdout + done.stderr
    assert _state(tmp_path)[-1][1] == "complete"
    assert (results(tmp_path), attempts(tmp_path)) == undisturbed


def _has_runs(folder: Path) -> bool:
    return bool(rows(folder / "out.sqlite", "select 1 from sqlite_master where name = 'run'"))


def test_an_interrupted_run_is_finished_and_its_exit_code_is_of_the_whole(tmp_path: Path) -> None:
    source = "import pytest, pathlib\n"
    source += "def test_a(): assert False\ndef test_b(): pass\n"
    source += "def test_c():\n    if not pathlib.Path('again').exists(): pytest.exit('stop')\ndef test_d(): pass\n"
    options = ("--conformance-workers", "1")
    assert run_pytest(tmp_path, *options, test_it=source).returncode == 2
    assert _state(tmp_path) == [(1, "interrupted")]
    (tmp_path / "again").touch()
    done = run_pytest(tmp_path, *options, "--conformance-resume")
    assert done.returncode == 1  # test_a failed, in the first part
    assert "2 passed, 2 deselected" in done.stdout
    assert _state(tmp_path) == [(1, "complete")]
    assert [row[3] for row in results(tmp_path)] == ["failed", "passed", "passed", "passed"]
    assert rows(tmp_path / "out.sqlite", "select resumed, planned from run") == [(1, 4)]


def test_a_run_is_resumed_in_the_process_of_pytest_too(tmp_path: Path) -> None:
    source = "import os, pathlib\ndef test_a(): pass\ndef test_b():\n"
    source += "    if not pathlib.Path('again').exists(): os._exit(9)\ndef test_c(): pass\n"
    assert run_pytest(tmp_path, test_it=source).returncode == 9
    (tmp_path / "again").touch()
    assert run_pytest(tmp_path, "--conformance-resume").returncode == 0
    assert [row[3] for row in results(tmp_path)] == ["passed"] * 3


def test_without_an_unfinished_run_a_new_one_begins(tmp_path: Path) -> None:
    for expected in ([(1, "complete")], [(1, "complete"), (2, "complete")]):
        assert run_pytest(tmp_path, "--conformance-resume", test_it="def test_it(): pass\n").returncode == 0
        assert _state(tmp_path) == expected


def test_a_run_of_other_tests_is_not_continued(tmp_path: Path) -> None:
    source = "import os\ndef test_a(): os._exit(9)\n"
    run_pytest(tmp_path, test_it=source)
    done = run_pytest(tmp_path, "--conformance-resume", test_it=f"{source}def test_b(): pass\n")
    assert done.returncode == 4
    assert "run 1 is unfinished, but cannot be continued: the tests that were collected are not the same" in done.stderr
    assert "[cannot-resume]" in done.stderr
    assert _state(tmp_path) == [(1, "running")]
    done = run_pytest(tmp_path, "--conformance-resume", "--conformance-retries", "1", "--conformance-workers", "1")
    assert "retries was 0 and is 1" in done.stderr


def test_a_run_that_goes_on_is_not_taken_up_by_a_second_process(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import time\ndef test_a(): time.sleep(60)\n")
    first = _start(tmp_path, "--conformance-workers", "1")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        time.sleep(0.2)
        if (tmp_path / "out.sqlite").exists() and _has_runs(tmp_path) and _state(tmp_path) == [(1, "running")]:
            break
    done = run_pytest(tmp_path, "--conformance-workers", "1", "--conformance-resume")
    first.kill()
    first.wait()
    assert done.returncode == 4
    assert f"run 1 in out.sqlite is still being carried out by process {first.pid}" in done.stderr
    assert "[run-in-use]" in done.stderr


def test_a_file_that_does_not_import_is_one_row_of_a_resumed_run(tmp_path: Path) -> None:
    (tmp_path / "test_bad.py").write_text("import nothing_of_this_name\n")
    source = "import os, pathlib\ndef test_a():\n    if not pathlib.Path('again').exists(): os._exit(9)\n"
    options = ("--continue-on-collection-errors",)
    run_pytest(tmp_path, *options, test_it=source)
    (tmp_path / "again").touch()
    run_pytest(tmp_path, *options, "--conformance-resume")
    assert [(row[0], row[3]) for row in results(tmp_path)] == [
        ("test_bad.py::(collection)", "error"),
        ("test_it.py::test_a", "passed"),
    ]
