"""What every export to another format starts from: each test with its verdict, as passed, failed or skipped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from conformance.analysis.verdict import Verdict, verdict
from conformance.model.outcome import Outcome
from conformance.report.words import outcome_word
from conformance.store import history, listed_entries, results

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.analysis.verdict import Baseline
    from conformance.model.listed import ListedEntry
    from conformance.report.verdicts import Earlier
    from conformance.store import Database, ResultRow, RunRow


class Status(str, Enum):
    """The three ends that other formats know."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"

    def __str__(self) -> str:
        return self.value


class By(str, Enum):
    """What decides on the status of a test: what was observed, or whether it was expected."""

    OUTCOME = "outcome"
    VERDICT = "verdict"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Export:
    """A run to be exported: against what its tests are judged, and what decides on their status."""

    db: Database
    run: RunRow
    entries: Mapping[str, ListedEntry]
    baseline: Mapping[str, Baseline] | None
    by: By
    strict: bool


@dataclass(frozen=True, slots=True)
class ExportedTest:
    """One test: its result, its verdict, its status, and for one that counts as skipped the reason."""

    row: ResultRow
    verdict: Verdict
    status: Status
    reason: str


def export_of(
    db: Database, run: RunRow, *, baseline: Earlier | None = None, by: By = By.OUTCOME, strict: bool = False
) -> Export:
    """Return what is needed to export a run of the database, held against its skiplist and a baseline."""
    return Export(
        db=db,
        run=run,
        entries={row.entry.entry_id: row.entry for row in listed_entries(db, run.id)},
        baseline=history.ends(baseline.db, baseline.run.id) if baseline is not None else None,
        by=by,
        strict=strict,
    )


def exported_tests(export: Export) -> Iterator[ExportedTest]:
    """Yield every planned test of the run, by test id."""
    earlier = export.baseline or {}
    for row in results(export.db, export.run.id):
        entry = export.entries[row.entry] if row.entry else None
        found = verdict(row.outcome, row.fallback_ops, row.message, entry, earlier.get(row.test_id))
        status = status_of(row.outcome, found, by=export.by, strict=export.strict)
        yield ExportedTest(row, found, status, _reason(row, found, entry) if status is Status.SKIPPED else "")


def status_of(outcome: Outcome, found: Verdict, *, by: By, strict: bool = False) -> Status:
    """Return the status of a test.

    By outcome a failure is one, whether it was expected or not, and a lost test is a failure. By verdict a test fails
    only where it makes the run fail; what ends badly without that is skipped, with the reason.
    """
    if by is By.VERDICT and (found.fails_strict if strict else found.is_unexpected):
        return Status.FAILED
    if outcome in (Outcome.SKIPPED, Outcome.XFAILED):
        return Status.SKIPPED
    if outcome.is_bad:
        return Status.FAILED if by is By.OUTCOME else Status.SKIPPED
    return Status.PASSED


def _reason(row: ResultRow, found: Verdict, entry: ListedEntry | None) -> str:
    """Return why a test counts as skipped: what it said itself, or which entry or baseline accepts its end."""
    if not row.outcome.is_bad:
        own = row.reason or outcome_word(row.outcome)
        return f"{own} (entry {entry.entry_id}: {entry.reason})" if entry is not None else own
    ended = f"{outcome_word(row.outcome)}, {found.words}"
    return f"{ended}, entry {entry.entry_id}: {entry.reason}" if entry is not None else ended


def first_line(text: str) -> str:
    """Return the first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
