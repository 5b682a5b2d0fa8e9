"""The operators and modules of a run by status, and for a narrow run by dtype too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.model.operator import OperatorStatus
from conformance.report.words import status_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.store import ModuleStatusRow, OperatorStatusRow

# So many operators and modules fit on a page one by one, where shares of the whole inventory say nothing.
NARROW = 10


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """How many operators (or modules) have each status; every status is named, and they add up to ``total``.

    ``declared`` is the size of the run's inventory. ``total`` is larger where tests name operators beyond it, and is no
    denominator for coverage where ``declared`` is 0: the run has no inventory then. ``planned`` is the number of those
    that the run has a test of.
    """

    total: int
    declared: int
    planned: int
    counts: Mapping[OperatorStatus, int]


@dataclass(frozen=True, slots=True)
class SubjectStatus:
    """One operator or module (``noun``) under test: its status over all tests, and its dtypes by theirs."""

    noun: str
    name: str
    status: OperatorStatus
    dtypes: Mapping[OperatorStatus, tuple[str, ...]]

    @property
    def tested(self) -> list[tuple[str, str]]:
        """Return each status but untested, in words, with the names of the dtypes that have it."""
        return [
            (status_word(status), ", ".join(names))
            for status, names in self.dtypes.items()
            if status is not OperatorStatus.UNTESTED
        ]

    @property
    def untested(self) -> int:
        """Return how many dtypes of the inventory have no result."""
        return len(self.dtypes.get(OperatorStatus.UNTESTED, ()))


def count_statuses(rows: Sequence[OperatorStatusRow] | Sequence[ModuleStatusRow], declared: int) -> StatusCounts:
    """Count the rows over all dtypes; an unknown status raises ConformanceError."""
    counts = dict.fromkeys(OperatorStatus, 0)
    planned = 0
    for row in rows:
        if row.dtype is None:
            status_word(row.status)
            counts[row.status] += 1
            planned += row.planned > 0
    return StatusCounts(total=sum(counts.values()), declared=declared, planned=planned, counts=counts)


def statuses_by_dtype(
    operators: Sequence[OperatorStatusRow], modules: Sequence[ModuleStatusRow]
) -> tuple[SubjectStatus, ...]:
    """Return the operators and modules that the run has tests of, by name; none of them where they are too many."""
    found = [*_subjects("operator", [(row.op, row) for row in operators])]
    found += _subjects("module", [(row.module, row) for row in modules])
    return tuple(found) if len(found) <= NARROW else ()


def _subjects(
    noun: str, rows: Sequence[tuple[str, OperatorStatusRow]] | Sequence[tuple[str, ModuleStatusRow]]
) -> list[SubjectStatus]:
    dtypes: dict[str, dict[OperatorStatus, tuple[str, ...]]] = {}
    for name, row in rows:
        if row.dtype is not None:
            by_status = dtypes.setdefault(name, {})
            by_status[row.status] = (*by_status.get(row.status, ()), row.dtype)
    return [
        SubjectStatus(noun, name, row.status, _in_order(dtypes.get(name, {})))
        for name, row in rows
        if row.dtype is None and row.planned
    ]


def _in_order(dtypes: Mapping[OperatorStatus, tuple[str, ...]]) -> dict[OperatorStatus, tuple[str, ...]]:
    return {status: dtypes[status] for status in OperatorStatus if status in dtypes}
