from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from conformance.errors import ConformanceError, UsageError
from conformance.model.listed import ListedEntry
from conformance.model.operator import ModuleInventory, OperatorInfo, OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.registration import Registration, RegistrationKind
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import RunState
from conformance.store import (
    Database,
    EntryRow,
    FallbackRow,
    OperatorStatusRow,
    RunWriter,
    counts_by,
    fallback_operators,
    listed_entries,
    module_statuses,
    operator_statuses,
    registrations,
    resolve_run,
    results,
    runs,
)
from tests.sample_run import ODD_OPERATOR, build_sample
from tests.store.building import assert_sound, id_of, nonzero, planned, run_info

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FINISHED_AT = "2026-11-01T01:00:00Z"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.create_or_open(tmp_path / "a.sqlite") as database:
        yield database


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with Database.open_existing(build_sample(tmp_path_factory.mktemp("sample") / "a.sqlite", runs=3)) as database:
        yield database


def begin(database: Database, key: str, state: RunState) -> None:
    writer = RunWriter(database)
    writer.begin(run_info(key=key))
    if state in (RunState.COMPLETE, RunState.INTERRUPTED):
        writer.finish(state, finished_at=FINISHED_AT)


@pytest.fixture
def three_runs(database: Database) -> Database:
    begin(database, "aaaa1111", RunState.COMPLETE)
    begin(database, "aaaa2222", RunState.INTERRUPTED)
    begin(database, "30001234", RunState.PLANNED)
    return database


@pytest.mark.parametrize(
    ("selector", "run_id"),
    [
        ("latest", 3),
        ("latest-complete", 1),
        ("2", 2),
        (" 2 ", 2),
        ("aaaa2", 2),
        ("AAAA2222", 2),
        ("3000", 3),
    ],
)
def test_a_run_is_found_by(selector: str, run_id: int, three_runs: Database) -> None:
    assert resolve_run(three_runs, selector).id == run_id


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        ("4", "there is no run '4' in"),
        ("aaa", "there is no run 'aaa' in"),
        ("aaaa", "the key of 2 runs starts with 'aaaa' in"),
        ("", "there is no run '' in"),
    ],
)
def test_an_unknown_run_is_told_with_those_that_exist(selector: str, told: str, three_runs: Database) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_run(three_runs, selector)
    assert caught.value.slug == "unknown-run"
    assert str(caught.value).startswith(told)
    exist = "it has the runs 1 (aaaa1111, complete), 2 (aaaa2222, interrupted), 3 (30001234, planned)"
    assert str(caught.value).endswith(exist)


def test_a_database_without_runs_says_so(database: Database) -> None:
    with pytest.raises(UsageError, match=r"there is no run 'latest' in .* it has no runs$"):
        resolve_run(database)
    begin(database, "1234", RunState.PLANNED)
    with pytest.raises(UsageError, match="there is no complete run in"):
        resolve_run(database, "latest-complete")


def test_many_runs_are_not_all_listed(database: Database) -> None:
    for number in range(12):
        begin(database, f"key{number}", RunState.PLANNED)
    with pytest.raises(UsageError, match=r"3 .key2, planned.*12 .key11, planned. and 2 earlier ones"):
        resolve_run(database, "99")


def test_results_are_filtered_and_ordered(sample: Database) -> None:
    everything = list(results(sample, 1))
    assert [row.test_id for row in everything] == sorted(row.test_id for row in everything)
    assert list(results(sample, 1, op="sin")) == [row for row in everything if row.op == "sin"] != []
    assert list(results(sample, 1, module="nn.LSTM")) == [row for row in everything if row.module == "nn.LSTM"] != []
    bad = [Outcome.FAILED, Outcome.NOT_RUN]
    assert list(results(sample, 1, outcomes=bad)) == [row for row in everything if row.outcome in bad] != []
    assert list(results(sample, 1, op="div.trunc_rounding", outcomes=[Outcome.SKIPPED])) == [
        row for row in everything if row.op == "div.trunc_rounding" and row.outcome is Outcome.SKIPPED
    ]
    assert list(results(sample, 1, outcomes=[])) == []
    assert list(results(sample, 1, op="unheard of")) == []
    assert list(results(sample, 99)) == []


def test_names_that_end_in_another_are_kept_apart(sample: Database) -> None:
    assert {row.op for row in results(sample, 1, op="sin")} == {"sin"}
    assert {row.op for row in results(sample, 1, op="asin")} == {"asin"}
    assert len(list(results(sample, 1, op=ODD_OPERATOR))) == 9


@pytest.mark.parametrize("column", ["template", "group", "dtype", "suite", "outcome"])
def test_counts_by_a_column_are_those_of_the_rows(column: str, sample: Database) -> None:
    groups = {row.op: row.group for row in operator_statuses(sample, 1)}
    counted: dict[str, list[Outcome]] = {}
    fallback: dict[str, int] = {}
    for row in results(sample, 1):
        key = groups.get(row.op or "", "") if column == "group" else str(getattr(row, column) or "")
        counted.setdefault(key, []).append(row.outcome)
        fallback[key] = fallback.get(key, 0) + bool(row.fallback_ops)
    rows = counts_by(sample, 1, column)  # type: ignore[arg-type]
    assert [row.key for row in rows] == sorted(counted)
    for count in rows:
        outcomes = counted[count.key]
        assert count.planned == len(outcomes)
        assert nonzero(count.counts) == {outcome: outcomes.count(outcome) for outcome in set(outcomes)}
        assert count.fallback == fallback[count.key]


def test_the_counts_of_a_run_are_those_of_its_rows(sample: Database) -> None:
    for run in runs(sample):
        outcomes = [row.outcome for row in results(sample, run.id)]
        assert list(run.counts) == list(Outcome)
        assert nonzero(run.counts) == {outcome: outcomes.count(outcome) for outcome in set(outcomes)}
        assert run.planned == len(outcomes)


def test_entries_in_force_count_their_tests_and_are_stored_once(database: Database) -> None:
    entries = [
        ListedEntry(
            "complex", "fail", "unsupported-dtype", "No complex type.", "link", "me", "2026-10-20", "", "no .*"
        ),
        ListedEntry("idle", "skip", "runtime", "Hangs.", guess=True),
    ]
    for _ in range(2):
        writer = RunWriter(database)
        writer.begin(run_info(skiplist="skiplists/neuron", run_skipped=True, versions=(("compiler", "2.1"),)))
        writer.write_skiplist(entries)
        tests = [planned("test_1"), planned("test_2"), planned("test_3")]
        writer.write_plan([dataclasses.replace(test, entry_id="complex") for test in tests[:2]] + tests[2:])
        writer.add(Result(id_of("test_1"), Outcome.FAILED))
        writer.finish(RunState.COMPLETE, finished_at="2026-11-01T00:00:02Z")
    assert listed_entries(database, 2) == [
        EntryRow(entries[0], 2, {Outcome.FAILED: 1, Outcome.NOT_RUN: 1}),
        EntryRow(entries[1], 0, {}),
    ]
    assert [(row.entry, row.expect) for row in results(database, 2)] == [("complex", "fail")] * 2 + [("", "")]
    assert list(database.query("SELECT count(*) FROM skiplist_entry")) == [(2,)]
    run = resolve_run(database, "2")
    assert (run.skiplist, run.run_skipped, run.versions) == ("skiplists/neuron", True, (("compiler", "2.1"),))


def test_two_entries_with_one_id_are_refused(database: Database) -> None:
    writer = RunWriter(database)
    writer.begin(run_info())
    with pytest.raises(ConformanceError, match="two entries of the skiplist have the id 'a'"):
        writer.write_skiplist([ListedEntry("a", "fail", "unknown", "x"), ListedEntry("a", "skip", "unknown", "y")])


def test_equal_registrations_are_stored_once(database: Database) -> None:
    found = [
        Registration("aten::add.Tensor", RegistrationKind.KERNEL),
        Registration("aten::x", RegistrationKind.MISSING),
    ]
    for content in (found, found[::-1], found[:1], []):
        writer = RunWriter(database)
        writer.begin(run_info())
        if content:
            writer.write_registrations(content)
    assert [registrations(database, run) for run in (1, 2, 3, 4)] == [found, found, found[:1], []]
    assert list(database.query("SELECT count(*) FROM registration_set")) == [(2,)]


def test_statuses_have_a_row_for_every_operator_and_dtype(database: Database) -> None:
    writer = RunWriter(database)
    writer.begin(run_info())
    writer.write_inventory(
        operators=[
            OperatorInfo("add", "add", "pointwise", ("int64", "float32")),
            OperatorInfo("never", "never", "other", ("float32",)),
            OperatorInfo("without.dtypes", "without", "other", ()),
        ],
        modules=[ModuleInventory("nn.Linear", ("float32",)), ModuleInventory("nn.GRU", ("float32",))],
    )
    writer.write_plan(
        [
            planned("test_1", op="add", dtype="float32"),
            planned("test_2", op="add", dtype="float32"),
            planned("test_3", op="add"),
            planned("test_4", op="add", dtype="bfloat16"),
            planned("test_5", op="unlisted", dtype="float32"),
            planned("test_6", module="nn.Linear", dtype="float32"),
            planned("test_7"),
        ]
    )
    writer.add(Result(id_of("test_1"), Outcome.PASSED, fallback=FallbackAccount(("aten::a", "aten::b"), ())))
    writer.add(Result(id_of("test_2"), Outcome.PASSED, fallback=FallbackAccount(("aten::c",), ())))
    writer.add(Result(id_of("test_3"), Outcome.SKIPPED, fallback=FallbackAccount()))
    writer.add(Result(id_of("test_5"), Outcome.TIMED_OUT))
    writer.add(Result(id_of("test_6"), Outcome.XPASSED, fallback=FallbackAccount((), ("aten::x",))))
    writer.add(Result(id_of("test_7"), Outcome.FAILED))
    writer.flush()
    all_ops = ("aten::a", "aten::b", "aten::c")
    fallback, untested, crashing = OperatorStatus.FALLBACK, OperatorStatus.UNTESTED, OperatorStatus.CRASHING
    assert operator_statuses(database, 1) == [
        OperatorStatusRow("add", None, "pointwise", fallback, 4, 2, 0, 1, 0, 0, 1, 0, 2, all_ops),
        OperatorStatusRow("add", "bfloat16", "pointwise", untested, 1, 0, 0, 0, 0, 0, 1, 0, 0, ()),
        OperatorStatusRow("add", "float32", "pointwise", fallback, 2, 2, 0, 0, 0, 0, 0, 0, 2, all_ops),
        OperatorStatusRow("add", "int64", "pointwise", untested, 0, 0, 0, 0, 0, 0, 0, 0, 0, ()),
        OperatorStatusRow("never", None, "other", untested, 0, 0, 0, 0, 0, 0, 0, 0, 0, ()),
        OperatorStatusRow("never", "float32", "other", untested, 0, 0, 0, 0, 0, 0, 0, 0, 0, ()),
        OperatorStatusRow("unlisted", None, "", crashing, 1, 0, 0, 0, 0, 1, 0, 0, 0, ()),
        OperatorStatusRow("unlisted", "float32", "", crashing, 1, 0, 0, 0, 0, 1, 0, 0, 0, ()),
        OperatorStatusRow("without.dtypes", None, "other", untested, 0, 0, 0, 0, 0, 0, 0, 0, 0, ()),
    ]
    assert [(row.module, row.dtype, row.status, row.passed) for row in module_statuses(database, 1)] == [
        ("nn.GRU", None, untested, 0),
        ("nn.GRU", "float32", untested, 0),
        ("nn.Linear", None, OperatorStatus.NATIVE, 1),
        ("nn.Linear", "float32", OperatorStatus.NATIVE, 1),
    ]
    assert fallback_operators(database, 1) == [FallbackRow(overload, 1, ("add",)) for overload in all_ops]


def test_one_run_does_not_see_another(database: Database) -> None:
    for outcome in (Outcome.FAILED, Outcome.PASSED):
        writer = RunWriter(database)
        writer.begin(run_info())
        writer.write_plan([planned("test_1", op="add"), planned("test_2", op=f"only {outcome}")])
        account = FallbackAccount((f"aten::{outcome}",), ())
        writer.add(Result(id_of("test_1"), outcome, fallback=account))
        writer.finish(RunState.COMPLETE, finished_at=FINISHED_AT)
    statuses = {(run, row.op): row.status for run in (1, 2) for row in operator_statuses(database, run)}
    assert statuses == {
        (1, "add"): OperatorStatus.FAILING,
        (1, "only failed"): OperatorStatus.UNTESTED,
        (2, "add"): OperatorStatus.FALLBACK,
        (2, "only passed"): OperatorStatus.UNTESTED,
    }
    assert [row.overload for row in fallback_operators(database, 2)] == ["aten::passed"]
    assert [row.fallback_ops for row in operator_statuses(database, 1) if row.op == "add"] == [("aten::failed",)]


def test_overloads_that_fell_back_are_counted_in_tests(sample: Database) -> None:
    tests: dict[str, int] = {}
    for row in results(sample, 1):
        for overload in row.fallback_ops or ():
            tests[overload] = tests.get(overload, 0) + 1
    rows = fallback_operators(sample, 1)
    assert [(row.overload, row.tests) for row in rows] == sorted(tests.items(), key=lambda item: (-item[1], item[0]))
    assert rows[0].overload == "aten::_foreach_add.List"
    assert len(rows[0].operators) > 5


def test_only_the_last_attempt_says_what_fell_back(database: Database) -> None:
    writer = RunWriter(database)
    writer.begin(run_info())
    writer.write_plan([planned("test_1", op="add", dtype="float32")])
    writer.add(Result(id_of("test_1"), Outcome.CRASHED, fallback=FallbackAccount(("aten::first",), ())))
    writer.add(Result(id_of("test_1"), Outcome.PASSED, attempt=2, fallback=FallbackAccount()))
    writer.flush()
    assert fallback_operators(database, 1) == []
    assert {(row.status, row.planned, row.fallback_ops) for row in operator_statuses(database, 1)} == {
        (OperatorStatus.NATIVE, 1, ())
    }


def test_the_sample_has_everything(sample: Database) -> None:
    assert_sound(sample)
    first, second, third = runs(sample)
    assert (first.emulated, second.emulated, third.emulated) == (True, False, True)
    assert (first.state, second.state, third.state) == (RunState.COMPLETE, RunState.COMPLETE, RunState.INTERRUPTED)
    assert all(first.counts.values())
    assert {row.status for row in operator_statuses(sample, 1) if row.dtype is None} == set(OperatorStatus)
    assert sum(row.dtype is None for row in operator_statuses(sample, 1)) == 60
    assert any("\\x00" in row.message for row in results(sample, 1))


def test_the_same_sample_has_the_same_rows(sample: Database, tmp_path: Path) -> None:
    with Database.open_existing(build_sample(tmp_path / "b.sqlite", runs=3)) as again:
        assert runs(again) == runs(sample)
        assert list(results(again, 3)) == list(results(sample, 3))


@pytest.mark.parametrize("operators", [0, 1, 12, 200])
def test_a_sample_can_have_any_number_of_operators(operators: int, tmp_path: Path) -> None:
    with Database.open_existing(build_sample(tmp_path / "b.sqlite", operators=operators)) as database:
        assert sum(row.dtype is None for row in operator_statuses(database, 1)) == operators
