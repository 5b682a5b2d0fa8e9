"""Hold the outcomes of several runs, one byte a test, and work out what they say about operators."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from conformance.analysis.status import operator_status
from conformance.model.compilation import compile_mode
from conformance.model.outcome import Outcome
from conformance.publish.marks import FELL_BACK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.model.operator import OperatorStatus

# The byte of an outcome is its place here, with what was seen of the CPU on top; 0 says that no such test was planned.
CODES: tuple[str, ...] = ("", *(outcome.value for outcome in Outcome))
_PLACES: Mapping[str, int] = {code: place for place, code in enumerate(CODES)}

ABSENT = 0
_SIGHT = 16


class Sight(IntEnum):
    """What was seen of the operator under test."""

    NOT_ON_CPU = 0
    ON_CPU = 1
    UNSEEN = 2


@dataclass(frozen=True, slots=True)
class TestKey:
    """What identifies one test in every run."""

    __test__ = False

    test_id: str
    suite: str
    file: str
    template: str
    op: str | None
    module: str | None
    dtype: str | None


Seen = tuple[Outcome, "frozenset[str] | None"]
"""How a test ended, and which overloads of its operator ran on the CPU; None where nobody looked."""


@dataclass(frozen=True, slots=True)
class RunOutcomes:
    """What one run saw: a byte a test, and by the test's place the set of overloads on the CPU and the entry."""

    codes: bytes
    fallbacks: Mapping[int, int] = field(default_factory=dict)
    entries: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutcomeMatrix:
    """The last outcome of every test in several runs.

    ``tests`` are sorted by id; ``rows`` has each run by its number. ``operators`` and ``modules`` have the name of that
    whose status each test counts for, None where it is something else or compiled. ``sets`` are the sets of overloads
    by their numbers.
    """

    tests: tuple[TestKey, ...]
    rows: Mapping[int, RunOutcomes]
    sets: Mapping[int, frozenset[str]]
    operators: tuple[str | None, ...]
    modules: tuple[str | None, ...]

    @classmethod
    def of(
        cls, tests: Sequence[TestKey], rows: Mapping[int, RunOutcomes], sets: Mapping[int, frozenset[str]]
    ) -> OutcomeMatrix:
        """Return the matrix of these tests."""
        eager = [compile_mode(test.suite, test.template) is None for test in tests]
        operators = tuple(test.op if counts else None for test, counts in zip(tests, eager, strict=True))
        modules = tuple(test.module if counts else None for test, counts in zip(tests, eager, strict=True))
        return cls(tuple(tests), rows, sets, operators, modules)

    def seen(self, run_id: int, place: int) -> Seen | None:
        """Return what a run saw of a test, None where it did not plan it."""
        row = self.rows[run_id]
        byte = row.codes[place]
        if byte == ABSENT:
            return None
        sight = Sight(byte // _SIGHT)
        overloads = self.sets.get(row.fallbacks.get(place, 0), frozenset())
        return Outcome(CODES[byte % _SIGHT]), None if sight is Sight.UNSEEN else overloads


def byte_of(outcome: str, sight: Sight) -> int:
    """Return the byte of an outcome."""
    return _PLACES[outcome] + _SIGHT * sight


def outcome_of(byte: int) -> str:
    """Return the outcome of a byte as it is stored, empty where the test was not planned."""
    return CODES[byte % _SIGHT]


def shown_code(byte: int) -> str:
    """Return the code of the mark that a byte has on the pages: a pass that needed the CPU has one of its own."""
    code = CODES[byte % _SIGHT]
    return FELL_BACK.code if code == Outcome.PASSED.value and on_cpu(byte) else code


def on_cpu(byte: int) -> bool:
    """Tell whether the operator under test was seen on the CPU."""
    return byte // _SIGHT == Sight.ON_CPU


_COUNTED_AS = {
    Outcome.PASSED.value: "passed",
    Outcome.XPASSED.value: "passed",
    Outcome.FAILED.value: "failed",
    Outcome.ERROR.value: "failed",
    Outcome.SKIPPED.value: "skipped",
    Outcome.XFAILED.value: "xfailed",
    Outcome.CRASHED.value: "crashed",
    Outcome.TIMED_OUT.value: "crashed",
    Outcome.OUT_OF_MEMORY.value: "crashed",
    Outcome.FLAKY.value: "flaky",
    Outcome.NOT_RUN.value: "not_run",
}


def subject_statuses(matrix: OutcomeMatrix, run_id: int, noun: str) -> dict[str, OperatorStatus]:
    """Return the status of every operator or module that a run planned a test of, over all its tests in eager mode."""
    codes = matrix.rows[run_id].codes
    names = matrix.operators if noun == "operator" else matrix.modules
    # A byte that is not 0 says that the test was planned.
    counts = Counter(itertools.compress(zip(names, codes, strict=True), codes))
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (name, byte), tests in counts.items():
        if name is None:
            continue
        found[name][_COUNTED_AS[outcome_of(byte)]] += tests
        if on_cpu(byte):
            found[name]["fallback"] += tests
    return {name: operator_status(**counted) for name, counted in found.items()}
