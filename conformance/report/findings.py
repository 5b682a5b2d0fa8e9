"""What a report says about one run: values only, for every renderer alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from conformance import store
from conformance.errors import ConformanceError
from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.report.compiled import Compiled, collect_compiled
from conformance.report.failures import FAILURES, FailureGroup, group_failures
from conformance.report.fallbacks import Fallbacks, collect_fallbacks
from conformance.report.rows import shown
from conformance.report.skips import SkipReason, group_skips
from conformance.report.statuses import StatusCounts, SubjectStatus, count_statuses, statuses_by_dtype
from conformance.report.words import counted, number, outcome_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.store import CountRow, Database, RunRow

NO_PROBE = ("", "none")


class NoteKind(str, Enum):
    """What a reader has to know before reading any number."""

    EMULATED = "emulated"
    INCOMPLETE = "incomplete"
    SELECTION = "selection"
    UNOBSERVED = "unobserved"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to know about the whole run, in a sentence."""

    kind: NoteKind
    text: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The outcomes of the planned tests that share ``key``, which is empty for tests that have none.

    ``counts`` names every outcome and adds up to ``planned``: a test without a result counts as not run.
    ``fell_back`` is the number of tests in whose window something ran on the CPU, None where no probe looked.
    """

    key: str
    planned: int
    counts: Mapping[Outcome, int]
    fell_back: int | None


@dataclass(frozen=True, slots=True)
class TallyTable:
    """The rows with most failures first; ``rest`` sums the ``hidden`` rows left out, if any."""

    rows: tuple[Tally, ...]
    hidden: int
    rest: Tally | None

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Return the outcomes that occur in the table."""
        tallies = (*self.rows, self.rest) if self.rest else self.rows
        return tuple(outcome for outcome in Outcome if any(tally.counts[outcome] for tally in tallies))


@dataclass(frozen=True, slots=True)
class RunFindings:
    """Everything a report says about one run.

    ``by_dtype`` is empty where the run tests too many operators and modules to go through them. ``fallbacks`` is None
    where no probe looked. The ``*_total`` fields count what the tuples before them hold plus what ``top`` left out;
    the overloads of ``fallbacks`` and the ``skips`` are all there, for ``limit`` to be applied to.
    """

    run: RunRow
    notes: tuple[Note, ...]
    whole: Tally
    templates: TallyTable
    groups: TallyTable
    operators: StatusCounts
    modules: StatusCounts
    by_dtype: tuple[SubjectStatus, ...]
    fallbacks: Fallbacks | None
    limit: int | None
    failures: tuple[FailureGroup, ...]
    failures_total: int
    failed_tests: int
    lost: tuple[str, ...]
    lost_total: int
    skips: tuple[SkipReason, ...]
    compiled: Compiled

    def has_statuses(self, suite: str, statuses: StatusCounts) -> bool:
        """Tell whether a suite was run, and not its compiling templates alone, which say nothing of eager mode."""
        only_compiled = any(tally.suite == suite for tally in self.compiled.tallies)
        return bool(statuses.planned) or (suite in self.run.suites and not only_compiled)

    @property
    def has_groups(self) -> bool:
        """Tell whether the table of operator groups says anything: not of a few operators, nor of tests of none."""
        return not self.by_dtype and [tally.key for tally in self.groups.rows] != [""]


def collect_findings(db: Database, run_id: int, *, top: int = 20) -> RunFindings:
    """Read what a report needs about one run.

    ``top`` limits the rows of each table and the entries of each list, but never so that a single one is left out;
    0 keeps all of them. Counts are never limited. An outcome or status that this harness does not know, and counts
    that do not add up, raise ConformanceError.
    """
    run = store.resolve_run(db, str(run_id))
    limit = top if top > 0 else None
    whole = _whole(run, store.counts_by(db, run_id, "outcome"))
    observed = whole.fell_back is not None
    failures = group_failures(store.results(db, run_id, outcomes=FAILURES), run)
    lost = _lost(db, run)
    operators, modules = store.operator_statuses(db, run_id), store.module_statuses(db, run_id)
    compiled_statuses = store.compile_statuses(db, run_id)
    subject_tests = sum(row.planned for row in operators if row.dtype is None)
    subject_tests += sum(row.planned for row in modules if row.dtype is None)
    subject_tests += sum(row.planned for row in compiled_statuses)
    return RunFindings(
        run=run,
        notes=_notes(run, whole),
        whole=whole,
        templates=_table(store.counts_by(db, run_id, "template"), limit, observed=observed),
        groups=_table(store.counts_by(db, run_id, "group"), limit, observed=observed),
        operators=count_statuses(operators, len(store.operators(db, run_id))),
        modules=count_statuses(modules, len(store.modules(db, run_id))),
        by_dtype=statuses_by_dtype(operators, modules),
        fallbacks=None
        if whole.fell_back is None
        else collect_fallbacks(
            db, run_id, fell_back=whole.fell_back, planned=whole.planned, subject_tests=subject_tests
        ),
        limit=limit,
        failures=shown(failures, limit),
        failures_total=len(failures),
        failed_tests=sum(group.tests for group in failures),
        lost=shown(lost, limit),
        lost_total=len(lost),
        skips=group_skips(store.skips(db, run_id)),
        compiled=collect_compiled(
            store.compile_results(db, run_id) if compiled_statuses else [], compiled_statuses, operators, modules
        ),
    )


def narrowed(findings: RunFindings, top: int) -> RunFindings:
    """Return the findings with at most ``top`` rows a table and entries a list; 0 keeps those that are there."""
    if top <= 0:
        return findings
    return replace(
        findings,
        templates=_narrowed(findings.templates, top),
        groups=_narrowed(findings.groups, top),
        limit=top if findings.limit is None else min(top, findings.limit),
        failures=shown(findings.failures, top),
        lost=shown(findings.lost, top),
    )


def _narrowed(table: TallyTable, top: int) -> TallyTable:
    kept = shown(table.rows, top)
    left_out = [*table.rows[len(kept) :], *([table.rest] if table.rest else [])]
    if len(kept) == len(table.rows):
        return table
    observed = all(tally.fell_back is not None for tally in left_out)
    return TallyTable(kept, table.hidden + len(table.rows) - len(kept), _sum(left_out, observed=observed))


def _whole(run: RunRow, rows: Iterable[CountRow]) -> Tally:
    """Return the run's tally: its own counts, and the fallbacks of the rows that stand for one outcome each."""
    fell_back = sum(row.fallback for row in rows)
    return _tally("", run.planned, run.counts, fell_back if run.probe not in NO_PROBE or fell_back else None)


def _tally(key: str, planned: int, counts: Mapping[Outcome, int], fell_back: int | None) -> Tally:
    for outcome in counts:
        outcome_word(outcome)
    if sum(counts.values()) != planned or min(counts.values(), default=0) < 0:
        raise ConformanceError(
            "counts-disagree",
            f"{key or 'the run'} has {planned} planned tests, but the outcomes "
            f"{', '.join(f'{outcome} {count}' for outcome, count in counts.items() if count)}; "
            "the database was damaged or edited: restore it, or run again",
        )
    return Tally(
        key=key,
        planned=planned,
        counts={outcome: counts.get(outcome, 0) for outcome in Outcome},
        fell_back=fell_back,
    )


def _table(rows: Sequence[CountRow], limit: int | None, *, observed: bool) -> TallyTable:
    tallies = [_tally(row.key, row.planned, row.counts, row.fallback if observed else None) for row in rows]
    tallies.sort(key=lambda tally: (-_failed(tally), -tally.planned, tally.key))
    kept = shown(tallies, limit)
    left_out = tallies[len(kept) :]
    return TallyTable(rows=kept, hidden=len(left_out), rest=_sum(left_out, observed=observed) if left_out else None)


def _failed(tally: Tally) -> int:
    return sum(tally.counts[outcome] for outcome in FAILURES)


def _sum(tallies: Sequence[Tally], *, observed: bool) -> Tally:
    return Tally(
        key="",
        planned=sum(tally.planned for tally in tallies),
        counts={outcome: sum(tally.counts[outcome] for tally in tallies) for outcome in Outcome},
        fell_back=sum(tally.fell_back or 0 for tally in tallies) if observed else None,
    )


def _lost(db: Database, run: RunRow) -> list[str]:
    """Return the ids of the lost tests; those of a run that goes on are not lost, they are still to come."""
    if run.state in (RunState.PLANNED, RunState.RUNNING):
        return []
    return [row.test_id for row in store.results(db, run.id, outcomes=(Outcome.NOT_RUN,))]


def _notes(run: RunRow, whole: Tally) -> tuple[Note, ...]:
    notes: list[Note] = []
    if run.emulated:
        notes.append(
            Note(
                NoteKind.EMULATED,
                "a stand-in ran in place of the device; these results say nothing about the hardware.",
            )
        )
    absent = run.collected - run.planned if run.shard is None else 0
    if absent > 0:
        notes.append(
            Note(
                NoteKind.INCOMPLETE,
                f"{number(absent)} of {counted(run.collected, 'collected test')} are in shards that are missing.",
            )
        )
    missing = whole.counts[Outcome.NOT_RUN]
    if missing or run.state is not RunState.COMPLETE:
        notes.append(
            Note(
                NoteKind.INCOMPLETE,
                f"the run is {run.state}; {number(missing)} of {counted(run.planned, 'planned test')} "
                f"{'has' if missing == 1 else 'have'} no result.",
            )
        )
    if run.selection:
        notes.append(Note(NoteKind.SELECTION, f"only a part of the suites was asked for: {run.selection}"))
    if whole.fell_back is None and run.device != "cpu":
        notes.append(
            Note(
                NoteKind.UNOBSERVED, "no probe looked for CPU fallbacks; an operator shown as native may have used one."
            )
        )
    return tuple(notes)
