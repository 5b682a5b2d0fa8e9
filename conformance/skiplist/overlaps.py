"""Find the tests that more than one entry matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.model.identity import Identity
from conformance.skiplist.entry import ANY_FILE, Entry
from conformance.skiplist.matching import Candidates, MatchedBy, MatchedEntry


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two entries that match the same tests: how many, the first of them, and which entry counts for them.

    ``same_strength`` is True where only the order of the two decides.
    """

    winner: Entry
    loser: Entry
    tests: int
    example: str
    same_strength: bool


@dataclass(frozen=True, slots=True)
class Overlaps:
    """The overlaps of a list, and the entries that count for none of the tests that they match, with their number."""

    pairs: tuple[Overlap, ...]
    shadowed: tuple[tuple[Entry, int], ...]


def overlaps(entries: Sequence[Entry], tests: Sequence[Identity] | None) -> Overlaps:
    """Return the overlaps of active entries over the tests of a run.

    Without tests only exact ids are compared, and only between entries with the same conditions: what is for
    different versions or devices need not meet.
    """
    if tests is None:
        return Overlaps(tuple(_counted(_of_ids(entries))), ())
    candidates = Candidates(entries)
    matched_by = [(test.test_id, found) for test in tests if (found := candidates.of(test))]
    counting: set[str] = {found[0].entry.id for _, found in matched_by}
    lost: dict[str, int] = {}
    for _, found in matched_by:
        for loser in found[1:]:
            lost[loser.entry.id] = lost.get(loser.entry.id, 0) + 1
    shadowed = tuple((entry, lost[entry.id]) for entry in entries if entry.id in lost and entry.id not in counting)
    meetings = ((test, found[0], loser) for test, found in matched_by for loser in found[1:])
    return Overlaps(tuple(_counted(meetings)), shadowed)


def _counted(meetings: Iterator[tuple[str, MatchedEntry, MatchedEntry]]) -> Iterator[Overlap]:
    counts: dict[tuple[str, str, bool], int] = {}
    first: dict[tuple[str, str, bool], tuple[str, Entry, Entry]] = {}
    for test, winner, loser in meetings:
        key = (winner.entry.id, loser.entry.id, _strength(winner) == _strength(loser))
        counts[key] = counts.get(key, 0) + 1
        first.setdefault(key, (test, winner.entry, loser.entry))
    for key, count in counts.items():
        test, winning, losing = first[key]
        yield Overlap(winning, losing, count, test, key[2])


def _strength(matched: MatchedEntry) -> tuple[int, int]:
    fields = len(matched.entry.match.fields) if matched.by is MatchedBy.PATTERNS else 0
    return matched.by, fields


def _of_ids(entries: Sequence[Entry]) -> Iterator[tuple[str, MatchedEntry, MatchedEntry]]:
    """Yield the tests that two entries name, with the stronger one first."""
    by_name: dict[str, dict[str, list[MatchedEntry]]] = {}
    for entry in reversed(entries):
        for test in dict.fromkeys(entry.tests):
            by = MatchedBy.TEST_IN_ANY_FILE if test.startswith(ANY_FILE) else MatchedBy.TEST
            file, _, name = test.partition("::")
            by_name.setdefault(name, {}).setdefault(file, []).append(MatchedEntry(entry, by))
    for name, by_file in by_name.items():
        any_file = by_file.get("*", [])
        for file, in_file in by_file.items():
            found = in_file if file == "*" else [*in_file, *any_file]
            for loser in found[1:]:
                if loser.entry.id != found[0].entry.id and _conditions(loser.entry) == _conditions(found[0].entry):
                    yield f"{file}::{name}", found[0], loser


def _conditions(entry: Entry) -> tuple[object, ...]:
    return entry.torch, entry.device_version, entry.device_name, entry.emulated
