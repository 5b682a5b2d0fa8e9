"""Show single tests: on the page of their operator or module, or, without one, on a page of their own."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from conformance.analysis.repeat import repeat_command
from conformance.model.outcome import Outcome
from conformance.publish.breakdowns import by_file
from conformance.publish.failures import clipped
from conformance.publish.marks import Mark, outcome_mark, outcome_rank
from conformance.publish.pages import TestRow, TestsPage
from conformance.publish.redaction import death_stack, published_environment, without_local_paths
from conformance.publish.slugs import anchor
from conformance.publish.wording import duration, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.publish.findings import Findings
    from conformance.store import ResultRow, RunRow

TESTS_SHOWN = 1000

_DEATHS = frozenset(outcome.value for outcome in Outcome if outcome.is_death)


def tests_page(findings: Findings, worst: Sequence[ResultRow]) -> TestsPage:
    """Return the page of the tests that have neither operator nor module; ``worst`` are those it shows."""
    return TestsPage(
        total=sum(sum(file.counts.values()) for file in findings.files),
        files=by_file(findings.files),
        tests=tuple(shown_test(row, findings.run) for row in worst),
    )


def worst_others(findings: Findings) -> tuple[ResultRow, ...]:
    """Return the tests that have neither operator nor module, the worst first, no more than a page holds."""
    return tuple(heapq.nsmallest(TESTS_SHOWN, findings.other_results() if findings.files else (), key=worst_first))


def result_mark(row: ResultRow) -> Mark:
    """Return how the outcome of a test looks."""
    return outcome_mark(row.outcome, fell_back=bool(row.fallback_ops))


def worst_first(row: ResultRow) -> tuple[int, str]:
    """Return the key that sorts tests by how bad their outcome is."""
    return outcome_rank(result_mark(row).code), row.test_id


def shown_test(row: ResultRow, run: RunRow) -> TestRow:
    """Return what is shown of one test."""
    inside = row.fallback_ops
    anywhere = row.test_fallback_ops
    return TestRow(
        anchor=anchor(row.test_id),
        test_id=row.test_id,
        mark=result_mark(row),
        duration=duration(row.duration_s) if row.attempt else "",
        samples=_samples(row),
        failing_sample=row.failing_sample,
        reason=without_local_paths(row.reason),
        message=clipped(without_local_paths(row.message)),
        stack=death_stack(row.details) if str(row.outcome) in _DEATHS else "",
        signature=row.signature if row.signature != row.message else "",
        overloads=inside,
        outside=None
        if anywhere is None
        else tuple(overload for overload in anywhere if overload not in (inside or ())),
        attempt=row.attempt,
        command=repeat_command(
            row.test_id, row.suite, run.device, command=run.command, environment=published_environment(run.environment)
        ),
    )


def _samples(row: ResultRow) -> str:
    if row.samples is None:
        return ""
    return f"{number(row.samples_passed or 0)} of {number(row.samples)}"
