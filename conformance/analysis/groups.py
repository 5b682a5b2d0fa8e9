"""Group failures by their signature: many tests, few causes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.analysis.signature import signature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.model.outcome import Outcome
    from conformance.store.rows import ResultRow


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """The failures that share a signature and an outcome.

    ``example`` is the test id, and ``message`` the message, of the first of them by test id; ``operators`` and
    ``modules`` are those under test, sorted. ``signature`` is "" for failures that left no message.
    """

    signature: str
    outcome: Outcome
    tests: int
    example: str
    message: str
    operators: tuple[str, ...]
    modules: tuple[str, ...]


@dataclass(slots=True)
class _Growing:
    example: str
    message: str
    tests: int = 0
    operators: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)


def failure_groups(results: Iterable[ResultRow]) -> list[FailureGroup]:
    """Group the bad ones among the results, the largest group first, then by signature and outcome.

    A result without a stored signature is grouped by the one of its message.
    """
    groups: dict[tuple[str, Outcome], _Growing] = {}
    for row in results:
        if not row.outcome.is_bad:
            continue
        key = (row.signature or signature(row.message), row.outcome)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Growing(row.test_id, row.message)
        if row.test_id < group.example:
            group.example, group.message = row.test_id, row.message
        group.tests += 1
        if row.op is not None:
            group.operators.add(row.op)
        if row.module is not None:
            group.modules.add(row.module)
    return [
        FailureGroup(
            signature=text,
            outcome=outcome,
            tests=group.tests,
            example=group.example,
            message=group.message,
            operators=tuple(sorted(group.operators)),
            modules=tuple(sorted(group.modules)),
        )
        for (text, outcome), group in sorted(groups.items(), key=lambda item: (-item[1].tests, *item[0]))
    ]
