"""Gather what became of every test from one run of the matrix to another, by the rules of conformance.analysis."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.compare import Change, change_of
from conformance.analysis.verdict import SEVERITY
from conformance.model.outcome import Outcome
from conformance.publish.matrix import OutcomeMatrix, outcome_of, shown_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.publish.matrix import TestKey

CHANGES: tuple[Change, ...] = tuple(change for change in Change if change is not Change.UNCHANGED)


@dataclass(frozen=True, slots=True)
class TestChange:
    """One test that changed; ``place`` is its index in the matrix, the codes are those of the marks of the pages."""

    __test__ = False

    place: int
    before: str
    after: str
    change: Change


@dataclass(frozen=True, slots=True)
class Step:
    """Everything that changed between two runs, by test id.

    ``counts`` has only changes that happened; ``added_failing`` is how many of the added tests fail or die.
    """

    before: int
    after: int
    changes: tuple[TestChange, ...]
    counts: Mapping[Change, int]
    added_failing: int


# Most tests are as they were: so many are compared at a time.
_STRETCH = 64


def step(matrix: OutcomeMatrix, before: int, after: int) -> Step:
    """Return what changed between two runs of the matrix."""
    old, new = matrix.rows[before], matrix.rows[after]
    found = []
    for place in _differing(matrix, before, after):
        change = change_of(matrix.seen(before, place), matrix.seen(after, place))
        if change is not Change.UNCHANGED:
            found.append(TestChange(place, shown_code(old.codes[place]), shown_code(new.codes[place]), change))
    counts = Counter(change.change for change in found)
    return Step(
        before,
        after,
        tuple(found),
        {change: counts[change] for change in CHANGES if counts[change]},
        sum(each.change is Change.ADDED and is_failure(each.after) for each in found),
    )


def _differing(matrix: OutcomeMatrix, before: int, after: int) -> list[int]:
    """Return the places of the tests of which the two runs did not see the same."""
    old, new = matrix.rows[before], matrix.rows[after]
    found = [
        place
        for begin in range(0, len(old.codes), _STRETCH)
        if old.codes[begin : begin + _STRETCH] != new.codes[begin : begin + _STRETCH]
        for place in range(begin, min(begin + _STRETCH, len(old.codes)))
        if old.codes[place] != new.codes[place]
    ]
    # The same byte may stand for different overloads.
    others = [
        place
        for place, number in new.fallbacks.items()
        if old.codes[place] == new.codes[place] and old.fallbacks.get(place) != number
    ]
    return sorted([*found, *others]) if others else found


def steps(matrix: OutcomeMatrix, run_ids: Sequence[int]) -> tuple[Step, ...]:
    """Return what changed from each run of a series to the next."""
    return tuple(step(matrix, run_ids[place - 1], run_ids[place]) for place in range(1, len(run_ids)))


def bad_since(matrix: OutcomeMatrix, run_ids: Sequence[int], place: int) -> int | None:
    """Return the first run since which a test has failed or died in every run of the series, None where it is fine."""
    since = None
    for run_id in reversed(run_ids):
        if not is_failure(outcome_of(matrix.rows[run_id].codes[place])):
            break
        since = run_id
    return since


_FAILURES = frozenset(outcome.value for outcome, severity in SEVERITY.items() if severity >= SEVERITY[Outcome.FAILED])


def is_failure(code: str) -> bool:
    """Tell whether an outcome fails a test, or takes its process down."""
    return code in _FAILURES


def subject_of(test: TestKey) -> tuple[str, str] | None:
    """Return the noun and name of what a test is about, None where it has neither operator nor module."""
    if test.op:
        return "operator", test.op
    if test.module:
        return "module", test.module
    return None
