"""Shards of one launch become one run, or are refused."""

from __future__ import annotations

import dataclasses
import itertools
import random
import sqlite3
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import UsageError
from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.model.run import PlanScope, RunState
from conformance.store import Database, RunWriter, runs
from conformance.store.merge import merge
from tests.store.building import run_info
from tests.store.merging import (
    DAY,
    actions,
    content_of_tables,
    contents,
    cut,
    go_on,
    merged,
    plan,
    run_of,
    write,
    write_shard,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TESTS = plan(150)
CI = "GITHUB_RUN_ID=77"


def shards(folder: Path, count: int, **options: Any) -> list[Path]:
    """Write a database for each shard of the tests."""
    paths = [folder / f"s{number}.sqlite" for number in range(1, count + 1)]
    for number, path in enumerate(paths, start=1):
        write_shard(path, TESTS, number, count, **options)
    return paths


def rows_of_shards(path: Path) -> list[tuple[Any, ...]]:
    with Database.open_existing(path) as database:
        return list(database.query("SELECT shard, key, state, host, planned, started_at, finished_at FROM run_shard"))


def refused(target: Path, *paths: Path, **options: Any) -> UsageError:
    """Return the error, which is one line; nothing was written."""
    before = content_of_tables(target) if target.exists() else None
    with pytest.raises(UsageError) as caught:
        merged(target, *paths, **options)
    assert "\n" not in str(caught.value)
    assert (content_of_tables(target) if target.exists() else None) == before
    return caught.value


class TestShardsOfOneLaunch:
    @pytest.mark.parametrize("count", [1, 2, 5, 13])
    def test_become_the_run_that_one_machine_would_have_made(self, count: int, tmp_path: Path) -> None:
        target, whole = tmp_path / "target.sqlite", tmp_path / "whole.sqlite"
        paths = shards(tmp_path, count)
        write(whole, TESTS)
        assert actions(merged(target, *paths)) == ["joined"]
        assert contents(target) == contents(whole)
        with Database.open_existing(target) as database:
            assert len(runs(database)) == 1
        joined, one = run_of(target), run_of(whole)
        assert (joined.state, joined.shard, joined.shards, joined.split) == (RunState.COMPLETE, None, None, "count")
        assert (joined.planned, joined.collected, joined.plan_digest) == (150, 150, one.plan_digest)
        assert joined.host == ", ".join(f"host-{number}" for number in range(1, count + 1))
        assert joined.command == "conformance run --device neuron"
        assert (joined.environment, joined.suites, joined.owner) == (one.environment, tuple(sorted(one.suites)), "")
        for name in ("device", "torch_version", "backend", "backend_version", "probe", "seed", "selection"):
            assert getattr(joined, name) == getattr(one, name)

    def test_are_named_in_the_merged_run(self, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        for number in (2, 1):
            path = tmp_path / f"s{number}.sqlite"
            times = {"started_at": f"{DAY}T01:0{number}:00Z", "finished_at": f"{DAY}T02:0{number}:00Z"}
            write_shard(path, TESTS, number, 2, key=f"{number}" * 32, **times)
        (done,) = merged(target, tmp_path / "s2.sqlite", tmp_path / "s1.sqlite")
        assert (done.shards, done.missing) == ((1, 2), ())
        assert rows_of_shards(target) == [
            (1, "1" * 32, "complete", "host-1", 75, f"{DAY}T01:01:00Z", f"{DAY}T02:01:00Z"),
            (2, "2" * 32, "complete", "host-2", 75, f"{DAY}T01:02:00Z", f"{DAY}T02:02:00Z"),
        ]
        run = run_of(target)
        assert (run.created_at, run.started_at) == (f"{DAY}T00:00:01Z", f"{DAY}T01:01:00Z")
        assert run.finished_at == f"{DAY}T02:02:00Z"

    def test_give_the_same_run_in_any_order(self, tmp_path: Path) -> None:
        paths = shards(tmp_path, 3)
        found = []
        for position, order in enumerate(itertools.permutations(paths)):
            target = tmp_path / f"t{position}.sqlite"
            merged(target, *order)
            with Database.open_existing(target) as database:
                places = list(
                    database.query("SELECT test_id, position FROM plan JOIN test ON id = test_ref ORDER BY 1")
                )
            found.append((run_of(target), contents(target), places))
        assert all(one == found[0] for one in found)
        assert sorted(position for _, position in found[0][2]) == list(range(150))

    def test_give_the_same_run_when_they_come_one_by_one(self, tmp_path: Path) -> None:
        paths = shards(tmp_path, 4, launch=CI)
        whole = tmp_path / "whole.sqlite"
        merged(whole, *paths)
        for seed in range(4):
            target = tmp_path / f"t{seed}.sqlite"
            order = random.Random(seed).sample(paths, 4)
            done = [merged(target, path, allow_missing=True)[0] for path in order]
            assert actions(done) == ["joined", "updated", "updated", "updated"]
            assert [len(one.missing) for one in done] == [3, 2, 1, 0]
            assert contents(target) == contents(whole)
            assert run_of(target) == run_of(whole)
            assert rows_of_shards(target) == rows_of_shards(whole)
            places = []
            for path in (target, whole):
                with Database.open_existing(path) as database:
                    query = "SELECT test_id, position FROM plan JOIN test ON id = test_ref ORDER BY 1"
                    places.append(list(database.query(query)))
            assert places[0] == places[1]

    def test_may_all_be_in_one_file_with_other_runs(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
        for number in (1, 2, 3):
            write_shard(source, TESTS, number, 3, launch=CI)
        write(source, TESTS[:9], created_at="2026-11-02T00:00:00Z")
        assert actions(merged(target, source)) == ["joined", "copied"]
        assert actions(merged(target, source)) == ["unchanged", "unchanged"]

    def test_are_kept_apart_by_launch_and_device(self, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        paths = []
        for launch, device in itertools.product(("a", "b"), ("neuron", "cpu")):
            for number in (1, 2):
                paths.append(tmp_path / f"{launch}-{device}-{number}.sqlite")
                write_shard(paths[-1], TESTS, number, 2, launch=launch, device=device)
        assert actions(merged(target, *paths)) == ["joined"] * 4
        with Database.open_existing(target) as database:
            found = {(run.launch, run.device, run.planned, str(run.state)) for run in runs(database)}
        assert found == {(a, d, 150, "complete") for a in ("a", "b") for d in ("neuron", "cpu")}

    def test_join_with_those_that_were_run_into_the_target(self, tmp_path: Path) -> None:
        target, whole = tmp_path / "target.sqlite", tmp_path / "whole.sqlite"
        _, *others = shards(tmp_path, 3, launch=CI)
        write_shard(target, TESTS, 1, 3, launch=CI)
        write(whole, TESTS)
        assert actions(merged(target, *others)) == ["joined"]
        assert contents(target, "latest") == contents(whole)
        assert actions(merged(target, *others)) == ["unchanged"]
        with Database.open_existing(target) as database:
            assert [run.shard for run in runs(database)] == [1, None]

    def test_without_a_launch_do_not_take_what_is_in_the_target(self, tmp_path: Path) -> None:
        """A shard of last week looks just like one of today."""
        target = tmp_path / "target.sqlite"
        paths = shards(tmp_path, 2)
        write_shard(target, TESTS, 1, 2)
        error = refused(target, paths[1])
        assert error.slug == "missing-shard"
        assert f"{target} has shard 1 as run 1" in str(error)

    def test_of_the_next_launch_make_another_run(self, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        for day in ("one", "two"):
            (tmp_path / day).mkdir()
            assert actions(merged(target, *shards(tmp_path / day, 2))) == ["joined"]
        with Database.open_existing(target) as database:
            assert len(runs(database)) == 2

    def test_that_have_no_tests_are_not_missing(self, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        paths = [tmp_path / f"{number}.sqlite" for number in (1, 2)]
        for number, path in enumerate(paths, start=1):
            write_shard(path, TESTS[:2], number, 4)
        (done,) = merged(target, *paths)
        assert (done.action.value, done.shards, done.missing, done.shard_count) == ("joined", (1, 2), (), 4)
        assert run_of(target).state is RunState.COMPLETE
        assert [row[2] for row in rows_of_shards(target)] == ["complete"] * 4
        assert actions(merged(target, *paths)) == ["unchanged"]

    def test_may_hold_suites_and_inventories_of_their_own(self, tmp_path: Path) -> None:
        """A shard names the suites of its own tests, and one with local files only declares no operators."""
        target = tmp_path / "target.sqlite"
        one, two = tmp_path / "1.sqlite", tmp_path / "2.sqlite"
        with Database.create_or_open(one) as database:
            writer = RunWriter(database)
            writer.begin(run_info(suites=("local",), launch=CI))
            writer.write_inventory(operators=[], modules=[])
            writer.write_plan(TESTS[::2], cut(TESTS, 1, 2))
            writer.start()
            writer.finish(RunState.COMPLETE, finished_at=f"{DAY}T02:00:00Z")
        write_shard(two, TESTS, 2, 2, suites=("opinfo",), launch=CI)
        merged(target, one, two)
        assert run_of(target).suites == ("local", "opinfo")
        assert contents(target)["operators"] == contents(two)["operators"] != []

    def test_with_other_commands_keep_them_all(self, tmp_path: Path) -> None:
        paths = [tmp_path / f"{number}.sqlite" for number in (1, 2)]
        for number, path in enumerate(paths, start=1):
            write_shard(path, TESTS, number, 2, command=f"run-it --part={number}", host="same")
        merged(tmp_path / "target.sqlite", *paths)
        run = run_of(tmp_path / "target.sqlite")
        assert (run.command, run.host) == ("run-it --part=1 ; run-it --part=2", "same")

    def test_join_into_a_file_that_is_just_being_created(self, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        new = sqlite3.connect(target)
        new.execute("PRAGMA journal_mode = WAL")
        new.close()
        assert target.stat().st_size
        assert actions(merged(target, *shards(tmp_path, 2))) == ["joined"]


class TestAMissingShard:
    def test_is_named(self, tmp_path: Path) -> None:
        paths = shards(tmp_path, 6)
        error = refused(tmp_path / "target.sqlite", paths[0], paths[4])
        assert error.slug == "missing-shard"
        assert "shards 2-4, 6 of 6 (device neuron, given in" in str(error)
        assert "--allow-missing" in str(error)
        assert not (tmp_path / "target.sqlite").exists()

    def test_stops_the_other_runs_too(self, tmp_path: Path) -> None:
        target, other = tmp_path / "target.sqlite", tmp_path / "other.sqlite"
        write(target, TESTS[:4])
        write(other, TESTS)
        assert refused(target, other, *shards(tmp_path, 2)[:1]).slug == "missing-shard"

    def test_makes_an_interrupted_run_when_allowed(self, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        paths = shards(tmp_path, 4)
        (done,) = merged(target, paths[0], paths[3], allow_missing=True)
        assert (done.action.value, done.shards, done.missing) == ("joined", (1, 4), (2, 3))
        run = run_of(target)
        assert (run.state, run.planned, run.collected) == (RunState.INTERRUPTED, 75, 150)
        assert [(row[0], row[2], row[4], bool(row[1])) for row in rows_of_shards(target)] == [
            (1, "complete", 38, True), (2, "planned", 0, False), (3, "planned", 0, False), (4, "complete", 37, True),
        ]  # fmt: skip
        before = content_of_tables(target)
        assert actions(merged(target, paths[3], paths[0], allow_missing=True)) == ["unchanged"]
        assert content_of_tables(target) == before
        assert refused(target, paths[0]).slug == "missing-shard"

    def test_that_was_killed_before_its_plan_was_stored_is_missing(self, tmp_path: Path) -> None:
        paths = shards(tmp_path, 2)
        with Database.create_or_open(paths[1]) as database, database.transaction():
            for table in ("compilation", "result", "run_outcome", "plan"):
                database.connection.execute(f"DELETE FROM {table}")
            database.connection.execute("UPDATE run SET state = 'planned', planned = 0")
        assert refused(tmp_path / "target.sqlite", *paths).slug == "missing-shard"
        done = merged(tmp_path / "target.sqlite", *paths, allow_missing=True)
        assert sorted(actions(done)) == ["joined", "no plan"]

    @pytest.mark.parametrize("launch", ["", CI])
    def test_that_comes_later_completes_the_run(self, launch: str, tmp_path: Path) -> None:
        target, whole = tmp_path / "target.sqlite", tmp_path / "whole.sqlite"
        paths = shards(tmp_path, 3, launch=launch)
        merged(whole, *paths)
        merged(target, paths[0], paths[2], allow_missing=True)
        assert actions(merged(target, paths[1])) == ["updated"]
        assert run_of(target) == run_of(whole)
        assert contents(target) == contents(whole)

    def test_is_not_taken_from_another_launch(self, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        (tmp_path / "later").mkdir()
        merged(target, *shards(tmp_path, 3, launch="a")[:2], allow_missing=True)
        later = shards(tmp_path / "later", 3, launch="b")
        assert refused(target, later[2]).slug == "missing-shard"
        assert actions(merged(target, later[2], allow_missing=True)) == ["joined"]

    def test_is_not_guessed_where_two_runs_lack_it(self, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        for name in ("a", "b", "c"):
            (tmp_path / name).mkdir()
        for name in ("a", "b"):
            assert actions(merged(target, shards(tmp_path / name, 2)[0], allow_missing=True)) == ["joined"]
        assert refused(target, shards(tmp_path / "c", 2)[1]).slug == "missing-shard"


class TestAShardThatHadNotEnded:
    @pytest.mark.parametrize("state", [None, RunState.INTERRUPTED])
    def test_makes_an_interrupted_run_until_it_has(self, state: RunState | None, tmp_path: Path) -> None:
        target, whole = tmp_path / "target.sqlite", tmp_path / "whole.sqlite"
        third = tmp_path / "3.sqlite"
        paths = [tmp_path / f"{number}.sqlite" for number in (1, 2, 3)]
        for number in (1, 2):
            write_shard(paths[number - 1], TESTS, number, 3)
        key = write_shard(third, TESTS, 3, 3, done=20, state=state)
        merged(target, *paths)
        run = run_of(target)
        assert (run.state, run.counts[Outcome.NOT_RUN], run.planned) == (RunState.INTERRUPTED, 30, 150)
        go_on(third, key, done=35, state=None)
        assert actions(merged(target, third)) == ["updated"]
        assert run_of(target).counts[Outcome.NOT_RUN] == 15
        go_on(third, key)
        assert actions(merged(target, *paths)) == ["updated"]
        assert actions(merged(target, *paths)) == ["unchanged"]
        write(whole, TESTS)
        assert contents(target) == contents(whole)
        assert (run_of(target).state, run_of(target).id) == (RunState.COMPLETE, 1)

    def test_never_loses_results_to_an_older_copy(self, tmp_path: Path) -> None:
        target, old = tmp_path / "target.sqlite", tmp_path / "old.sqlite"
        one, two = tmp_path / "1.sqlite", tmp_path / "2.sqlite"
        write_shard(one, TESTS, 1, 2)
        key = write_shard(two, TESTS, 2, 2, done=20, state=RunState.INTERRUPTED)
        old.write_bytes(two.read_bytes())
        go_on(two, key)
        for order in ((one, old, two), (one, two, old)):
            target = tmp_path / f"{order[1].stem}.sqlite.merged"
            assert actions(merged(target, *order)) == ["joined"]
            assert run_of(target).state is RunState.COMPLETE
            before = content_of_tables(target)
            assert actions(merged(target, one, old)) == ["unchanged"]
            assert content_of_tables(target) == before

    def test_is_replaced_by_a_complete_run_of_the_same_shard(self, tmp_path: Path) -> None:
        """A CI job that failed is started again on a new machine: same launch, new run."""
        target, whole = tmp_path / "target.sqlite", tmp_path / "whole.sqlite"
        one, failed, again = (tmp_path / f"{name}.sqlite" for name in ("1", "2", "2-again"))
        write_shard(one, TESTS, 1, 2, launch=CI)
        write_shard(failed, TESTS, 2, 2, launch=CI, done=10, state=None)
        write_shard(again, TESTS, 2, 2, launch=CI)
        merged(target, one, failed)
        assert actions(merged(target, again)) == ["updated"]
        write(whole, TESTS)
        assert contents(target) == contents(whole)
        assert run_of(target).state is RunState.COMPLETE
        before = content_of_tables(target)
        assert actions(merged(target, one, failed)) == ["unchanged"]
        assert content_of_tables(target) == before
        assert actions(merged(tmp_path / "direct.sqlite", one, again)) == ["joined"]
        assert run_of(tmp_path / "direct.sqlite").key == run_of(target).key

    def test_and_went_on_in_two_files_is_refused(self, tmp_path: Path) -> None:
        one, two, other = (tmp_path / f"{name}.sqlite" for name in "123")
        write_shard(one, TESTS, 1, 2)
        key = write_shard(two, TESTS, 2, 2, done=20, state=RunState.INTERRUPTED)
        other.write_bytes(two.read_bytes())
        go_on(two, key, done=25, state=RunState.INTERRUPTED)
        with Database.create_or_open(other) as database:
            writer = RunWriter(database)
            writer.resume(1)
            writer.add(Result(TESTS[-1].identity.test_id, Outcome.ERROR))
            writer.finish(RunState.INTERRUPTED, finished_at=f"{DAY}T05:00:00Z")
        error = refused(tmp_path / "target.sqlite", one, two, other)
        assert error.slug == "run-diverged"
        assert str(two) in str(error)
        assert str(other) in str(error)
        merged(tmp_path / "target.sqlite", one, two)
        assert refused(tmp_path / "target.sqlite", other).slug == "run-diverged"


class TestShardsThatDoNotGoTogether:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"torch_version": "2.12.0"}, "torch: 2.13.0 in {0}; 2.12.0 in {1}"),
            ({"backend_version": "9"}, "backend version: 2.13.3.1 in {0}; 9 in {1}"),
            ({"harness_version": "9"}, "harness: 0.1.0 in {0}; 9 in {1}"),
            ({"emulated": True}, "emulated: no in {0}; yes in {1}"),
            ({"seed": 1}, "seed: -7 in {0}; 1 in {1}"),
            ({"probe": ""}, "probe: observer in {0}; none in {1}"),
            ({"selection": "--ops sin"}, "selection: --ops add in {0}; --ops sin in {1}"),
            ({"split": "0123456789abcdef"}, "split by: count in {0}; 01234567 in {1}"),
        ],
    )
    def test_are_refused_by_name(self, changes: dict[str, Any], words: str, tmp_path: Path) -> None:
        one, two = tmp_path / "1.sqlite", tmp_path / "2.sqlite"
        write_shard(one, TESTS, 1, 2)
        write_shard(two, TESTS, 2, 2, **changes)
        error = refused(tmp_path / "target.sqlite", one, two)
        assert error.slug == "mixed-plans"
        assert words.format(one, two) in str(error)

    def test_are_refused_when_their_plans_differ(self, tmp_path: Path) -> None:
        one, two, three = (tmp_path / f"{name}.sqlite" for name in "123")
        write_shard(one, TESTS, 1, 2)
        write_shard(two, TESTS[:-1], 2, 2)
        error = refused(tmp_path / "target.sqlite", one, two)
        assert error.slug == "mixed-plans"
        assert f"collected tests: 150 in {one}; 149 in {two} | plan: " in str(error)
        write_shard(three, TESTS, 3, 3)
        error = refused(tmp_path / "target.sqlite", one, three)
        assert f"number of shards: 2 in {one}; 3 in {three}" in str(error)

    def test_are_refused_when_one_was_run_twice(self, tmp_path: Path) -> None:
        paths = [tmp_path / f"{number}.sqlite" for number in (1, 2, 3)]
        keys = [write_shard(path, TESTS, number, 2) for path, number in zip(paths, (1, 2, 2), strict=True)]
        error = refused(tmp_path / "target.sqlite", *paths)
        assert error.slug == "duplicate-shard"
        assert f"shard 2 of 2 (device neuron) was run twice: {keys[1][:8]} in {paths[1]} and {keys[2][:8]}" in str(
            error
        )

    def test_are_refused_when_the_target_has_another_complete_run_of_one(self, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        one, two, again = (tmp_path / f"{name}.sqlite" for name in "123")
        write_shard(one, TESTS, 1, 2, launch=CI)
        write_shard(two, TESTS, 2, 2, launch=CI)
        write_shard(again, TESTS, 2, 2, launch=CI)
        merged(target, one, two)
        error = refused(target, one, again)
        assert error.slug == "duplicate-shard"
        assert str(again) in str(error)
        assert str(target) in str(error)

    @pytest.mark.parametrize("in_target", [False, True])
    def test_are_refused_when_a_test_is_in_two(self, in_target: bool, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        one, two = tmp_path / "1.sqlite", tmp_path / "2.sqlite"
        write(one, TESTS[:80], scope=cut(TESTS, 1, 2), launch=CI)
        write(two, TESTS[79:149], scope=cut(TESTS, 2, 2), launch=CI)
        if in_target:
            merged(target, one, allow_missing=True)
            error = refused(target, two)
        else:
            error = refused(target, one, two)
            assert str(one) in str(error)
        assert error.slug == "shards-disagree"
        assert str(two) in str(error)
        assert TESTS[79].identity.test_id in str(error)

    def test_are_refused_when_they_do_not_add_up(self, tmp_path: Path) -> None:
        one, two = tmp_path / "1.sqlite", tmp_path / "2.sqlite"
        write(one, TESTS[:75], scope=cut(TESTS, 1, 2))
        write(two, TESTS[75:149], scope=cut(TESTS, 2, 2))
        error = refused(tmp_path / "target.sqlite", one, two)
        assert error.slug == "shards-disagree"
        assert "add up to 149 tests, but 150 were collected" in str(error)

    def test_are_refused_when_they_add_up_to_other_tests(self, tmp_path: Path) -> None:
        one, two = tmp_path / "1.sqlite", tmp_path / "2.sqlite"
        write(one, TESTS[:75], scope=cut(TESTS, 1, 2))
        write(two, [*TESTS[75:149], *plan(160)[155:156]], scope=cut(TESTS, 2, 2))
        error = refused(tmp_path / "target.sqlite", one, two)
        assert error.slug == "shards-disagree"

    def test_are_refused_when_a_run_made_of_them_is_of_another_plan(self, tmp_path: Path) -> None:
        target = tmp_path / "target.sqlite"
        paths = shards(tmp_path, 2)
        merged(target, paths[0], allow_missing=True)
        with Database.create_or_open(target) as database, database.transaction():
            database.connection.execute("UPDATE run SET seed = 5")
        assert refused(target, *paths).slug == "shards-disagree"


class TestAMergedRun:
    def test_is_copied_with_its_shards(self, tmp_path: Path) -> None:
        first, second = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
        paths = shards(tmp_path, 3)
        merged(first, *paths)
        assert actions(merged(second, first)) == ["copied"]
        assert run_of(second) == run_of(first)
        assert contents(second) == contents(first)
        assert rows_of_shards(second) == rows_of_shards(first)
        assert actions(merged(second, *paths)) == ["unchanged"]
        assert actions(merged(second, first, *paths)) == ["unchanged", "unchanged"]

    def test_that_has_grown_replaces_what_was_copied_of_it(self, tmp_path: Path) -> None:
        first, second, old = (tmp_path / f"{name}.sqlite" for name in ("first", "second", "old"))
        paths = shards(tmp_path, 3)
        merged(first, *paths[:2], allow_missing=True)
        old.write_bytes(first.read_bytes())
        merged(second, first)
        merged(first, paths[2])
        assert actions(merged(second, first)) == ["updated"]
        assert run_of(second) == run_of(first)
        assert contents(second) == contents(first)
        assert actions(merged(second, old)) == ["unchanged"]

    def test_with_other_shards_than_the_one_here_is_refused(self, tmp_path: Path) -> None:
        first, second = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
        paths = shards(tmp_path, 3)
        merged(first, *paths[:2], allow_missing=True)
        merged(second, *paths[1:], allow_missing=True)
        (done,) = merge(second, [first])
        assert done.error is not None
        assert done.error.slug == "run-diverged"

    def test_and_its_shards_may_be_in_one_source(self, tmp_path: Path) -> None:
        """A target that some shards were run into, and that is itself merged into another file."""
        source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
        paths = shards(tmp_path, 2, launch=CI)
        key = write_shard(source, TESTS, 1, 2, launch=CI, key="a" * 32)
        merged(source, paths[1])
        assert sorted(actions(merged(target, source))) == ["copied", "unchanged"]
        assert contents(target) == contents(source)
        assert key in {row[1] for row in rows_of_shards(target)}

    def test_is_not_changed_by_an_error_in_the_middle(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        target = tmp_path / "target.sqlite"
        paths = shards(tmp_path, 3)
        merged(target, *paths[:2], allow_missing=True)
        before = content_of_tables(target)
        from conformance.store import merge_join

        def fail(*arguments: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(merge_join, "_write_shards", fail)
        with pytest.raises(KeyboardInterrupt):
            merged(target, *paths)
        monkeypatch.undo()
        assert content_of_tables(target) == before
        merged(target, *paths)
        assert run_of(target).state is RunState.COMPLETE


def test_random_cuts_of_a_plan_always_make_up_the_whole(tmp_path: Path) -> None:
    whole = tmp_path / "whole.sqlite"
    write(whole, TESTS)
    expected = contents(whole)
    for seed in range(6):
        chance = random.Random(seed)
        count = chance.randint(2, 6)
        owner = [chance.randrange(count) for _ in TESTS]
        folder = tmp_path / str(seed)
        folder.mkdir()
        paths = []
        for number in range(count):
            mine = [test for test, other in zip(TESTS, owner, strict=True) if other == number]
            chance.shuffle(mine)
            paths.append(folder / f"{number}.sqlite")
            write(paths[-1], mine, scope=cut(TESTS, number + 1, count), launch=CI)
        chance.shuffle(paths)
        at = chance.randint(1, count)
        _merge_in_two_steps(folder / "target.sqlite", paths[:at], paths[at:])
        assert contents(folder / "target.sqlite") == expected


def _merge_in_two_steps(target: Path, first: Sequence[Path], second: Sequence[Path]) -> None:
    merged(target, *first, allow_missing=True)
    if second:
        merged(target, *second)


def test_the_key_depends_on_the_shards_alone(tmp_path: Path) -> None:
    paths = [tmp_path / "a.sqlite", tmp_path / "b.sqlite"]
    for number, path in enumerate(paths, start=1):
        write_shard(path, TESTS, number, 2, key=f"{3 - number}" * 32)
    merged(tmp_path / "t.sqlite", *paths)
    names = uuid.UUID("6c2d2b5e-6a1f-4d6b-9a55-1f6e0a5b7c40")
    assert run_of(tmp_path / "t.sqlite").key == uuid.uuid5(names, "1" * 32 + "\n" + "2" * 32).hex


def test_scope_of_one_shard_out_of_one_is_a_run(tmp_path: Path) -> None:
    source, target = tmp_path / "s.sqlite", tmp_path / "t.sqlite"
    scope = cut(TESTS, 1, 1)
    write(source, TESTS, scope=dataclasses.replace(scope, split="count"))
    assert isinstance(scope, PlanScope)
    assert actions(merged(target, source)) == ["joined"]
    assert contents(target) == contents(source)


def test_a_joined_run_keeps_the_skiplist_of_its_shards(tmp_path: Path) -> None:
    paths = [tmp_path / "a.sqlite", tmp_path / "b.sqlite"]
    for number, path in enumerate(paths, start=1):
        write_shard(path, TESTS, number, 2, skiplist="neuron/a.toml, neuron/b.toml", run_skipped=True)
    merged(tmp_path / "t.sqlite", *paths)
    joined = run_of(tmp_path / "t.sqlite")
    assert (joined.skiplist, joined.run_skipped) == ("neuron/a.toml, neuron/b.toml", True)
