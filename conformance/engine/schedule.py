"""Decide in which order tests are handed out, and which of them a shard undertakes. Pure functions."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conformance.errors import UsageError


@dataclass(frozen=True, slots=True)
class Shard:
    """Part ``index``, from 1, of ``count``."""

    index: int
    count: int


def parse_shard(text: str) -> Shard:
    """Read ``I/N``, such as ``2/8``; raises ``UsageError`` for anything else."""
    found = re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text)
    shard = Shard(int(found[1]), int(found[2])) if found else Shard(0, 0)
    if not 1 <= shard.index <= shard.count:
        raise UsageError("bad-shard", f"the shard is {text!r}; give I/N with I from 1 to N, such as 2/8")
    return shard


def part_of_plan(shard: Shard, test_ids: Iterable[str], durations: Mapping[str, float]) -> set[str]:
    """Return the tests of one shard: each test is in exactly one, and all shards are expected to take equally long.

    ``durations`` are in seconds; a test that is not among them is taken to be an average one. The same ids and
    durations give the same parts on every machine: the longest test goes first, to the part with the least to do.
    """
    test_ids = sorted(test_ids)
    known = [durations[test_id] for test_id in test_ids if test_id in durations]
    usual = sum(known) / len(known) if known else 1.0
    # A part must not get all the tests that take next to nothing: each costs something to run at all.
    floor = usual * 0.05
    expected = {test_id: max(durations.get(test_id, usual), floor) for test_id in test_ids}
    parts = [(0.0, index) for index in range(1, shard.count + 1)]
    mine = set()
    for test_id in sorted(test_ids, key=lambda each: (-expected[each], each)):
        load, index = heapq.heappop(parts)
        if index == shard.index:
            mine.add(test_id)
        heapq.heappush(parts, (load + expected[test_id], index))
    return mine


def order_of(expected: Sequence[float], groups: Sequence[object], *, workers: int) -> list[int]:
    """Return the order in which to hand out tests, as indexes: those that may hold up the end of the run come first.

    ``expected[i]`` is how many seconds test i is expected to take, 0 where nothing is known. ``groups[i]`` is None for
    a test that may be run by itself; tests that share a setup which is dear have the same group and stay together, in
    the order they were collected in, and come first if the longest of them does.
    """
    total = sum(expected)
    if workers < 2 or not total:
        return list(range(len(expected)))
    # What takes less than this fits in anywhere near the end.
    long = max(1.0, total / workers / 20)
    first = [index for index, seconds in enumerate(expected) if seconds >= long]
    leading: dict[object, float] = {}
    for index in first:
        key = index if groups[index] is None else groups[index]
        leading[key] = max(leading.get(key, 0.0), expected[index])
    if not leading:
        return list(range(len(expected)))

    def rank(index: int) -> float:
        return -leading.get(index if groups[index] is None else groups[index], 0.0)

    # Sorting is stable: what has the same rank, all that is short above all, stays in the order it was collected in.
    return sorted(range(len(expected)), key=rank)
