"""The order of tests, and the parts that shards get."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conformance.engine.schedule import Shard, order_of, parse_shard, part_of_plan
from conformance.errors import UsageError
from tests.conftest import rows
from tests.engine.running import results, run_pytest

IDS = [f"test_ops.py::TestCommon::test_{n}" for n in range(500)]


@pytest.mark.parametrize("count", [1, 2, 7, 500, 600])
@pytest.mark.parametrize("known", [0, 250, 500])
def test_every_test_is_in_exactly_one_shard(count: int, known: int) -> None:
    chance = random.Random(0)
    durations = {test_id: chance.expovariate(1) for test_id in IDS[:known]}
    parts = [part_of_plan(Shard(index, count), IDS, durations) for index in range(1, count + 1)]
    assert sorted(test_id for part in parts for test_id in part) == sorted(IDS)


def test_shards_are_expected_to_take_equally_long() -> None:
    chance = random.Random(1)
    durations = {test_id: chance.expovariate(0.5) for test_id in IDS}
    loads = [sum(durations[each] for each in part_of_plan(Shard(index, 4), IDS, durations)) for index in range(1, 5)]
    assert max(loads) - min(loads) < 0.01 * sum(loads)


def test_the_order_of_collection_does_not_change_a_shard() -> None:
    shuffled = random.Random(2).sample(IDS, len(IDS))
    assert part_of_plan(Shard(2, 3), IDS, {}) == part_of_plan(Shard(2, 3), shuffled, {})


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "-1/2", "1/0", "a/b", "1/2/3", "1.0/2"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_shard(text)
    assert caught.value.slug == "bad-shard"


def test_a_shard_is_read() -> None:
    assert parse_shard(" 2 / 8 ") == Shard(2, 8)


def test_without_durations_the_order_stays() -> None:
    assert order_of([0.0] * 5, [None] * 5, workers=2) == [0, 1, 2, 3, 4]


def test_the_longest_come_first_and_the_rest_stays() -> None:
    assert order_of([0, 3, 0, 9, 0, 5], [None] * 6, workers=2) == [3, 5, 1, 0, 2, 4]


def test_one_worker_has_no_end_to_hold_up() -> None:
    assert order_of([0, 3, 0, 9], [None] * 4, workers=1) == [0, 1, 2, 3]


def test_tests_that_share_a_dear_setup_stay_together() -> None:
    groups = [None, "a", "a", "b", "b", None]
    assert order_of([0, 0, 9, 3, 0, 5], groups, workers=2) == [1, 2, 5, 3, 4, 0]


def test_short_tests_are_not_moved_about() -> None:
    assert order_of([0.6, 0.9, 0.7], [None] * 3, workers=2) == [0, 1, 2]


SLOW = """
import time, pytest
@pytest.mark.parametrize("n", range(12))
def test_it(n): time.sleep(1.2 if n == 11 else 0.05)
"""


def test_an_earlier_run_tells_which_test_to_begin_with(tmp_path: Path) -> None:
    for _ in range(2):
        run_pytest(tmp_path, "--conformance-workers", "2", "-v", test_it=SLOW)
    order = [
        [name for (name,) in rows(tmp_path / "out.sqlite", f"select test_id from test_results where run_id = {run}")]
        for run in (1, 2)
    ]
    assert order[0] == order[1]  # the plan keeps the order of collection
    done = run_pytest(tmp_path, "--conformance-workers", "1", "-v")
    assert done.stdout.index("[0]") < done.stdout.index("[11]")
    done = run_pytest(tmp_path, "--conformance-workers", "2", "-v")
    finished = [line for line in done.stdout.splitlines() if "PASSED" in line]
    assert "[11]" not in finished[-1] or "[11]" in finished[-2]  # it began first, and no other waited for it


def test_shards_by_the_durations_of_a_whole_run_say_so(tmp_path: Path) -> None:
    run_pytest(tmp_path, test_it=SLOW)
    ((key,),) = rows(tmp_path / "out.sqlite", "select key from run")
    found: list[list[str]] = []
    for index in (1, 2):
        run_pytest(tmp_path, "--conformance-shard", f"{index}/2", environment={"CONFORMANCE_LAUNCH": "night 7"})
        found.append([str(row[0]) for row in results(tmp_path)])
    assert sorted(found[0] + found[1]) == sorted(f"test_it.py::test_it[{n}]" for n in range(12))
    assert sorted(map(len, found)) == [1, 11]  # the long test alone, as it takes longer than all others
    assert rows(
        tmp_path / "out.sqlite",
        "select shard, shards, split, launch, collected, planned, plan_digest = (select plan_digest from run)"
        " from run where shard is not null order by shard",
    ) == [
        (1, 2, key, "CONFORMANCE_LAUNCH=night 7", 12, len(found[0]), 1),
        (2, 2, key, "CONFORMANCE_LAUNCH=night 7", 12, len(found[1]), 1),
    ]


@pytest.mark.parametrize("engine", [(), ("-n", "2"), ("--conformance-workers", "2")])
def test_a_file_that_cannot_be_collected_is_in_one_shard(tmp_path: Path, engine: tuple[str, ...]) -> None:
    (tmp_path / "test_bad.py").write_text("import nothing_of_this_name\n")
    found: list[str] = []
    for index in (1, 2, 3):
        options = (*engine, "--continue-on-collection-errors", "--conformance-shard", f"{index}/3")
        run_pytest(tmp_path, *options, test_it=SLOW)
        found += [str(row[0]) for row in results(tmp_path)]
    assert sorted(found) == sorted(["test_bad.py::(collection)", *(f"test_it.py::test_it[{n}]" for n in range(12))])
