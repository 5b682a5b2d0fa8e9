"""Find which planned tests a whole list holds, for many states of a list over one plan.

``Matcher`` answers test by test; a history asks the same of 150,000 tests for every state of a list. Here a set of
tests is one large number with a bit for each of them, made once for each value of a field and each entry: another state
of a list costs what changed in it. The rules are those of ``conformance.skiplist.matching``, which a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from conformance.skiplist.entry import ANY_FILE, Entry
from conformance.skiplist.patterns import any_met

# Tests of a plan as bits of a number, by their place in the plan.
Tests = int


# What entries look at of one planned test: its id, file, class, template, operator, module and dtype. There may be a
# hundred thousand of them, and a tuple costs least.
PlanRow = tuple[str, str, str, str, "str | None", "str | None", "str | None"]


class Held(NamedTuple):
    """An entry and the tests it counts for."""

    entry: Entry
    tests: Tests


_FIELDS: Mapping[str, Callable[[PlanRow], str | None]] = {
    "files": lambda row: row[1],
    "classes": lambda row: row[2] or None,
    "templates": lambda row: row[3],
    "ops": lambda row: row[4],
    "modules": lambda row: row[5],
    "dtypes": lambda row: row[6],
    "names": lambda row: name_of(row),
}


def name_of(row: PlanRow) -> str:
    """Return the method of a planned test, with operator and dtype filled in."""
    test_id, file, class_name = row[:3]
    return test_id[len(file) + 2 + (len(class_name) + 2 if class_name else 0) :]


class Plan:
    """The tests of one run, indexed by what entries look at."""

    def __init__(self, rows: Iterable[PlanRow]) -> None:
        self.rows = tuple(rows)
        self._places = {row[0]: place for place, row in enumerate(self.rows)}
        self._values: dict[str, dict[str, Tests]] = {}
        self._met: dict[tuple[str, tuple[str, ...]], Tests] = {}
        self._matched: dict[Entry, tuple[Tests, Tests, Tests]] = {}

    def held(self, entries: Sequence[Entry]) -> list[Held]:
        """Return the tests that each of the entries counts for, entries without any left out; no test twice."""
        matched = [self._tests_of(entry) for entry in entries]
        order = sorted(range(len(entries)), key=lambda place: (len(entries[place].match.fields), place), reverse=True)
        counting: dict[int, Tests] = {}
        taken: Tests = 0
        for way, places in ((0, range(len(entries) - 1, -1, -1)), (1, range(len(entries) - 1, -1, -1)), (2, order)):
            for place in places:
                mine = matched[place][way]
                if mine:  # most lists have no patterns, or nothing else: masks of nothing are not worth their price
                    mine &= ~taken
                    taken |= mine
                if mine:
                    counting[place] = counting.get(place, 0) | mine
        return [Held(entries[place], tests) for place, tests in sorted(counting.items())]

    def by(self, field: str, tests: Tests) -> dict[str, int]:
        """Return how many of the tests have each value of a field such as ``ops``; "" stands for those without one."""
        counts = {value: (mask & tests).bit_count() for value, mask in self._by_value(field).items()}
        found = {value: count for value, count in counts.items() if count}
        without = tests.bit_count() - sum(found.values())
        return found | ({"": without} if without else {})

    def _tests_of(self, entry: Entry) -> tuple[Tests, Tests, Tests]:
        """Return the tests that an entry matches by id, by id in any file, and by patterns."""
        found = self._matched.get(entry)
        if found is None:
            exact = [self._places[test] for test in entry.tests if test in self._places]
            anywhere = [
                place
                for test in entry.tests
                if test.startswith(ANY_FILE)
                for place in self._without_file.get(test[len(ANY_FILE) :], ())
            ]
            found = self._matched[entry] = (self._mask(exact), self._mask(anywhere), self._by_patterns(entry))
        return found

    def _by_patterns(self, entry: Entry) -> Tests:
        if not entry.match:
            return 0
        tests: Tests = -1
        for field, patterns in entry.match.fields:
            tests &= self._meeting(field, patterns)
        return tests

    def _meeting(self, field: str, patterns: tuple[str, ...]) -> Tests:
        found = self._met.get((field, patterns))
        if found is None:
            found = 0
            for value, mask in self._by_value(field).items():
                if any_met(patterns, value):
                    found |= mask
            self._met[field, patterns] = found
        return found

    def _by_value(self, field: str) -> dict[str, Tests]:
        if field not in self._values:
            value_of = _FIELDS[field]
            places: dict[str, list[int]] = {}
            for place, row in enumerate(self.rows):
                value = value_of(row)
                if value is not None:
                    places.setdefault(value, []).append(place)
            self._values[field] = {value: self._mask(found) for value, found in places.items()}
        return self._values[field]

    @cached_property
    def _without_file(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place, row in enumerate(self.rows):
            found.setdefault(row[0][len(row[1]) + 2 :], []).append(place)
        return found

    def _mask(self, places: Sequence[int]) -> Tests:
        if not places:
            return 0
        bits = bytearray((max(places) >> 3) + 1)
        for place in places:
            bits[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(bits, "little")
