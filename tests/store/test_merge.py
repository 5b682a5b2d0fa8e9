"""Runs that are copied from one database into another."""

from __future__ import annotations

import dataclasses
import itertools
import os
from typing import TYPE_CHECKING

import pytest

from conformance.errors import UsageError
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import RunState
from conformance.store import Database, RunWriter, operators, results, runs
from conformance.store.merge import merge
from tests.sample_run import build_sample
from tests.store.building import INFO, id_of, planned, run_info, writer_of
from tests.store.merging import actions, content_of_tables, contents, go_on, merged, plan, run_of, write

if TYPE_CHECKING:
    from pathlib import Path

TESTS = plan(120)


def test_a_copied_run_says_what_it_said_where_it_came_from(tmp_path: Path) -> None:
    source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
    build_sample(source, runs=3, operators=40)
    assert actions(merged(target, source)) == ["copied"] * 3
    for number in "123":
        assert contents(target, number) == contents(source, number)
        here, there = run_of(target, number), run_of(source, number)
        assert here == dataclasses.replace(there, owner="")


def test_numbers_of_the_target_do_not_matter(tmp_path: Path) -> None:
    """Names, texts, tests and sets have other numbers in a database that has runs of its own."""
    source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
    build_sample(target, runs=1, operators=25, seed=5)
    write(target, TESTS[60:])
    write(source, TESTS)
    build_sample(source, runs=1, operators=40)
    before = [contents(target, "1"), contents(target, "2")]
    merged(target, source)
    assert [contents(target, "1"), contents(target, "2")] == before
    for run in (run_of(source, "1"), run_of(source, "2")):
        assert contents(target, run.key) == contents(source, run.key)


def test_what_both_have_is_stored_once(tmp_path: Path) -> None:
    source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
    write(source, TESTS)
    write(target, TESTS)
    tables = ("test", "name", "text", "signature", "spelling", "overload", "fallback_set", "inventory")

    def sizes() -> list[int]:
        with Database.open_existing(target) as database:
            return [next(iter(database.query(f"SELECT count(*) FROM {table}")))[0] for table in tables]

    before = sizes()
    assert actions(merged(target, source)) == ["copied"]
    assert sizes() == before


def test_what_no_copied_run_refers_to_stays_behind(tmp_path: Path) -> None:
    source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
    key = write(source, TESTS)
    write(source, plan(300)[120:], done=200)
    with Database.open_existing(source) as database:
        everything = next(iter(database.query("SELECT count(*) FROM test")))
    with Database.create_or_open(source) as database, database.transaction():
        for table in ("compilation", "result", "plan", "run_outcome", "run_skiplist_entry"):
            database.connection.execute(f"DELETE FROM {table} WHERE run_id = 2")
        database.connection.execute("DELETE FROM run WHERE run_id = 2")
    merged(target, source)
    with Database.open_existing(target) as database:
        assert [run.key for run in runs(database)] == [key]
        assert next(iter(database.query("SELECT count(*) FROM test"))) == (120,) < everything


def test_merging_again_changes_no_row(tmp_path: Path) -> None:
    source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
    build_sample(source, runs=3)
    merged(target, source)
    before = content_of_tables(target)
    assert actions(merged(target, source)) == ["unchanged"] * 3
    assert content_of_tables(target) == before


def test_merging_back_and_forth_gives_both_everything(tmp_path: Path) -> None:
    one, two = tmp_path / "one.sqlite", tmp_path / "two.sqlite"
    write(one, TESTS)
    write(two, TESTS[:50], created_at="2026-11-02T00:00:00Z")
    assert actions(merged(one, two)) == ["copied"]
    assert actions(merged(two, one)) == ["copied", "unchanged"]
    keys = []
    for path in (one, two):
        with Database.open_existing(path) as database:
            keys.append({run.key for run in runs(database)})
    assert keys[0] == keys[1]
    assert len(keys[0]) == 2


def test_runs_of_several_files_are_numbered_by_date(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.sqlite" for name in "ab"]
    for day in (3, 1, 4, 2):
        write(paths[day % 2], TESTS[:5], created_at=f"2026-10-0{day}T00:00:00Z")
    orders = []
    for order in itertools.permutations(paths):
        target = tmp_path / f"{order[0].stem}-first.sqlite"
        merged(target, *order)
        with Database.open_existing(target) as database:
            orders.append([(run.id, run.key, run.created_at[:10]) for run in runs(database)])
    assert orders[0] == orders[1]
    assert [day for _, _, day in orders[0]] == [f"2026-10-0{day}" for day in (1, 2, 3, 4)]


def test_one_test_id_described_in_two_ways_stays_two_tests(tmp_path: Path) -> None:
    paths = [tmp_path / "a.sqlite", tmp_path / "b.sqlite"]
    for path, template in zip(paths, ("test_one", "test_other"), strict=True):
        identity = Identity("test_ops.py", "TestCommon", "test_x", Suite.UPSTREAM, template)
        write(path, [PlannedTest("test/test_ops.py::TestCommonNEURON::test_x_neuron", identity)])
    target = tmp_path / "target.sqlite"
    merged(target, *paths)
    with Database.open_existing(target) as database:
        found = list(database.query("SELECT test_id, revision FROM test ORDER BY revision"))
        assert found == [("test_ops.py::TestCommon::test_x", 0), ("test_ops.py::TestCommon::test_x", 1)]
        templates = [next(iter(results(database, number))).template for number in (1, 2)]
    assert sorted(templates) == ["test_one", "test_other"]


def test_odd_texts_and_empty_runs_survive(tmp_path: Path) -> None:
    source, target = tmp_path / "it's \udcff a %3f? #1.sqlite", tmp_path / "target & more.sqlite"
    with Database.create_or_open(source) as database:
        writer = writer_of(database, [planned("test_a")])
        fallback = FallbackAccount(("aten::a,b",), ("aten::a,b", "aten::ü"))
        result = Result(id_of("test_a"), Outcome.FAILED, message="\0 \ud800 'quoted'\n", reason="ü", fallback=fallback)
        writer.add(result)
        writer.finish(RunState.COMPLETE, finished_at="2026-11-01T01:00:00Z")
        empty = RunWriter(database)
        empty.begin(run_info(created_at="2026-11-02T00:00:00Z"))
        empty.write_plan([])
        empty.finish(RunState.COMPLETE, finished_at="2026-11-02T01:00:00Z")
    assert actions(merged(target, source)) == ["copied", "copied"]
    assert contents(target, "1") == contents(source, "1")
    assert (run_of(target, "2").planned, run_of(target, "2").state) == (0, RunState.COMPLETE)


def test_a_run_without_a_plan_yet_is_named_and_left_alone(tmp_path: Path) -> None:
    source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
    with Database.create_or_open(source) as database:
        RunWriter(database).begin(INFO)
    assert actions(merged(target, source)) == ["no plan"]
    with Database.open_existing(target) as database:
        assert runs(database) == []


def test_an_inventory_comes_along_with_its_run(tmp_path: Path) -> None:
    source, target = build_sample(tmp_path / "source.sqlite", operators=30), tmp_path / "target.sqlite"
    write(target, TESTS)
    merged(target, source)
    with Database.open_existing(source) as there, Database.open_existing(target) as here:
        assert operators(here, 2) == operators(there, 1) != operators(here, 1)


class TestARunThatWentOn:
    """The same run in both files, and one of them has more."""

    @pytest.mark.parametrize("state", [None, RunState.INTERRUPTED])
    def test_brings_the_target_up_to_date(self, state: RunState | None, tmp_path: Path) -> None:
        source, target, whole = (tmp_path / f"{name}.sqlite" for name in ("source", "target", "whole"))
        key = write(source, TESTS, done=40, state=state)
        assert actions(merged(target, source)) == ["copied"]
        assert run_of(target).state is (state or RunState.RUNNING)
        go_on(source, key, done=70, state=None)
        assert actions(merged(target, source)) == ["updated"]
        assert run_of(target).counts[Outcome.NOT_RUN] == 50
        go_on(source, key)
        assert actions(merged(target, source)) == ["updated"]
        assert actions(merged(target, source)) == ["unchanged"]
        write(whole, TESTS)
        assert contents(target) == contents(whole) == contents(source)
        assert (run_of(target).id, run_of(target).resumed) == (1, 2)

    def test_never_takes_results_away(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
        key = write(source, TESTS, done=40, state=RunState.INTERRUPTED)
        merged(target, source)
        go_on(target, key)
        before = content_of_tables(target)
        assert actions(merged(target, source)) == ["unchanged"]
        assert content_of_tables(target) == before

    def test_an_end_without_new_results_is_news_too(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
        key = write(source, TESTS, done=40, state=None)
        merged(target, source)
        with Database.create_or_open(target) as database, database.transaction():
            database.connection.execute("UPDATE run SET owner = '1@0'")  # a process that has ended
        with Database.create_or_open(source) as database:
            writer = RunWriter(database)
            writer.resume(1)
            writer.finish(RunState.INTERRUPTED, finished_at="2026-11-01T05:00:00Z")
        assert actions(merged(target, source)) == ["updated"]
        assert (run_of(target, key).state, run_of(target, key).owner) == (RunState.INTERRUPTED, "")
        assert contents(target) == contents(source)

    def test_and_went_on_in_both_is_refused_and_the_others_are_merged(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
        key = write(source, TESTS, done=40, state=RunState.INTERRUPTED)
        merged(target, source)
        go_on(source, key, done=70, state=RunState.INTERRUPTED)
        with Database.create_or_open(target) as database:
            writer = RunWriter(database)
            writer.resume(1)
            writer.add(Result(TESTS[60].identity.test_id, Outcome.ERROR))
            writer.finish(RunState.INTERRUPTED, finished_at="2026-11-01T05:00:00Z")
        write(source, TESTS[:3], created_at="2026-12-01T00:00:00Z")
        before = contents(target, key)
        refused, copied = merge(target, [source])
        assert refused.error is not None
        assert refused.error.slug == "run-diverged"
        assert str(target) in str(refused.error)
        assert contents(target, key) == before
        assert copied.action.value == "copied"

    def test_is_not_replaced_while_a_process_writes_it_here(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
        key = write(source, TESTS, done=40, state=RunState.INTERRUPTED)
        merged(target, source)
        go_on(source, key)
        with Database.create_or_open(target) as database:
            RunWriter(database).resume(1)  # by this process, which is alive
            (refused,) = merge(target, [source])
            assert refused.error is not None
            assert refused.error.slug == "run-in-use"
            assert str(os.getpid()) in str(refused.error)
        assert run_of(target).counts[Outcome.NOT_RUN] == 80

    def test_a_copy_can_be_resumed_where_it_is(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
        with Database.create_or_open(source) as database:
            writer_of(database, TESTS)  # goes on, and this process owns it
            merged(target, source)
        go_on(target, run_of(target).key)
        assert run_of(target).state is RunState.COMPLETE


def test_a_failure_between_two_runs_keeps_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = build_sample(tmp_path / "source.sqlite", runs=2), tmp_path / "target.sqlite"
    merging = merge(target, [source])
    assert next(merging).action.value == "copied"
    merging.close()
    with Database.open_existing(target) as database:
        assert len(runs(database)) == 1
    assert actions(merged(target, source)) == ["unchanged", "copied"]


def test_a_target_cannot_be_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    source = build_sample(tmp_path / "source.sqlite", operators=1)
    with pytest.raises(Exception, match="there is no folder"):
        merged(tmp_path / "no" / "target.sqlite", source)


def test_a_target_of_the_wrong_kind_is_refused(tmp_path: Path) -> None:
    source, target = build_sample(tmp_path / "source.sqlite", operators=1), tmp_path / "target.txt"
    target.write_text("not a database at all")
    with pytest.raises(UsageError) as caught:
        merged(target, source)
    assert caught.value.slug == "not-a-database"
    assert target.read_text() == "not a database at all"
