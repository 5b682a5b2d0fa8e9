"""The self-test passes on a sound engine, and tells what a broken one does wrong."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.model.outcome import Outcome
from conformance.store import Database, ResultRow, resolve_run
from conformance.suites import canaries
from conformance.suites.canaries import BROKEN_FILES, MODULES, NOT_TRIED, PROCESSES, VARIABLE, Canary, start_of
from conformance.suites.canaries.judging import Checked, judge, judge_one, judge_processes
from tests.conftest import Run, rows

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "conformance" / "suites" / "canaries"

# An engine that cannot name a death, leaves processes behind and never looks at the device.
BROKEN_ENGINE = """
import sys
import conformance.engine.supervisor as supervisor
import conformance.engine.worker as worker
from conformance.cli.main import main
from conformance.devices.neuron import _NeuronAdapter

supervisor.describe = lambda status: "something happened"
supervisor.end_children = worker.end_children = lambda spare: None
_NeuronAdapter.health_is_cheap = False
sys.argv = ["conformance", "selftest"]
main()
"""


def table(text: str) -> dict[str, str]:
    """Return the verdict of each line of the table by what the canary does."""
    return {
        line[: line.index("  ")]: re.split(r"  +", line.rstrip())[-1]
        for line in text.splitlines()[1:]
        if "  " in line and not line.startswith(" ")
    }


@pytest.mark.slow
def test_on_a_sound_engine_every_canary_is_recorded_as_declared(conformance: Run, tmp_path: Path) -> None:
    done = conformance("selftest", "--db", "out.sqlite", env={"CONFORMANCE_NEURON": "emulated"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EMULATED neuron" in done.stderr
    verdicts = table(done.stdout)
    assert len(verdicts) == len(canaries.declared()) + len(BROKEN_FILES) + 2
    assert set(verdicts.values()) <= {"ok", "not tried"}
    assert verdicts["hang in native code while holding the GIL"] == "ok"
    assert verdicts["poison the device for whoever comes next in the process"] == "ok"
    with Database.open_existing(tmp_path / "out.sqlite") as database:
        run = resolve_run(database)
        assert run.planned == sum(canary.tests for canary in canaries.declared().values()) + len(BROKEN_FILES)
        assert run.counts[Outcome.NOT_RUN] == 0
        assert run.emulated
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.sqlite"]
    assert rows(tmp_path / "out.sqlite", "select max(length(details)) from test_results")[0][0] < 20_000


@pytest.mark.slow
def test_on_another_device_what_cannot_be_done_there_is_not_tried(conformance: Run, tmp_path: Path) -> None:
    done = conformance("selftest", "--device", "cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = table(done.stdout)
    assert verdicts["use the device"] == "ok"
    assert verdicts["fall back to the CPU"] == "not tried"
    assert "only the emulated device can be told to do it" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_broken_engine_is_told_in_every_way_that_it_is_broken(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BROKEN_ENGINE],
        cwd=tmp_path,
        env={**os.environ, "CONFORMANCE_NEURON": "emulated", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    wrong = {does for does, verdict in table(done.stdout).items() if verdict == "WRONG"}
    assert wrong >= {"die of a segmentation fault", "exit with code 7", "leave no process behind"}
    assert "poison the device for whoever comes next in the process" in wrong
    assert not wrong & {"pass", "fail an assertion", "hang in Python", "leave a sound database"}
    assert "the message lacks 'SIGSEGV': 'the worker process died: something happened'" in done.stdout
    assert "(test_leaves_a_daemon)" in done.stdout
    (kept,) = tmp_path.glob("*/selftest.sqlite")
    assert str(kept) in done.stderr
    noted = [line.split() for line in kept.with_name(PROCESSES).read_text().splitlines()]
    assert len(noted) >= 5
    assert [name for pid, started, name in noted if start_of(int(pid)) == started] == []


def test_an_unknown_device_is_one_line(conformance: Run) -> None:
    done = conformance("selftest", "--device", "toaster")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_every_test_among_the_canaries_is_declared() -> None:
    declared = canaries.declared()
    found = set()
    for name in MODULES:
        tree = ast.parse((FOLDER / f"{name}.py").read_text())
        bodies = {"": tree.body, **{node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}}
        for cls, body in bodies.items():
            tests = [node.name for node in body if isinstance(node, ast.FunctionDef)]
            found |= {(f"{name}.py", cls, test) for test in tests if test.startswith("test")}
    assert found == set(declared)
    assert len(found) > 45
    does = [canary.does for canary in declared.values()]
    assert len(does) == len(set(does))


def test_every_file_among_the_canaries_is_run_or_known() -> None:
    names = {file.name for file in FOLDER.glob("*.py")} - {"__init__.py", "judging.py"}
    assert names == {file.name for file in canaries.files()}


def test_nobody_collects_canaries_by_accident(tmp_path: Path) -> None:
    for arguments, code in (
        ([str(FOLDER)], pytest.ExitCode.NO_TESTS_COLLECTED),
        (["--pyargs", "conformance.suites.canaries"], pytest.ExitCode.NO_TESTS_COLLECTED),
        ([str(file) for file in canaries.files()], pytest.ExitCode.OK),
        ([str(FOLDER), "-o", "python_files=*.py"], pytest.ExitCode.OK),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:cacheprovider", *arguments],
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if name != VARIABLE},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        last = done.stdout.strip().splitlines()[-1]
        assert done.returncode == code, done.stdout
        assert ("skipped" in last) is (code is pytest.ExitCode.OK)
        assert not re.search(r"passed|failed|error", last), done.stdout


ROW = ResultRow(
    test_id="deaths.py::test_x",
    node_id="deaths.py::test_x",
    suite="local",
    file="deaths.py",
    class_name="",
    template="test_x",
    op=None,
    module=None,
    dtype=None,
    outcome=Outcome.CRASHED,
    fallback_ops=None,
    test_fallback_ops=None,
    samples=None,
    samples_passed=None,
    failing_sample="",
    duration_s=0.1,
    reason="",
    message="the worker process died: SIGSEGV (signal 11)",
    details="Fatal Python error: Segmentation fault\n  in test_x",
    signature="",
    attempt=1,
    worker="w0",
)
CANARY = Canary(Outcome.CRASHED, says=("SIGSEGV",), keeps=("in test_x",), does="die")


@pytest.mark.parametrize(
    ("canary", "changes", "verdict", "why"),
    [
        ({}, {}, "ok", ""),
        ({}, {"outcome": Outcome.PASSED, "message": ""}, "WRONG", "passed: without a message"),
        ({}, {"outcome": Outcome.NOT_RUN, "message": ""}, "WRONG", "not_run: without a message"),
        ({}, {"message": "it died"}, "WRONG", "the message lacks 'SIGSEGV': 'it died'"),
        ({}, {"details": ""}, "WRONG", "the details lack 'in test_x': ''"),
        ({}, {"attempt": 2}, "WRONG", "attempt 2 was recorded, and one was asked for"),
        ({"tests": 2}, {}, "WRONG", "1 tests were recorded, not 2"),
        ({"falls_back": "sin"}, {}, "WRONG", "the fallbacks lack sin: not observed"),
        ({"falls_back": "sin"}, {"fallback_ops": ("aten::cos",)}, "WRONG", "the fallbacks lack sin: aten::cos"),
        ({"falls_back": "sin"}, {"fallback_ops": ("aten::sin.out",)}, "ok", ""),
        ({"untried": True}, {"outcome": Outcome.SKIPPED, "reason": f"{NOT_TRIED}no gun"}, "not tried", "no gun"),
        (
            {},
            {"outcome": Outcome.SKIPPED, "message": "", "reason": f"{NOT_TRIED}no gun"},
            "WRONG",
            "skipped: not tried: no gun",
        ),
        (
            {"untried": True},
            {"outcome": Outcome.SKIPPED, "message": "", "reason": "because"},
            "WRONG",
            "skipped: because",
        ),
    ],
)
def test_a_canary_is_right_only_if_all_that_it_declares_was_recorded(
    canary: dict[str, object], changes: dict[str, object], verdict: str, why: str
) -> None:
    checked = judge_one(
        dataclasses.replace(CANARY, **canary),  # type: ignore[arg-type]
        [dataclasses.replace(ROW, **changes)],  # type: ignore[arg-type]
    )
    assert (checked.verdict, checked.why) == (verdict, why)


def test_canaries_that_are_missing_and_tests_that_are_none_are_wrong() -> None:
    stranger = dataclasses.replace(ROW, test_id="deaths.py::test_y", template="test_y")
    broken = dataclasses.replace(ROW, test_id="x.py::(collection)", file="some/folder/x.py", template="(collection)")
    lines = judge({("deaths.py", "", "test_x"): CANARY}, {"x.py": CANARY}, [stranger, broken])
    assert [(line.does, line.observed, line.verdict) for line in lines] == [
        ("die", "nothing", "WRONG"),
        ("die", "crashed", "ok"),
        ("deaths.py::test_y", "crashed", "WRONG"),
    ]


def test_processes_that_are_left_are_named_and_ended(tmp_path: Path) -> None:
    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    noted = subprocess.Popen(sleep)
    marked = subprocess.Popen(sleep, env={**os.environ, VARIABLE: str(tmp_path)}, start_new_session=True)
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    (tmp_path / PROCESSES).write_text(f"{noted.pid} {start_of(noted.pid)} test_a\n{gone.pid} 123 test_b\n")
    checked = judge_processes(tmp_path, [])
    assert (checked.observed, checked.verdict) == ("2", "WRONG")
    assert f"{noted.pid} (test_a)" in checked.why
    assert f"{marked.pid} (started by a canary)" in checked.why
    assert noted.wait(timeout=10) == marked.wait(timeout=10) == -9
    assert judge_processes(tmp_path, []) == Checked("leave no process behind", "none", "none", "ok")
