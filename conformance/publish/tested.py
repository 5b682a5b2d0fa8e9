"""Show single tests: in full where there is something to say of them, in a line where their outcome says it all."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from conformance.analysis.repeat import repeat_command
from conformance.analysis.signature import signature
from conformance.model.outcome import Outcome
from conformance.publish.context import signature_anchor
from conformance.publish.failures import clipped
from conformance.publish.marks import FELL_BACK, Mark, outcome_mark, outcome_rank
from conformance.publish.pages import Link
from conformance.publish.pages_subjects import EarlierAttempt, PlainGroup, PlainRow, TestRow
from conformance.publish.redaction import death_stack, published_environment, without_local_paths
from conformance.publish.slugs import anchor, named_anchor
from conformance.publish.wording import duration, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.publish.context import Site
    from conformance.publish.findings import Attempt
    from conformance.store import ResultRow

# So many tests of a page are shown in full, and so many of one outcome in a line.
IN_FULL = 500
IN_A_LINE = 2000

_DEATHS = frozenset(outcome.value for outcome in Outcome if outcome.is_death)
_BAD = frozenset(outcome.value for outcome in Outcome if outcome.is_bad)
_PLAIN = frozenset(
    {
        Outcome.PASSED.value,
        FELL_BACK.code,
        Outcome.SKIPPED.value,
        Outcome.XFAILED.value,
        Outcome.NOT_RUN.value,
    }
)


def result_mark(row: ResultRow) -> Mark:
    """Return how the outcome of a test looks."""
    return outcome_mark(row.outcome, fell_back=bool(row.fallback_ops))


def worst_first(row: ResultRow) -> tuple[int, str]:
    """Return the key that sorts tests by how bad their outcome is."""
    return outcome_rank(result_mark(row).code), row.test_id


def split_tests(site: Site, rows: Iterable[ResultRow]) -> tuple[tuple[TestRow, ...], int, tuple[PlainGroup, ...]]:
    """Return the tests to show in full, how many more deserved it, and the others by outcome; ``rows`` worst first."""
    full: list[ResultRow] = []
    rest: defaultdict[str, list[tuple[Mark, ResultRow]]] = defaultdict(list)
    for row in rows:
        mark = result_mark(row)
        plain = mark.code in _PLAIN and row.test_id not in site.findings.attempts
        if plain or len(full) >= IN_FULL:
            rest[mark.code].append((mark, row))
        else:
            full.append(row)
    groups = tuple(
        PlainGroup(marked[0][0], tuple(_plain(row) for _, row in marked[:IN_A_LINE]), max(len(marked) - IN_A_LINE, 0))
        for marked in rest.values()
    )
    more = sum(group.count for group in groups if group.mark.code not in _PLAIN)
    return tuple(shown_test(site, row) for row in full), more, groups


def _plain(row: ResultRow) -> PlainRow:
    note = without_local_paths(row.reason) or ", ".join(row.fallback_ops or ())
    if not note and row.message:
        note = clipped(without_local_paths(row.message).partition("\n")[0])
    return PlainRow(
        anchor=anchor(row.test_id),
        test_id=row.test_id,
        duration=duration(row.duration_s) if row.attempt else "",
        samples=samples(row),
        note=note,
    )


def shown_test(site: Site, row: ResultRow) -> TestRow:
    """Return everything that is shown of one test."""
    run = site.run
    inside, anywhere = row.fallback_ops, row.test_fallback_ops
    return TestRow(
        anchor=anchor(row.test_id),
        test_id=row.test_id,
        mark=result_mark(row),
        duration=duration(row.duration_s) if row.attempt else "",
        samples=samples(row),
        failing_sample=row.failing_sample,
        tolerance=row.tolerance,
        reason=without_local_paths(row.reason),
        message=clipped(without_local_paths(row.message)),
        stack=death_stack(row.details) if str(row.outcome) in _DEATHS else "",
        signature=_signature(row),
        overloads=inside,
        outside=None
        if anywhere is None
        else tuple(overload for overload in anywhere if overload not in (inside or ())),
        attempt=row.attempt,
        attempts=_earlier(site.findings.attempts.get(row.test_id, ())),
        since=site.since(row.test_id) if str(row.outcome) in _BAD else "",
        entry=Link(f"{row.entry} ({row.expect})", f"skiplist.html#{named_anchor('e', row.entry)}")
        if row.entry
        else None,
        command=repeat_command(
            row.test_id, row.suite, run.device, command=run.command, environment=published_environment(run.environment)
        ),
    )


def _signature(row: ResultRow) -> Link | None:
    """Lead a failure to the others of its cause."""
    code = str(row.outcome)
    if code not in _BAD or code == Outcome.NOT_RUN.value:
        return None
    text = row.signature or signature(row.message)
    return Link("All failures of this cause", f"failures.html#{signature_anchor(text, code)}")


def _earlier(attempts: Sequence[Attempt]) -> tuple[EarlierAttempt, ...]:
    return tuple(
        EarlierAttempt(each.number, outcome_mark(each.outcome), clipped(without_local_paths(each.message)))
        for each in attempts
    )


def samples(row: ResultRow) -> str:
    """Say how many samples of a test passed; empty for tests that do not count them."""
    if row.samples is None:
        return ""
    return f"{number(row.samples_passed or 0)} of {number(row.samples)}"
