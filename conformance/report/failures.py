"""Failures of one cause, shown by one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.analysis.repeat import repeat_command
from conformance.model.outcome import Outcome
from conformance.report.stack import innermost_frames, raising_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.store import ResultRow, RunRow

FAILURES = (
    Outcome.FAILED,
    Outcome.ERROR,
    Outcome.CRASHED,
    Outcome.TIMED_OUT,
    Outcome.OUT_OF_MEMORY,
)


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """The failures that share one signature, with the first of them by test id.

    ``signature`` is empty where the failures left no text; such failures are grouped by their outcome.
    ``sample`` names the sample input that failed, and is empty where the test counts none. ``frames`` are the innermost
    of the process that died, the latest call first.
    """

    signature: str
    tests: int
    counts: Mapping[Outcome, int]
    operators: int
    modules: int
    test_id: str
    outcome: Outcome
    message: str
    sample: str
    samples: int | None
    samples_passed: int | None
    frames: tuple[str, ...]
    repeat: str


@dataclass(slots=True)
class _Gathered:
    """A failure group while it grows."""

    first: ResultRow
    counts: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))
    operators: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)


def group_failures(rows: Iterable[ResultRow], run: RunRow) -> list[FailureGroup]:
    """Group failed results by signature, the largest group first."""
    gathered: dict[tuple[str, Outcome | None], _Gathered] = {}
    for row in rows:
        key = (row.signature, None) if row.signature else ("", row.outcome)
        group = gathered.setdefault(key, _Gathered(first=row))
        group.counts[row.outcome] += 1
        if row.op:
            group.operators.add(row.op)
        if row.module:
            group.modules.add(row.module)
    groups = [_group(group, run) for group in gathered.values()]
    return sorted(groups, key=lambda group: (-group.tests, group.signature, group.test_id))


def _group(group: _Gathered, run: RunRow) -> FailureGroup:
    first = group.first
    return FailureGroup(
        signature=first.signature,
        tests=sum(group.counts.values()),
        counts=group.counts,
        operators=len(group.operators),
        modules=len(group.modules),
        test_id=first.test_id,
        outcome=first.outcome,
        message=first.message,
        sample=first.failing_sample,
        samples=first.samples,
        samples_passed=first.samples_passed,
        frames=innermost_frames(first.details) if first.outcome.is_death else raising_frame(first.details),
        repeat=repeat_command(first.test_id, first.suite, run.device, command=run.command, environment=run.environment),
    )
