"""What a report says about one run: values only, for every renderer alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from conformance import store
from conformance.analysis.repeat import repeat_command
from conformance.errors import ConformanceError
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.report.words import counted, number, outcome_word, status_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.store import CountRow, Database, ModuleStatusRow, OperatorStatusRow, ResultRow, RunRow

FAILURES = (
    Outcome.FAILED,
    Outcome.ERROR,
    Outcome.CRASHED,
    Outcome.TIMED_OUT,
    Outcome.OUT_OF_MEMORY,
)

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
    ``fell_back`` is the number of tests in which the operator under test ran on the CPU, None where no probe looked.
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
class StatusCounts:
    """How many operators (or modules) have each status; every status is named, and they add up to ``total``.

    ``declared`` is the size of the run's inventory. ``total`` is larger where tests name operators beyond it, and is no
    denominator for coverage where ``declared`` is 0: the run has no inventory then.
    """

    total: int
    declared: int
    counts: Mapping[OperatorStatus, int]


@dataclass(frozen=True, slots=True)
class FallbackOverload:
    """An ATen overload that ran on the CPU inside the operator-under-test window.

    ``tests`` is the number of tests in which it did, ``operators`` names the operators (or modules) they test.
    """

    overload: str
    tests: int
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """The failures that share one signature, with the first of them by test id.

    ``signature`` is empty where the failures left no text; such failures are grouped by their outcome.
    ``sample`` names the sample input that failed, and is empty where the test counts none.
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
    repeat: str


@dataclass(frozen=True, slots=True)
class RunFindings:
    """Everything a report says about one run.

    The ``*_total`` fields count what the tuples before them hold plus what ``top`` left out.
    """

    run: RunRow
    notes: tuple[Note, ...]
    whole: Tally
    templates: TallyTable
    groups: TallyTable
    operators: StatusCounts
    modules: StatusCounts
    fallback_overloads: tuple[FallbackOverload, ...]
    fallback_overloads_total: int
    failures: tuple[FailureGroup, ...]
    failures_total: int
    failed_tests: int
    lost: tuple[str, ...]
    lost_total: int


def collect_findings(db: Database, run_id: int, *, top: int = 20) -> RunFindings:
    """Read what a report needs about one run.

    ``top`` limits the rows of each table and the entries of each list; 0 keeps all of them. Counts are never limited.
    An outcome or status that this harness does not know, and counts that do not add up, raise ConformanceError.
    """
    run = store.resolve_run(db, str(run_id))
    limit = top if top > 0 else None
    whole = _whole(run, store.counts_by(db, run_id, "outcome"))
    observed = whole.fell_back is not None
    failures = _failures(store.results(db, run_id, outcomes=FAILURES), run)
    lost = _lost(db, run)
    overloads = [FallbackOverload(*row) for row in store.fallback_operators(db, run_id)]
    return RunFindings(
        run=run,
        notes=_notes(run, whole),
        whole=whole,
        templates=_table(store.counts_by(db, run_id, "template"), limit, observed=observed),
        groups=_table(store.counts_by(db, run_id, "group"), limit, observed=observed),
        operators=_statuses(store.operator_statuses(db, run_id), len(store.operators(db, run_id))),
        modules=_statuses(store.module_statuses(db, run_id), len(store.modules(db, run_id))),
        fallback_overloads=tuple(overloads[:limit]),
        fallback_overloads_total=len(overloads),
        failures=tuple(failures[:limit]),
        failures_total=len(failures),
        failed_tests=sum(group.tests for group in failures),
        lost=tuple(lost[:limit]),
        lost_total=len(lost),
    )


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
    shown, left_out = (tallies, []) if limit is None else (tallies[:limit], tallies[limit:])
    return TallyTable(
        rows=tuple(shown), hidden=len(left_out), rest=_sum(left_out, observed=observed) if left_out else None
    )


def _failed(tally: Tally) -> int:
    return sum(tally.counts[outcome] for outcome in FAILURES)


def _sum(tallies: Sequence[Tally], *, observed: bool) -> Tally:
    return Tally(
        key="",
        planned=sum(tally.planned for tally in tallies),
        counts={outcome: sum(tally.counts[outcome] for tally in tallies) for outcome in Outcome},
        fell_back=sum(tally.fell_back or 0 for tally in tallies) if observed else None,
    )


def _statuses(rows: Iterable[OperatorStatusRow | ModuleStatusRow], declared: int) -> StatusCounts:
    counts = dict.fromkeys(OperatorStatus, 0)
    for row in rows:
        if row.dtype is None:
            status_word(row.status)
            counts[row.status] += 1
    return StatusCounts(total=sum(counts.values()), declared=declared, counts=counts)


@dataclass(slots=True)
class _Gathered:
    """A failure group while it grows."""

    first: ResultRow
    counts: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))
    operators: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)


def _failures(rows: Iterable[ResultRow], run: RunRow) -> list[FailureGroup]:
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
    groups = [
        FailureGroup(
            signature=group.first.signature,
            tests=sum(group.counts.values()),
            counts=group.counts,
            operators=len(group.operators),
            modules=len(group.modules),
            test_id=group.first.test_id,
            outcome=group.first.outcome,
            message=group.first.message,
            sample=group.first.failing_sample,
            repeat=repeat_command(group.first.test_id, group.first.suite, run.device, command=run.command),
        )
        for group in gathered.values()
    ]
    return sorted(groups, key=lambda group: (-group.tests, group.signature, group.test_id))


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
    if whole.fell_back is None:
        notes.append(
            Note(
                NoteKind.UNOBSERVED, "no probe looked for CPU fallbacks; an operator shown as native may have used one."
            )
        )
    return tuple(notes)
