"""Further attempts: every one is kept, and a pass after a failure is flaky."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import rows
from tests.engine.running import attempts, run_pytest

UNSTEADY = """
import os, pathlib, time, pytest

def first_times(name, times):
    path = pathlib.Path(__file__).with_name(f"{name}.count")
    count = int(path.read_text()) if path.exists() else 0
    path.write_text(str(count + 1))
    return count < times

def test_fails_once(): assert not first_times("fails", 1)
def test_dies_once():
    if first_times("dies", 1): os.abort()
def test_hangs_once():
    if first_times("hangs", 1): time.sleep(60)
def test_fails_twice(): assert not first_times("twice", 2)
def test_always_fails(): assert False
def test_always_passes(): pass
def test_is_skipped(): pytest.skip("not here")
"""


def test_each_attempt_is_kept_and_a_late_pass_is_flaky(tmp_path: Path) -> None:
    options = ("--conformance-workers", "2", "--conformance-timeout", "2", "--conformance-retries", "2")
    done = run_pytest(tmp_path, *options, "--junitxml", "out.xml", test_it=UNSTEADY)
    assert attempts(tmp_path) == [
        ("test_always_fails", 1, "failed"),
        ("test_always_fails", 2, "failed"),
        ("test_always_fails", 3, "failed"),
        ("test_always_passes", 1, "passed"),
        ("test_dies_once", 1, "crashed"),
        ("test_dies_once", 2, "flaky"),
        ("test_fails_once", 1, "failed"),
        ("test_fails_once", 2, "flaky"),
        ("test_fails_twice", 1, "failed"),
        ("test_fails_twice", 2, "failed"),
        ("test_fails_twice", 3, "flaky"),
        ("test_hangs_once", 1, "timed_out"),
        ("test_hangs_once", 2, "flaky"),
        ("test_is_skipped", 1, "skipped"),
    ]
    assert "1 failed, 1 passed, 1 skipped, 7 rerun, 4 flaky" in done.stdout
    assert done.returncode == 1
    assert (tmp_path / "out.xml").read_text().count("<testcase") == 7
    assert dict(rows(tmp_path / "out.sqlite", "select outcome, tests from run_outcome where tests > 0")) == {
        "passed": 1,
        "failed": 1,
        "skipped": 1,
        "flaky": 4,
    }


def test_flaky_tests_alone_do_not_make_a_run_fail(tmp_path: Path) -> None:
    options = ("--conformance-workers", "1", "--conformance-retries", "1", "-k", "fails_once or passes")
    assert run_pytest(tmp_path, *options, test_it=UNSTEADY).returncode == 0
    assert ("test_fails_once", 2, "flaky") in attempts(tmp_path)


def test_without_retries_there_is_one_attempt(tmp_path: Path) -> None:
    run_pytest(tmp_path, "--conformance-workers", "1", "-k", "fails_once", test_it=UNSTEADY)
    assert attempts(tmp_path) == [("test_fails_once", 1, "failed")]


RERUNNING = """
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    # What pytest-rerunfailures does: the reports of an attempt up to its failure, that one with the outcome "rerun".
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for last in (False, True):
        again = False
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            if report.failed and not last:
                report.outcome = "rerun"
                again = True
            item.ihook.pytest_runtest_logreport(report=report)
            if again:
                break
        if not again:
            break
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""


def test_a_plugin_that_runs_tests_again_hides_no_failure(tmp_path: Path) -> None:
    run_pytest(tmp_path, "-k", "fails_once or always", test_it=UNSTEADY, conftest=RERUNNING)
    assert attempts(tmp_path) == [
        ("test_always_fails", 1, "failed"),
        ("test_always_fails", 2, "failed"),
        ("test_always_passes", 1, "passed"),
        ("test_fails_once", 1, "failed"),
        ("test_fails_once", 2, "flaky"),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--conformance-retries", "1"], "retries-without-workers"),
        (["--conformance-retries", "-1", "--conformance-workers", "1"], "bad-retries"),
        (["--conformance-shard", "3/2"], "bad-shard"),
        (["--conformance-shard", "half"], "bad-shard"),
        (["--conformance-resume", "-n", "2"], "resume-with-xdist"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, options: list[str], message: str) -> None:
    done = run_pytest(tmp_path, *options, test_it="def test_it(): pass\n")
    assert done.returncode == 4
    assert f"[{message}]" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
