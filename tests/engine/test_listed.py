"""Skiplists in a run: what they skip, what they only explain, and what makes the run fail."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import outcomes, rows
from tests.engine.running import run_pytest

TESTS = """
import os, pytest, unittest
def test_passes(): pass
def test_fails(): assert False, "no such kernel"
def test_dies(): os.abort()
class TestIt(unittest.TestCase):
    def test_hangs(self): raise AssertionError("it was run")
"""


def entry(name: str, expect: str, tests: str, more: str = "") -> str:
    return f"""
[[entry]]
id = "{name}"
expect = "{expect}"
category = "runtime"
reason = "The {name} is not there."
link = "https://example.invalid/{name}"
added = 2026-11-01
tests = ["{tests}"]
{more}
"""


LIST = "schema = 1\n" + "".join(
    (
        entry("kernel", "fail", "test_it.py::test_fails", 'message = "no such .*"'),
        entry("driver", "crash", "test_it.py::test_dies"),
        entry("clock", "skip", "test_it.py::TestIt::test_hangs"),
        entry("other", "fail", "test_it.py::test_elsewhere"),
        entry("old", "skip", "test_it.py::test_passes", "expires = 2026-11-02"),
    )
)
Conformance = Callable[..., subprocess.CompletedProcess[str]]


def _files(folder: Path, skiplist: str = LIST) -> None:
    (folder / "test_it.py").write_text(TESTS)
    (folder / "list.toml").write_text(skiplist)


@pytest.mark.parametrize("engine", [(), ("-n", "2"), ("--conformance-workers", "2")])
def test_the_plan_names_the_entry_of_each_test_in_every_engine(tmp_path: Path, engine: tuple[str, ...]) -> None:
    (tmp_path / "list.toml").write_text(LIST)
    run_pytest(tmp_path, *engine, "--conformance-skiplist", "list.toml", "-k", "not dies", test_it=TESTS)
    found = rows(tmp_path / "out.sqlite", "select test_id, outcome, entry, expect, reason from test_results order by 1")
    assert found == [
        ("test_it.py::TestIt::test_hangs", "skipped", "clock", "skip", "skiplist entry clock: The clock is not there."),
        ("test_it.py::test_fails", "failed", "kernel", "fail", ""),
        ("test_it.py::test_passes", "passed", "", "", ""),
    ]
    ((label, entries),) = rows(
        tmp_path / "out.sqlite", "select skiplist, (select count(*) from run_skiplist_entry) from run"
    )
    assert (label, entries) == ("list.toml", 5)


def test_what_is_expected_does_not_make_a_run_fail(conformance: Conformance, tmp_path: Path) -> None:
    _files(tmp_path)
    done = conformance("run", "test_it.py", "--device", "cpu", "--skiplist", "list.toml", "--timeout", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as expected" in done.stdout


def test_another_failure_than_the_expected_one_makes_it_fail(conformance: Conformance, tmp_path: Path) -> None:
    _files(tmp_path, LIST.replace("no such .*", "another text"))
    done = conformance("run", "test_it.py", "--device", "cpu", "--skiplist", "list.toml", "-k", "fails")
    assert done.returncode == 1
    assert "new failure: test_it.py::test_fails (failed, entry kernel)" in done.stdout


def test_what_is_skipped_is_run_when_asked_for(conformance: Conformance, tmp_path: Path) -> None:
    _files(tmp_path)
    options = ("--device", "cpu", "--skiplist", "list.toml", "--run-skipped", "--listed-only")
    conformance("run", "test_it.py", *options)
    assert outcomes(tmp_path / "conformance.sqlite") == {
        "test_it.py::TestIt::test_hangs": "failed",
        "test_it.py::test_fails": "failed",
        "test_it.py::test_dies": "crashed",
    }
    # The plan is a part of what was collected: no other run may take it for the whole.
    assert rows(tmp_path / "conformance.sqlite", "select run_skipped, selection from run") == [(1, "--listed-only")]


def test_an_unexpected_pass_fails_a_strict_run_only(conformance: Conformance, tmp_path: Path) -> None:
    _files(tmp_path, "schema = 1\n" + entry("gone", "fail", "test_it.py::test_passes"))
    arguments = ("run", "test_it.py", "--device", "cpu", "--skiplist", "list.toml", "-k", "passes")
    done = conformance(*arguments)
    assert (done.returncode, "unexpected pass" in done.stdout) == (0, True)
    assert conformance(*arguments, "--strict").returncode == 1


def test_a_baseline_excuses_what_was_so_before_and_finds_what_got_worse(
    conformance: Conformance, tmp_path: Path
) -> None:
    _files(tmp_path)
    arguments = ("run", "test_it.py", "--device", "cpu", "--skiplist", "none", "-k", "passes or fails")
    assert conformance(*arguments).returncode == 1
    done = conformance(*arguments, "--baseline", "latest")
    assert done.returncode == 0, done.stdout
    (tmp_path / "test_it.py").write_text(TESTS.replace("def test_passes(): pass", "def test_passes(): assert 0"))
    done = conformance(*arguments, "--baseline", "1")
    assert done.returncode == 1
    assert "regression: test_it.py::test_passes (failed, was passed)" in done.stdout


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        (("--skiplist", "nosuch.toml"), "skiplist-missing"),
        (("--skiplist", "broken.toml"), "bad-skiplist"),
        (("--listed-only", "--skiplist", "none"), "no-skiplist"),
        (("--baseline", "latest"), "database-missing"),
    ],
)
def test_bad_input_is_one_line(conformance: Conformance, tmp_path: Path, options: tuple[str, ...], slug: str) -> None:
    _files(tmp_path)
    (tmp_path / "broken.toml").write_text('schema = 1\n[[entry]]\nid = "x"\nexpect = "explode"\n')
    done = conformance("run", "test_it.py", "--device", "cpu", *options)
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(errors) == 1, done.stderr
    assert f"[{slug}]" in errors[0]


FALLS_BACK = """
import torch
def test_native(): torch.ones(2, device="neuron").sin()
def test_falls_back(): torch.ones(2, device="neuron").hypot(torch.ones(2, device="neuron"))
def test_may_fall_back(): torch.ones(2, device="neuron").hypot(torch.ones(2, device="neuron"))
"""


@pytest.mark.parametrize(
    ("policy", "outcome", "seen"),
    [("record", "passed", "aten::hypot.out"), ("fail", "failed", "aten::hypot.out"), ("allow", "passed", None)],
)
def test_a_fallback_is_recorded_or_a_failure(tmp_path: Path, policy: str, outcome: str, seen: str | None) -> None:
    (tmp_path / "list.toml").write_text("schema = 1\n" + entry("slow", "fallback", "test_it.py::test_may_fall_back"))
    options = ("--conformance-device", "neuron", "--conformance-skiplist", "list.toml")
    run_pytest(
        *(tmp_path, *options, "--conformance-fallback", policy),
        environment={"CONFORMANCE_NEURON": "emulated"},
        test_it=FALLS_BACK,
    )
    assert rows(tmp_path / "out.sqlite", "select outcome, fallback_ops from test_results order by test_id") == [
        (outcome, seen),
        ("passed", seen),
        ("passed", None if seen is None else ""),
    ]
