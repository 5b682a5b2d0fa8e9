"""Say what became of a test from one run to another, and gather it for all tests of two runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from conformance.model.outcome import Outcome
from conformance.publish.matrix import OutcomeMatrix, outcome_of, shown_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.publish.matrix import Seen, TestKey


class Change(str, Enum):
    """What became of one test from one run to another, the gravest first."""

    LOST = "lost"
    REGRESSED = "regressed"
    NEW_FALLBACK = "new_fallback"
    NO_LONGER_RUN = "no_longer_run"
    REMOVED = "removed"
    CHANGED = "changed"
    ADDED = "added"
    FOUND = "found"
    NOW_RUN = "now_run"
    IMPROVED = "improved"
    VANISHED_FALLBACK = "vanished_fallback"
    FIXED = "fixed"

    def __str__(self) -> str:
        return self.value

    @property
    def words(self) -> str:
        """Return the words that pages use for it."""
        return self.value.replace("_", " ")

    @property
    def definition(self) -> str:
        """Return one sentence that says when a test has changed in this way."""
        return _DEFINITIONS[self]


_DEFINITIONS = {
    Change.LOST: "It had a result before; now it was planned, and nothing came back.",
    Change.REGRESSED: "It fails where it had passed, or takes its process down where it had failed.",
    Change.NEW_FALLBACK: "It passes as before, but overloads of its operator run on the CPU that did not.",
    Change.NO_LONGER_RUN: "It ran before, and is skipped now.",
    Change.REMOVED: "It was planned before, and is not any more.",
    Change.CHANGED: "It ends in another way that is neither better nor worse, or is flaky in one of the two runs.",
    Change.ADDED: "It was not planned before.",
    Change.FOUND: "It was lost before, and has a result now.",
    Change.NOW_RUN: "It was skipped before, and runs now.",
    Change.IMPROVED: "It does better, but not well: it fails where it had crashed, or passes on the CPU.",
    Change.VANISHED_FALLBACK: "It passes as before, and fewer overloads of its operator run on the CPU.",
    Change.FIXED: "It failed or took its process down before, and passes now.",
}

# How bad an outcome is; a test that was skipped or lost did not show it.
_GRAVITY = {
    Outcome.PASSED: 0,
    Outcome.XFAILED: 0,
    Outcome.XPASSED: 0,
    Outcome.FLAKY: 1,
    Outcome.FAILED: 2,
    Outcome.ERROR: 2,
    Outcome.CRASHED: 3,
    Outcome.TIMED_OUT: 3,
    Outcome.OUT_OF_MEMORY: 3,
}
_FAILS = 2


def change_of(before: Seen | None, after: Seen | None) -> Change | None:
    """Return what became of a test, None where nothing did; a run that did not plan it is None."""
    if before == after:
        return None
    if before is None:
        return Change.ADDED
    if after is None:
        return Change.REMOVED
    for silent, falls_silent, speaks in (
        (Outcome.NOT_RUN, Change.LOST, Change.FOUND),
        (Outcome.SKIPPED, Change.NO_LONGER_RUN, Change.NOW_RUN),
    ):
        if before[0] is silent or after[0] is silent:
            if before[0] is after[0]:
                return None
            return falls_silent if after[0] is silent else speaks
    return _of_results(before, after)


def _of_results(before: Seen, after: Seen) -> Change | None:
    was, now = _GRAVITY[before[0]], _GRAVITY[after[0]]
    if now > was:
        return Change.REGRESSED if now >= _FAILS else Change.CHANGED
    if now < was and was >= _FAILS:
        return Change.IMPROVED if now or after[1] else Change.FIXED
    if now == 0 and before[1] is not None and after[1] is not None:
        if after[1] - before[1]:
            return Change.NEW_FALLBACK
        if was == 0 and before[1] - after[1]:
            return Change.VANISHED_FALLBACK
    return None if before[0] is after[0] else Change.CHANGED


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
        if change is not None:
            found.append(TestChange(place, shown_code(old.codes[place]), shown_code(new.codes[place]), change))
    counts = Counter(change.change for change in found)
    return Step(
        before,
        after,
        tuple(found),
        {change: counts[change] for change in Change if counts[change]},
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


_FAILURES = frozenset(outcome.value for outcome, gravity in _GRAVITY.items() if gravity >= _FAILS)


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
