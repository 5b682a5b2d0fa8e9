"""The light queries say what the full ones say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.model.listed import ListedEntry
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import RunState
from conformance.store import Database, RunWriter, history, listed_entries, results, runs
from tests.sample_run import build_sample
from tests.store.building import id_of, planned, run_info


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Return a database with a complete run, one on a real device, and an interrupted one; tests with two attempts."""
    path = build_sample(tmp_path_factory.mktemp("history") / "sample.sqlite", runs=3, operators=24)
    with Database.open_existing(path) as database:
        yield database


def entry(entry_id: str, reason: str = "because") -> ListedEntry:
    return ListedEntry(entry_id, "fail", "unsupported-op", reason, owner="me", added="2026-10-20", message="no kernel")


@pytest.fixture
def listed(tmp_path: Path) -> Iterator[Database]:
    """Return a database with two runs under a skiplist, of which the second knows one test under another operator."""
    path = tmp_path / "listed.sqlite"
    with Database.create_or_open(path) as database:
        for number, (first, op) in enumerate((("one", None), ("two", "add")), start=1):
            tests = [planned("test_a", op=op), planned("test_b"), planned("test_c"), planned("test_d")]
            tests = [
                type(test)(test.node_id, test.identity, first if place < 2 else "") for place, test in enumerate(tests)
            ]
            writer = RunWriter(database)
            writer.begin(run_info(skiplist="list.toml"))
            writer.write_skiplist([entry("one"), entry("two"), entry("idle")])
            writer.write_plan(tests)
            writer.start()
            failed = Result(id_of("test_a"), Outcome.FAILED, message="no kernel", signature="no kernel")
            writer.add(failed)
            fallback = FallbackAccount(("aten::sin",), ("aten::sin",))
            writer.add(Result(id_of("test_a"), Outcome.FLAKY, attempt=2, fallback=fallback))
            writer.add(Result(id_of("test_b"), Outcome.FAILED, message="no kernel", signature="no kernel"))
            writer.add(Result(id_of("test_c"), Outcome.PASSED, fallback=FallbackAccount()))
            if number == 1:
                writer.finish(RunState.COMPLETE, finished_at="2026-11-01T01:00:00Z")
            else:
                writer.flush()
    with Database.open_existing(path) as database:
        yield database


def every(database: Database) -> list[int]:
    return [run.id for run in runs(database)]


def test_ends_are_those_of_the_last_attempts(sample: Database, listed: Database) -> None:
    for database in (sample, listed):
        for run_id in every(database):
            expected = {row.test_id: (row.outcome, row.fallback_ops) for row in results(database, run_id)}
            assert history.ends(database, run_id) == expected


def test_seen_has_each_test_once_with_its_entry_and_message(sample: Database, listed: Database) -> None:
    for database in (sample, listed):
        for run_id in every(database):
            expected = {
                row.test_id: (row.outcome, row.fallback_ops, row.message, row.entry)
                for row in results(database, run_id)
            }
            rows = list(history.seen(database, run_id))
            assert len(rows) == len(expected)
            assert {row.test_id: tuple(row[1:]) for row in rows} == expected


def test_a_planned_test_of_a_run_that_goes_on_has_not_been_run(listed: Database) -> None:
    assert history.ends(listed, 2)[id_of("test_d")] == (Outcome.NOT_RUN, None)
    assert {row.test_id for row in history.seen(listed, 2) if row.outcome is Outcome.NOT_RUN} == {id_of("test_d")}


def test_a_run_that_is_not_there_has_no_tests(sample: Database) -> None:
    assert history.ends(sample, 99) == {}
    assert list(history.seen(sample, 99)) == []
    assert history.listed_tests(sample, 99) == {}


def test_listed_tests_and_entries_are_those_of_the_plan(listed: Database) -> None:
    for run_id in (1, 2):
        entries = history.entries_in_force(listed, [run_id])
        counts = Counter(entries[ref].entry_id for ref in history.listed_tests(listed, run_id).values())
        assert counts == {row.entry.entry_id: row.tests for row in listed_entries(listed, run_id) if row.tests}
        assert sorted(one.entry_id for one in entries.values()) == ["idle", "one", "two"]
    assert len(history.entries_in_force(listed, [1, 2])) == 3


def test_a_test_that_is_described_anew_is_the_same_one(listed: Database) -> None:
    first, second = (history.listed_tests(listed, run_id).keys() for run_id in (1, 2))
    known = history.first_refs(listed)
    assert first != second
    assert {known.get(ref, ref) for ref in second} == set(first)


def test_ends_of_are_of_the_tests_that_were_asked_for(listed: Database) -> None:
    refs = {test_id: ref for ref, test_id in listed.query("SELECT id, test_id FROM test WHERE revision = 0")}
    wanted = [refs[id_of(name)] for name in ("test_a", "test_b", "test_c", "test_d")]
    assert history.ends_of(listed, 1, [*wanted, 999]) == {
        wanted[0]: (Outcome.FLAKY, True),
        wanted[1]: (Outcome.FAILED, None),
        wanted[2]: (Outcome.PASSED, False),
        wanted[3]: (Outcome.NOT_RUN, None),
    }
    assert history.ends_of(listed, 1, []) == {}


def test_signatures_are_those_of_last_attempts(listed: Database) -> None:
    refs = history.listed_tests(listed, 1)
    found = history.signatures_of(listed, 1, refs)
    assert list(found.values()) == ["no kernel"]


def test_subjects_and_plan_rows_are_those_of_the_results(sample: Database) -> None:
    rows = {row.test_id: row for row in results(sample, 1)}
    by_id = history.subjects_by_id(sample, 1, rows)
    assert {test_id: tuple(subject) for test_id, subject in by_id.items()} == {
        row.test_id: (row.file, row.template, row.op, row.module, row.dtype, row.architecture) for row in rows.values()
    }
    numbers = dict(sample.query("SELECT id, test_id FROM test"))
    by_ref = history.subjects(sample, numbers.keys())
    assert {numbers[ref]: subject for ref, subject in by_ref.items()} == by_id
    assert {row[0]: row[1:] for row in history.plan_rows(sample, 1)} == {
        row.test_id: (row.file, row.class_name, row.template, row.op, row.module, row.dtype) for row in rows.values()
    }
    assert history.subjects_by_id(sample, 1, []) == {}


def test_outcomes_by_operator_add_up_to_its_tests(sample: Database, listed: Database) -> None:
    for database, run_id in ((sample, 1), (sample, 3), (listed, 2)):
        expected: dict[str, Counter[tuple[Outcome, bool]]] = {}
        for row in results(database, run_id):
            if row.op is not None:
                expected.setdefault(row.op, Counter())[row.outcome, bool(row.fallback_ops)] += 1
        assert history.operator_outcomes(database, run_id) == expected


def test_joins_are_made_in_their_order_also_without_statistics(tmp_path: Path) -> None:
    """Hold the plans: with the inner and the outer side swapped, 16,000 tests of 150,000 took a minute."""
    path = build_sample(tmp_path / "sample.sqlite", runs=1, operators=13)
    with Database.create_or_open(path) as database:
        database.connection.execute("DELETE FROM sqlite_stat1")
    with Database.open_existing(path) as database:
        statements: list[str] = []
        database.connection.set_trace_callback(statements.append)
        refs = [ref for (ref,) in database.query("SELECT test_ref FROM plan")]
        history.ends_of(database, 1, refs)
        history.signatures_of(database, 1, refs)
        database.connection.set_trace_callback(None)
        asked = [statement for statement in statements if "AS wanted" in statement]
        assert len(asked) == 2
        for statement in asked:
            plan = [row[3] for row in database.query(f"EXPLAIN QUERY PLAN {statement}")]
            assert "wanted" in plan[0]
            assert all(step.startswith(("SEARCH", "USE TEMP")) for step in plan[1:]), plan
