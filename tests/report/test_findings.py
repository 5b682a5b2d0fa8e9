from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from conformance.errors import ConformanceError
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import RunState
from conformance.report.failures import FAILURES
from conformance.report.fallbacks import FallbackOverload, Fallbacks
from conformance.report.findings import NoteKind, RunFindings, Tally, TallyTable, collect_findings
from conformance.report.statuses import NARROW
from conformance.store import Database, results
from tests.report.runs import id_of, write_run
from tests.sample_run import build_sample

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_sample(tmp_path_factory.mktemp("report") / "sample.sqlite", runs=3, operators=24)


def findings_of(path: Path, run_id: int = 1, top: int = 20) -> RunFindings:
    with Database.open_existing(path) as db:
        return collect_findings(db, run_id, top=top)


def summed(table: TallyTable) -> tuple[int, dict[Outcome, int], int]:
    tallies: list[Tally] = [*table.rows, *([table.rest] if table.rest else [])]
    counts = {outcome: sum(tally.counts[outcome] for tally in tallies) for outcome in Outcome}
    return sum(tally.planned for tally in tallies), counts, sum(tally.fell_back or 0 for tally in tallies)


@pytest.mark.parametrize("run_id", [1, 2, 3])
@pytest.mark.parametrize("top", [0, 1, 3, 1000])
def test_every_table_adds_up_to_the_plan(sample: Path, run_id: int, top: int) -> None:
    findings = findings_of(sample, run_id, top)
    whole = findings.whole
    assert set(whole.counts) == set(Outcome)
    assert sum(whole.counts.values()) == whole.planned == findings.run.planned > 0
    for table in (findings.templates, findings.groups):
        assert summed(table) == (whole.planned, whole.counts, whole.fell_back)
        assert len(table.rows) <= (top + 1 if top else 1000)
        assert (table.rest is None) == (table.hidden == 0)
        assert table.hidden != 1
    for statuses in (findings.operators, findings.modules):
        assert set(statuses.counts) == set(OperatorStatus)
        assert sum(statuses.counts.values()) == statuses.total == statuses.declared


def test_the_sample_shows_every_outcome_and_status(sample: Path) -> None:
    findings = findings_of(sample)
    assert all(findings.whole.counts.values())
    assert all(findings.operators.counts.values())


def test_top_shortens_lists_and_keeps_totals(sample: Path) -> None:
    everything, short = findings_of(sample, top=0), findings_of(sample, top=2)
    assert len(short.failures) == len(short.lost) == len(short.templates.rows) == 2
    assert short.failures == everything.failures[:2]
    assert short.lost == everything.lost[:2]
    for name in ("failures_total", "failed_tests", "lost_total", "fallbacks", "whole", "operators"):
        assert getattr(short, name) == getattr(everything, name)
    assert everything.failures_total == len(everything.failures)
    assert short.templates.hidden == len(everything.templates.rows) - 2


def test_failures_are_every_failed_test_once_the_largest_group_first(sample: Path) -> None:
    findings = findings_of(sample, top=0)
    with Database.open_existing(sample) as db:
        failed = {row.test_id: row for row in results(db, 1, outcomes=FAILURES)}
    assert findings.failed_tests == len(failed) == sum(findings.whole.counts[outcome] for outcome in FAILURES)
    assert [group.tests for group in findings.failures] == sorted((g.tests for g in findings.failures), reverse=True)
    for group in findings.failures:
        alike = sorted(test_id for test_id, row in failed.items() if row.signature == group.signature)
        assert group.tests == len(alike) == sum(group.counts.values())
        first = failed[alike[0]]
        assert (group.test_id, group.outcome) == (first.test_id, first.outcome)
        assert (group.message, group.sample) == (first.message, first.failing_sample)
        assert group.operators == len({failed[test_id].op for test_id in alike} - {None})
        assert group.modules == len({failed[test_id].module for test_id in alike} - {None})
        assert shlex.split(group.repeat)[-4:] == ["--device", "neuron", "--test", group.test_id]


def test_a_failure_is_repeated_with_the_same_faults(tmp_path: Path) -> None:
    faults = {"CONFORMANCE_NEURON_FAULTS": "aten::sin=wrong;aten::cos=nan", "OMP_NUM_THREADS": "1"}
    path = write_run(tmp_path / "db", [Result(id_of("test_a"), Outcome.FAILED)], environment=faults)
    assert (
        findings_of(path)
        .failures[0]
        .repeat.startswith("CONFORMANCE_NEURON_FAULTS='aten::sin=wrong;aten::cos=nan' conformance run ")
    )


def test_failures_without_text_are_grouped_by_outcome(tmp_path: Path) -> None:
    outcomes = {"a": Outcome.CRASHED, "b": Outcome.TIMED_OUT, "c": Outcome.CRASHED}
    path = write_run(tmp_path / "db", [Result(id_of(f"test_{name}"), outcome) for name, outcome in outcomes.items()])
    groups = findings_of(path).failures
    assert [(group.tests, group.outcome, group.signature) for group in groups] == [
        (2, Outcome.CRASHED, ""),
        (1, Outcome.TIMED_OUT, ""),
    ]


def test_only_the_last_attempt_counts(tmp_path: Path) -> None:
    attempts = [
        Result(id_of("test_a"), Outcome.CRASHED, signature="x"),
        Result(id_of("test_a"), Outcome.PASSED, attempt=2),
    ]
    findings = findings_of(write_run(tmp_path / "db", attempts))
    assert findings.failures == ()
    assert findings.whole.counts[Outcome.PASSED] == findings.whole.planned == 1


def test_lost_tests_of_a_finished_run_are_named(tmp_path: Path) -> None:
    path = write_run(tmp_path / "db", [Result(id_of("test_a"), Outcome.PASSED)], planned=["test_c", "test_b"])
    findings = findings_of(path)
    assert findings.lost == (id_of("test_b"), id_of("test_c"))
    assert findings.lost_total == findings.whole.counts[Outcome.NOT_RUN] == 2
    assert [(note.kind, note.text) for note in findings.notes] == [
        (NoteKind.INCOMPLETE, "the run is complete; 2 of 3 planned tests have no result.")
    ]


def test_tests_of_a_run_that_goes_on_are_not_lost(tmp_path: Path) -> None:
    path = write_run(tmp_path / "db", [Result(id_of("test_a"), Outcome.PASSED)], planned=["test_b"], state=None)
    findings = findings_of(path)
    assert (findings.run.state, findings.lost, findings.lost_total) == (RunState.RUNNING, (), 0)
    assert findings.whole.counts[Outcome.NOT_RUN] == 1
    assert [note.text for note in findings.notes] == ["the run is running; 1 of 2 planned tests has no result."]


def test_a_complete_run_of_everything_on_a_real_device_needs_no_note(tmp_path: Path) -> None:
    assert findings_of(write_run(tmp_path / "db", [Result(id_of("test_a"), Outcome.PASSED)])).notes == ()


def test_notes_of_an_emulated_interrupted_partial_run(sample: Path) -> None:
    kinds = [note.kind for note in findings_of(sample, 3).notes]
    assert kinds == [NoteKind.EMULATED, NoteKind.INCOMPLETE, NoteKind.SELECTION]


@pytest.mark.parametrize("probe", ["", "none"])
def test_without_a_probe_fallbacks_are_unknown_not_zero(tmp_path: Path, probe: str) -> None:
    path = write_run(tmp_path / "db", [Result(id_of("test_a"), Outcome.PASSED)], probe=probe)
    findings = findings_of(path)
    assert findings.whole.fell_back is None
    assert [row.fell_back for row in (*findings.templates.rows, *findings.groups.rows)] == [None, None]
    assert [note.kind for note in findings.notes] == [NoteKind.UNOBSERVED]


def test_nobody_has_to_look_for_fallbacks_of_the_cpu(tmp_path: Path) -> None:
    path = write_run(tmp_path / "db", [Result(id_of("test_a"), Outcome.PASSED)], probe="none", device="cpu")
    findings = findings_of(path)
    assert (findings.whole.fell_back, findings.fallbacks, findings.notes) == (None, None, ())


def test_with_a_probe_that_saw_nothing_fallbacks_are_zero(tmp_path: Path) -> None:
    path = write_run(tmp_path / "db", [Result(id_of("test_a"), Outcome.PASSED, fallback=FallbackAccount())])
    assert findings_of(path).whole.fell_back == 0


def test_operators_beyond_the_inventory_do_not_hide_in_it(tmp_path: Path) -> None:
    path = write_run(
        tmp_path / "db", [Result(id_of("test_a"), Outcome.PASSED)], inventory=["b", "c"], planned=["test_b"]
    )
    operators = findings_of(path).operators
    assert (operators.total, operators.declared) == (3, 2)
    assert operators.counts[OperatorStatus.UNTESTED] == 2


def test_fallbacks_name_overloads_tests_and_operators(tmp_path: Path) -> None:
    both = FallbackAccount(("aten::x", "aten::y"), ("aten::x", "aten::y", "aten::z"))
    one = FallbackAccount(("aten::y",), ("aten::y",))
    passed = [
        Result(id_of("test_a"), Outcome.PASSED, fallback=both),
        Result(id_of("test_b"), Outcome.PASSED, fallback=one),
    ]
    findings = findings_of(write_run(tmp_path / "db", passed))
    assert findings.fallbacks == Fallbacks(
        subject_tests=2,
        other_tests=0,
        in_subject=2,
        in_others=0,
        overloads=(FallbackOverload("aten::y", 2, ("a", "b")), FallbackOverload("aten::x", 1, ("a",))),
        other_overloads=(),
    )
    assert findings.whole.fell_back == 2


@pytest.mark.parametrize("windowed", [False, True])
def test_fallbacks_of_tests_without_an_operator_are_told_apart(tmp_path: Path, windowed: bool) -> None:
    """Whether or not the whole of such a test counts as its window."""
    seen = FallbackAccount(("aten::y",) if windowed else (), ("aten::y",))
    passed = [
        Result(id_of("test_a"), Outcome.PASSED, fallback=FallbackAccount(("aten::y",), ("aten::y", "aten::z"))),
        Result("test_mine.py::test_a", Outcome.PASSED, fallback=seen),
        Result("test_mine.py::test_b", Outcome.PASSED, fallback=FallbackAccount()),
    ]
    findings = findings_of(write_run(tmp_path / "db", passed))
    assert findings.fallbacks == Fallbacks(
        subject_tests=1,
        other_tests=2,
        in_subject=1,
        in_others=1,
        overloads=(FallbackOverload("aten::y", 1, ("a",)),),
        other_overloads=(FallbackOverload("aten::y", 1, ()),),
    )


def test_a_run_of_few_operators_is_told_by_dtype(tmp_path: Path) -> None:
    results = [
        Result(id_of("test_a"), Outcome.PASSED),
        Result(id_of("test_a_float64"), Outcome.FAILED),
        Result(id_of("test_b"), Outcome.SKIPPED),
    ]
    by_dtype = findings_of(write_run(tmp_path / "db", results, inventory=["a", "b", "c"])).by_dtype
    assert [(subject.noun, subject.name, subject.status, subject.dtypes) for subject in by_dtype] == [
        (
            *("operator", "a", OperatorStatus.PARTIAL),
            {OperatorStatus.NATIVE: ("float32",), OperatorStatus.FAILING: ("float64",)},
        ),
        ("operator", "b", OperatorStatus.SKIPPED, {OperatorStatus.SKIPPED: ("float32",)}),
    ]


@pytest.mark.parametrize(("operators", "told"), [(NARROW, NARROW), (NARROW + 1, 0)])
def test_a_run_of_many_operators_is_not_told_by_dtype(tmp_path: Path, operators: int, told: int) -> None:
    results = [Result(id_of(f"test_op{number}"), Outcome.PASSED) for number in range(operators)]
    findings = findings_of(write_run(tmp_path / "db", results))
    assert len(findings.by_dtype) == told
    assert findings.operators.planned == operators
    assert findings.has_groups == (told == 0 and [tally.key for tally in findings.groups.rows] != [""])


def test_only_the_stack_of_a_process_that_died_is_read(tmp_path: Path) -> None:
    stack = 'Current thread 0x01 (most recent call first):\n  File "/x/test_x.py", line 3 in deep'
    results = [
        Result(id_of("test_a"), Outcome.CRASHED, details=stack, signature="x"),
        Result(id_of("test_b"), Outcome.FAILED, details=stack, signature="y"),
    ]
    failures = findings_of(write_run(tmp_path / "db", results)).failures
    assert [group.frames for group in failures] == [("/x/test_x.py:3 in deep",), ()]


def test_counts_that_do_not_add_up_are_loud(tmp_path: Path) -> None:
    path = write_run(tmp_path / "db", [Result(id_of("test_a"), Outcome.PASSED)])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE run_outcome SET tests = 5")
    with pytest.raises(ConformanceError, match="has 1 planned tests, but the outcomes passed 5") as raised:
        findings_of(path)
    assert raised.value.slug == "counts-disagree"
