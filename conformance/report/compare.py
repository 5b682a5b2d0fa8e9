"""What changed between two runs, read from their databases and put into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.compare import Change, Comparison, TestChange, compare
from conformance.analysis.compare_operators import OperatorChange, operator_changes
from conformance.analysis.gate import undertakes_all_of
from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.report.page import Block, Code, Lines, Page, Paragraph, Row, Table, limited
from conformance.report.words import counted, number, outcome_word
from conformance.store import history

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.analysis.verdict import Baseline
    from conformance.store import Database, RunRow


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs: the file it is in, as the user named it, and its row."""

    source: str
    run: RunRow


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Everything that a comparison says.

    ``whole`` tells that the second run undertook all that the first did, so that a test which it lacks is a loss.
    """

    before: Side
    after: Side
    comparison: Comparison
    operators: tuple[OperatorChange, ...]
    whole: bool

    @property
    def worse(self) -> int:
        """Return how many tests got worse: those that are missing count where they should be there."""
        counts = self.comparison.counts
        return sum(counts[change] for change in Change if self.counts_as_worse(change))

    def counts_as_worse(self, change: Change) -> bool:
        """Tell whether a change in this comparison is one to the worse."""
        return change.is_worse or (self.whole and change is Change.REMOVED)


def collect_comparison(before: tuple[Database, Side], after: tuple[Database, Side]) -> ComparedRuns:
    """Read both runs and compare them; the two databases may be one."""
    (old_db, old), (new_db, new) = before, after
    comparison = compare(history.ends(old_db, old.run.id), history.ends(new_db, new.run.id))
    operator_of = _operators(new_db, new.run.id, (one for one in comparison.changes if one.after is not None))
    operator_of |= _operators(old_db, old.run.id, (one for one in comparison.changes if one.after is None))
    operators = operator_changes(
        history.operator_outcomes(old_db, old.run.id),
        history.operator_outcomes(new_db, new.run.id),
        comparison.changes,
        operator_of,
    )
    return ComparedRuns(old, new, comparison, operators, undertakes_all_of(new.run, old.run))


def _operators(db: Database, run_id: int, changes: Iterable[TestChange]) -> dict[str, str]:
    subjects = history.subjects_by_id(db, run_id, [one.test_id for one in changes])
    return {test_id: subject.op for test_id, subject in subjects.items() if subject.op is not None}


def compare_page(found: ComparedRuns, *, top: int) -> Page:
    """Return the comparison as a page: how many tests changed how, which operators, which tests, the worst first."""
    counts = found.comparison.counts
    changed = found.comparison.tests - counts[Change.UNCHANGED]
    blocks: list[Block] = [Paragraph(note) for note in notes(found)]
    rows = [(change.words, number(counts[change])) for change in Change if counts[change]]
    rows.append(("all tests of both", number(found.comparison.tests)))
    blocks.append(Table("Changes", ("change", "tests"), tuple(rows)))
    blocks.append(_outcomes(found))
    statuses, more = limited([_status(one) for one in found.operators if one.status_changed], top)
    if statuses:
        blocks.append(Lines("Operators with another status", statuses, more))
    blocks += _operator_table(found, top)
    for change in Change:
        tests = [_line(one) for one in found.comparison.changes if one.change is change]
        few, more = limited(tests, top)
        if few:
            blocks.append(Code(f"{change.words.capitalize()}: {change.definition}", few, "text", more))
    title = f"{_name(found.before)} to {_name(found.after)}: {number(changed)} of "
    title += f"{counted(found.comparison.tests, 'test')} changed, {number(found.worse)} for the worse"
    return Page(title, tuple(blocks))


def notes(found: ComparedRuns) -> list[str]:
    """Return what has to be known before reading any number, a sentence each."""
    old, new = found.before.run, found.after.run
    said = []
    stand_ins = " and ".join(_name(side) for side in (found.before, found.after) if side.run.emulated)
    if stand_ins:
        said.append(
            f"EMULATED: in {stand_ins} a stand-in ran in place of the device; it says nothing about the hardware."
        )
    for side in (found.before, found.after):
        missing = side.run.counts[Outcome.NOT_RUN]
        if side.run.state is not RunState.COMPLETE or missing:
            said.append(f"INCOMPLETE: {_name(side)} is {side.run.state}; {counted(missing, 'test')} without a result.")
    for what, first, second in (
        ("Device", _device(old), _device(new)),
        ("Torch", old.torch_version, new.torch_version),
        ("Backend", f"{old.backend} {old.backend_version}".strip(), f"{new.backend} {new.backend_version}".strip()),
        ("Probe", old.probe or "none", new.probe or "none"),
        ("Suites", ", ".join(old.suites), ", ".join(new.suites)),
        ("Selection", old.selection or "all", new.selection or "all"),
    ):
        if first != second:
            said.append(f"{what}: '{first}' and '{second}'.")
    gone, come = found.comparison.counts[Change.REMOVED], found.comparison.counts[Change.ADDED]
    if (gone or come) and not found.whole:
        said.append("The two did not undertake the same tests: what was added or removed is no change of the device.")
    if found.comparison.unobserved:
        said.append(
            f"Only one of the two looked for fallbacks in {counted(found.comparison.unobserved, 'test')} that "
            "pass in both: nothing is said of those."
        )
    return said


def _outcomes(found: ComparedRuns) -> Table:
    old, new = found.before.run.counts, found.after.run.counts
    rows: list[Row] = [
        (outcome_word(outcome), number(old[outcome]), number(new[outcome]), _signed(new[outcome] - old[outcome]))
        for outcome in Outcome
        if old[outcome] or new[outcome]
    ]
    planned = found.before.run.planned, found.after.run.planned
    rows.append(("planned", *map(number, planned), _signed(planned[1] - planned[0])))
    return Table("Outcomes", ("outcome", "before", "after", "difference"), tuple(rows))


def _operator_table(found: ComparedRuns, top: int) -> list[Block]:
    """Return the operators whose tests changed, with a column for each change that occurs among them."""
    operators = [one for one in found.operators if one.counts]
    if not operators:
        return []
    shown = [change for change in Change if any(one.counts.get(change) for one in operators)]
    rows = [(one.op, *(number(one.counts.get(change, 0)) for change in shown)) for one in operators]
    few, more = limited(rows, top)
    headings = ("operator", *("\n".join(change.words.split(" ", 1)) for change in shown))
    return [Table("Changed tests by operator", headings, few, more)]


def _status(one: OperatorChange) -> str:
    word = {1: "better", -1: "worse", 0: "other"}[one.direction]
    return f"{word}: '{one.op}': {one.before or 'not tested'} -> {one.after or 'not tested'}"


def _line(one: TestChange) -> str:
    return f"{_end(one.before)} -> {_end(one.after)}: {one.test_id}"


def _end(seen: Baseline | None) -> str:
    if seen is None:
        return "not planned"
    outcome, fallback = seen
    return f"{outcome_word(outcome)} ({', '.join(fallback)})" if fallback else outcome_word(outcome)


def _device(run: RunRow) -> str:
    return f"{run.device} ({run.device_name})"


def _name(side: Side) -> str:
    return f"run {side.run.id} of {side.source}"


def _signed(difference: int) -> str:
    return f"{difference:+,}" if difference else "0"


def compare_document(found: ComparedRuns) -> dict[str, object]:
    """Return the comparison for scripts; every changed test is in it."""
    return {
        "before": _side_document(found.before),
        "after": _side_document(found.after),
        "notes": notes(found),
        "counts": {change.value: count for change, count in found.comparison.counts.items()},
        "worse": found.worse,
        "tests": found.comparison.tests,
        "unobserved": found.comparison.unobserved,
        "operators": [
            {
                "op": one.op,
                "before": one.before,
                "after": one.after,
                "direction": one.direction,
                "counts": {change.value: count for change, count in one.counts.items()},
            }
            for one in found.operators
        ],
        "changes": [
            {
                "test_id": one.test_id,
                "change": one.change.value,
                "before": _end_document(one.before),
                "after": _end_document(one.after),
            }
            for one in found.comparison.changes
        ],
    }


def _side_document(side: Side) -> dict[str, object]:
    run = side.run
    return {
        "source": side.source,
        "run": run.id,
        "key": run.key,
        "created_at": run.created_at,
        "state": run.state.value,
        "device": run.device,
        "device_name": run.device_name,
        "emulated": run.emulated,
        "torch_version": run.torch_version,
        "backend": run.backend,
        "backend_version": run.backend_version,
        "suites": list(run.suites),
        "selection": run.selection,
        "probe": run.probe,
        "planned": run.planned,
        "outcomes": {outcome.value: count for outcome, count in run.counts.items()},
    }


def _end_document(seen: Baseline | None) -> dict[str, object] | None:
    if seen is None:
        return None
    return {"outcome": seen[0].value, "fallback_ops": None if seen[1] is None else list(seen[1])}
