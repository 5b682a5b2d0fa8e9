"""Why tests were skipped: by the skiplist, or by the test itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from conformance.analysis.signature import signature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.store import SkipRow


class SkippedBy(str, Enum):
    """Who said that a test is not to run."""

    SKIPLIST = "skiplist"
    TEST = "test"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class SkipReason:
    """Skipped tests of one reason, from which numbers, shapes and paths are taken out; a list's begins with its entry.

    ``by`` is ``skiplist``, or ``test`` for what PyTorch says: a decorator of the test or its OpInfo, a dtype or device
    that it is not meant for, a slow test, SkipTest while it runs. ``test_id`` is one of them.
    """

    by: SkippedBy
    reason: str
    tests: int
    test_id: str


def group_skips(rows: Iterable[SkipRow]) -> tuple[SkipReason, ...]:
    """Group skipped tests by reason, those of most tests first."""
    found: dict[tuple[SkippedBy, str], SkipReason] = {}
    for row in rows:
        by = SkippedBy.SKIPLIST if row.entry else SkippedBy.TEST
        reason = signature(row.reason.removeprefix("skiplist entry ")) if row.entry else signature(row.reason)
        known = found.get((by, reason))
        found[by, reason] = SkipReason(
            by, reason, row.tests + (known.tests if known else 0), known.test_id if known else row.test_id
        )
    return tuple(sorted(found.values(), key=lambda group: (-group.tests, group.by.value, group.reason)))
