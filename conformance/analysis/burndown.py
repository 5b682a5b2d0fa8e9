"""The burn-down: how many tests are still listed, at each run and at each change of the lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from enum import Enum

from conformance.model.listed import ListedEntry
from conformance.skiplist.observed import Evidence


@dataclass(frozen=True, slots=True)
class Announcement:
    """A number that somebody published: a starting point to look back at, never a measurement of this harness."""

    device: str
    tests: int
    day: date
    source: str
    caveat: str


# What AWS said of TorchNeuron when its beta came out.
ANNOUNCED = (
    Announcement(
        device="neuron",
        tests=22_000,
        day=date(2026, 10, 20),
        source="press reports of 19 and 20 October 2026",
        caveat="neither the unit nor the denominator was published",
    ),
)


def announced(device: str) -> Announcement | None:
    """Return what was published about a device, if anything was."""
    return next((one for one in ANNOUNCED if one.device == device), None)


class Kind(str, Enum):
    """What a point of the curve stands for."""

    RUN = "run"
    LIST = "list"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Movement:
    """How the listed tests changed from one point to the next.

    ``new`` are listed now and were not. Those that no longer are have been ``resolved``, if they pass now, or
    ``dropped``, if they do not or were not run, or are ``gone``: no longer among the planned tests. At a change of a
    list nobody has run them, so that all of these count as dropped.
    """

    new: int
    resolved: int
    dropped: int
    gone: int


@dataclass(frozen=True, slots=True)
class Point:
    """The listed tests at one moment.

    ``when`` is UTC in ISO 8601; ``name`` is the run's number or the commit, ``about`` what changed in it besides.
    ``without_reason`` are those whose entry has an empty reason. ``movement`` is None at the first point.
    """

    kind: Kind
    when: str
    name: str
    about: str
    listed: int
    entries: int
    without_reason: int
    movement: Movement | None

    @property
    def day(self) -> date:
        """Return the day in UTC."""
        return date.fromisoformat(self.when[:10])


@dataclass(frozen=True, slots=True)
class Age:
    """How long the listed tests have been listed, in days; None where no entry says when it was added."""

    median: int | None
    oldest: int | None
    oldest_entry: str
    unknown: int


@dataclass(frozen=True, slots=True)
class Part:
    """The listed tests that share a key, at the first point and at the last."""

    key: str
    first: int
    last: int


def movement(
    before: AbstractSet[int], after: AbstractSet[int], *, planned: AbstractSet[int], passed: AbstractSet[int]
) -> Movement:
    """Return how the listed tests changed; ``planned`` and ``passed`` are those of the later run among the others."""
    left = before - after
    there = left & planned
    resolved = there & passed
    return Movement(len(after - before), len(resolved), len(there) - len(resolved), len(left) - len(there))


def age_of(listed: Iterable[tuple[ListedEntry, int]], today: date) -> Age:
    """Return the age of listed tests, given their entries with the number of tests of each."""
    ages: list[tuple[int, int]] = []
    oldest: tuple[int, str] | None = None
    unknown = 0
    for entry, tests in listed:
        if not tests:
            continue
        try:
            days = (today - date.fromisoformat(entry.added)).days
        except ValueError:
            unknown += tests
            continue
        ages.append((days, tests))
        if oldest is None or days > oldest[0]:
            oldest = (days, entry.entry_id)
    return Age(_median(ages), oldest[0] if oldest else None, oldest[1] if oldest else "", unknown)


def _median(weighted: Sequence[tuple[int, int]]) -> int | None:
    """Return the lower median of values with the number of times that each occurs."""
    half = sum(times for _, times in weighted) / 2
    passed = 0
    for value, times in sorted(weighted):
        passed += times
        if passed >= half:
            return value
    return None


def parts(first: Mapping[str, int], last: Mapping[str, int]) -> tuple[Part, ...]:
    """Return the parts of the listed tests, the largest now first; a part that is empty now is still there."""
    found = [Part(key, first.get(key, 0), last.get(key, 0)) for key in first.keys() | last.keys()]
    return tuple(sorted(found, key=lambda part: (-part.last, -part.first, part.key)))


def without_reason(entries: Iterable[tuple[ListedEntry, int]]) -> int:
    """Return how many tests are listed without a word on why."""
    return sum(tests for entry, tests in entries if not entry.reason.strip())


def evidence_counts(found: Collection[Evidence]) -> dict[Evidence, int]:
    """Return how many listed tests show what; every kind of evidence is a key."""
    counts = Counter(found)
    return {kind: counts[kind] for kind in Evidence}
