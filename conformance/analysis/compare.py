"""Compare two runs test by test: two days, two versions of torch, two devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from conformance.analysis.verdict import SEVERITY, Baseline
from conformance.model.outcome import Outcome


class Change(str, Enum):
    """What became of one test from the first run to the second, the worst first."""

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
    UNCHANGED = "unchanged"

    def __str__(self) -> str:
        return self.value

    @property
    def words(self) -> str:
        """Return the change as people read it, such as ``new fallback``."""
        return self.value.replace("_", " ")

    @property
    def definition(self) -> str:
        """Return one sentence that says when a test has changed in this way."""
        return _DEFINITIONS[self]

    @property
    def is_worse(self) -> bool:
        """Tell whether something got worse; a test that the second run has not is judged by the caller."""
        return self in _WORSE


_WORSE = frozenset({Change.LOST, Change.REGRESSED, Change.NEW_FALLBACK, Change.NO_LONGER_RUN})

_DEFINITIONS = {
    Change.LOST: "It had a result, and the second run planned it and has none.",
    Change.REGRESSED: "It fails where it passed, or crashes where it failed.",
    Change.NEW_FALLBACK: "It passes, as it did, and overloads of its operator run on the CPU that did not before.",
    Change.NO_LONGER_RUN: "It ran, and was skipped in the second run.",
    Change.REMOVED: "The second run did not plan it.",
    Change.CHANGED: "It ends in another way that is neither better nor worse, or is flaky in one of the two.",
    Change.ADDED: "The first run did not plan it.",
    Change.FOUND: "It was lost in the first run, and has a result now.",
    Change.NOW_RUN: "It was skipped, and ran in the second run.",
    Change.IMPROVED: "It does better, but not well: it fails where it crashed, or passes on the CPU where it failed.",
    Change.VANISHED_FALLBACK: "It passes, as it did, and fewer overloads of its operator run on the CPU.",
    Change.FIXED: "It failed or crashed, and passes.",
    Change.UNCHANGED: "It ends as it did, and falls back as it did.",
}

_FAILS = 2


@dataclass(frozen=True, slots=True)
class TestChange:
    """One test that changed: what each run saw of it, None where it was not planned."""

    test_id: str
    change: Change
    before: Baseline | None
    after: Baseline | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed between two runs.

    ``counts`` has every change as a key and adds up to the tests that either run planned. ``changes`` are those that
    changed in any way, the worst first, then by id. ``unobserved`` is how many tests pass in both runs while only one
    of them looked for fallbacks, so that nothing can be said of those.
    """

    counts: Mapping[Change, int]
    changes: tuple[TestChange, ...]
    unobserved: int

    @property
    def tests(self) -> int:
        """Return how many tests either run planned."""
        return sum(self.counts.values())


def change_of(before: Baseline | None, after: Baseline | None) -> Change:
    """Return what became of a test; None stands for a run that did not plan it.

    A test without a result is never taken for one that passed: it is lost, or was.
    """
    if before is None:
        return Change.UNCHANGED if after is None else Change.ADDED
    if after is None:
        return Change.REMOVED
    was, now = before[0], after[0]
    if Outcome.NOT_RUN in (was, now):
        if was is now:
            return Change.UNCHANGED
        return Change.LOST if now is Outcome.NOT_RUN else Change.FOUND
    if Outcome.SKIPPED in (was, now):
        if was is now:
            return Change.UNCHANGED
        return Change.NO_LONGER_RUN if now is Outcome.SKIPPED else Change.NOW_RUN
    return _of_ends(before, after)


def _of_ends(before: Baseline, after: Baseline) -> Change:
    """Return what became of a test that ran in both runs."""
    old, new = SEVERITY[before[0]], SEVERITY[after[0]]
    if old < new:
        return Change.REGRESSED if new >= _FAILS else Change.CHANGED
    if old >= _FAILS and old > new:
        return Change.IMPROVED if new or after[1] else Change.FIXED
    if not new:
        fallback = _of_fallbacks(before, after)
        if fallback is Change.NEW_FALLBACK or (not old and fallback is Change.VANISHED_FALLBACK):
            return fallback
    return Change.UNCHANGED if before[0] is after[0] else Change.CHANGED


def _of_fallbacks(before: Baseline, after: Baseline) -> Change:
    if before[1] is None or after[1] is None or before[1] == after[1]:
        return Change.UNCHANGED
    old, new = set(before[1]), set(after[1])
    if new - old:
        return Change.NEW_FALLBACK
    return Change.VANISHED_FALLBACK if old - new else Change.UNCHANGED


def compare(before: Mapping[str, Baseline], after: Mapping[str, Baseline]) -> Comparison:
    """Compare two runs: the outcome and the fallbacks of each planned test, by test id."""
    counts = dict.fromkeys(Change, 0)
    changes = []
    unobserved = 0
    for test_id, new in after.items():
        old = before.get(test_id)
        if old == new:
            counts[Change.UNCHANGED] += 1
            continue
        change = change_of(old, new)
        counts[change] += 1
        if change is not Change.UNCHANGED:
            changes.append(TestChange(test_id, change, old, new))
        if old is not None and (old[1] is None) != (new[1] is None):
            unobserved += not SEVERITY.get(old[0], _FAILS) and not SEVERITY.get(new[0], _FAILS)
    for test_id in before.keys() - after.keys():
        counts[Change.REMOVED] += 1
        changes.append(TestChange(test_id, Change.REMOVED, before[test_id], None))
    order = {change: place for place, change in enumerate(Change)}
    changes.sort(key=lambda one: (order[one.change], one.test_id))
    return Comparison(counts, tuple(changes), unobserved)
