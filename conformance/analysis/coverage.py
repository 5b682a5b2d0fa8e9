"""The headline numbers: how many operators of the inventory have which status, never without the denominator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class HasStatus(Protocol):
    """A status of something, over all dtypes (``dtype`` None) or for one: rows of operators and of modules."""

    @property
    def dtype(self) -> str | None:
        """Return the dtype, or None for the status over all of them."""

    @property
    def status(self) -> OperatorStatus:
        """Return the status."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """So many out of so many; without a denominator there is no data, which is not 0 %."""

    numerator: int
    denominator: int

    @property
    def percent(self) -> float | None:
        """Return the percentage, or None when there is no data."""
        return 100 * self.numerator / self.denominator if self.denominator else None

    def __str__(self) -> str:
        percent = self.percent
        if percent is None:
            return "no data"
        # Rounding must not make "all" of what is not, nor "none" of what is some.
        shown = f"{percent:.1f}"
        if shown == "100.0" and self.numerator < self.denominator:
            shown = "99.9"
        if shown == "0.0" and self.numerator > 0:
            shown = "0.1"
        return f"{shown} % ({self.numerator:,} of {self.denominator:,})"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many subjects (operators, modules, or pairs of one and a dtype) have which status; every status is a key."""

    by_status: Mapping[OperatorStatus, int]

    @property
    def total(self) -> int:
        """Return all of them, tested or not: the denominator of the headline."""
        return sum(self.by_status.values())

    @property
    def untested(self) -> int:
        """Return those without a result."""
        return self.by_status[OperatorStatus.UNTESTED]

    @property
    def tested(self) -> Ratio:
        """Return those with any result, out of all."""
        return Ratio(self.total - self.untested, self.total)

    @property
    def native(self) -> Ratio:
        """Return those that work on the device itself, out of all."""
        return Ratio(self.by_status[OperatorStatus.NATIVE], self.total)

    @property
    def working(self) -> Ratio:
        """Return those that work (native or by falling back to the CPU), out of all, untested ones included."""
        return Ratio(self._working, self.total)

    @property
    def working_of_tested(self) -> Ratio:
        """Return those that work, out of those with any result."""
        return Ratio(self._working, self.total - self.untested)

    @property
    def native_of_tested(self) -> Ratio:
        """Return those that work on the device itself, out of those with any result."""
        return Ratio(self.by_status[OperatorStatus.NATIVE], self.total - self.untested)

    @property
    def _working(self) -> int:
        return self.by_status[OperatorStatus.NATIVE] + self.by_status[OperatorStatus.FALLBACK]


@dataclass(frozen=True, slots=True)
class OutcomeCoverage:
    """What became of the planned tests of a run; every outcome is a key."""

    by_outcome: Mapping[Outcome, int]

    @property
    def planned(self) -> int:
        """Return all planned tests."""
        return sum(self.by_outcome.values())

    @property
    def ran(self) -> Ratio:
        """Return the tests that said something about the device (not skipped, not lost), out of all planned."""
        silent = self.by_outcome[Outcome.SKIPPED] + self.by_outcome[Outcome.NOT_RUN]
        return Ratio(self.planned - silent, self.planned)

    @property
    def passed(self) -> Ratio:
        """Return the tests that passed, out of those that said something about the device."""
        return Ratio(self.by_outcome[Outcome.PASSED] + self.by_outcome[Outcome.XPASSED], self.ran.numerator)


def coverage(rows: Iterable[HasStatus]) -> Coverage:
    """Count the statuses over all dtypes, one for each operator or module."""
    return _count(row.status for row in rows if row.dtype is None)


def dtype_coverage(rows: Iterable[HasStatus]) -> Coverage:
    """Count the statuses of the pairs of an operator, or module, and a dtype."""
    return _count(row.status for row in rows if row.dtype is not None)


def coverage_by_dtype(rows: Iterable[HasStatus]) -> dict[str, Coverage]:
    """Count the statuses for each dtype, by its name."""
    rows = [row for row in rows if row.dtype is not None]
    dtypes = sorted({row.dtype for row in rows if row.dtype is not None})
    return {dtype: _count(row.status for row in rows if row.dtype == dtype) for dtype in dtypes}


def outcome_coverage(counts: Mapping[Outcome, int]) -> OutcomeCoverage:
    """Take the counts of a run (RunRow.counts) or of a part of one (CountRow.counts)."""
    return OutcomeCoverage({outcome: counts.get(outcome, 0) for outcome in Outcome})


def _count(statuses: Iterable[OperatorStatus]) -> Coverage:
    counts = dict.fromkeys(OperatorStatus, 0)
    for status in statuses:
        counts[status] += 1
    return Coverage(counts)
