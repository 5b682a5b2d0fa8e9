"""Compare two runs operator by operator: whose status changed, and through which tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conformance.analysis.compare import Change, TestChange
from conformance.analysis.status import operator_status
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome

# How many tests of one operator ended how, and with a fallback inside the window or not.
Ends = Mapping[tuple[Outcome, bool], int]

# The better a status, the further behind; skipped and untested are neither better nor worse than any.
_RANK = {
    status: place
    for place, status in enumerate(
        (
            OperatorStatus.CRASHING,
            OperatorStatus.FAILING,
            OperatorStatus.PARTIAL,
            OperatorStatus.FALLBACK,
            OperatorStatus.NATIVE,
        )
    )
}


@dataclass(frozen=True, slots=True)
class OperatorChange:
    """One operator of which a test or the status changed; a status is None where the run has no test of it.

    ``counts`` are its tests by change, those that did not change left out.
    """

    op: str
    before: OperatorStatus | None
    after: OperatorStatus | None
    counts: Mapping[Change, int]

    @property
    def status_changed(self) -> bool:
        """Tell whether the operator has another status now."""
        return self.before is not self.after

    @property
    def direction(self) -> int:
        """Return 1 where the status got better, -1 where it got worse, 0 where it cannot be said."""
        if self.before not in _RANK or self.after not in _RANK:
            return 0
        return (_RANK[self.after] > _RANK[self.before]) - (_RANK[self.after] < _RANK[self.before])


def operator_changes(
    before: Mapping[str, Ends], after: Mapping[str, Ends], changes: Iterable[TestChange], operator_of: Mapping[str, str]
) -> tuple[OperatorChange, ...]:
    """Return the operators that changed: whose status got worse first, then those with most tests that did.

    ``before`` and ``after`` have the ends of all tests of each operator, ``operator_of`` names the operator of each
    changed test that has one.
    """
    counts: dict[str, dict[Change, int]] = {}
    for one in changes:
        op = operator_of.get(one.test_id)
        if op is not None:
            by_change = counts.setdefault(op, {})
            by_change[one.change] = by_change.get(one.change, 0) + 1
    found = []
    for op in before.keys() | after.keys():
        old, new = (status_of(ends[op]) if op in ends else None for ends in (before, after))
        change = OperatorChange(op, old, new, counts.get(op, {}))
        if change.status_changed or change.counts:
            found.append(change)
    return tuple(sorted(found, key=_order))


def _order(one: OperatorChange) -> tuple[int, bool, int, str]:
    worse = sum(tests for change, tests in one.counts.items() if change.is_worse)
    return one.direction, not one.status_changed, -worse, one.op


def status_of(ends: Ends) -> OperatorStatus:
    """Return the status that tests with these ends make of an operator."""

    def tests(*outcomes: Outcome) -> int:
        return sum(count for (outcome, _), count in ends.items() if outcome in outcomes)

    return operator_status(
        passed=tests(Outcome.PASSED, Outcome.XPASSED),
        failed=tests(Outcome.FAILED, Outcome.ERROR),
        skipped=tests(Outcome.SKIPPED),
        xfailed=tests(Outcome.XFAILED),
        crashed=tests(Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY),
        not_run=tests(Outcome.NOT_RUN),
        flaky=tests(Outcome.FLAKY),
        fallback=sum(count for (_, fell_back), count in ends.items() if fell_back),
    )
