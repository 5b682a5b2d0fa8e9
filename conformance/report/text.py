"""A report as plain text of at most 100 columns, for terminals and CI logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.report.layout import WIDTH, cut, escaped, printable, table, wrap
from conformance.report.words import (
    NO_DATA,
    counted,
    denominator,
    fell_back_sentence,
    number,
    outcome_word,
    share,
    status_word,
    subjects,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.model.outcome import Outcome
    from conformance.report.findings import FailureGroup, RunFindings, StatusCounts, Tally, TallyTable


def render_text(findings: RunFindings) -> str:
    """Return the report; only test ids and commands, which are there to be copied, may pass the 100th column."""
    blocks = [
        _head(findings),
        _outcomes(findings.whole),
        _statuses("Operators", "operator", findings.operators),
        _statuses("Modules", "module", findings.modules),
        _tallies("Templates", "template", findings.templates),
        _tallies("Operator groups", "group", findings.groups),
        _fallbacks(findings),
        _failures(findings),
        _lost(findings),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _head(findings: RunFindings) -> list[str]:
    run = findings.run
    lines = [cut(printable(f"Run {run.id} ({run.key[:8]}) on {run.device}: {run.state}"), WIDTH)]
    for note in findings.notes:
        lines += wrap(f"{note.kind.value.upper()}: {printable(note.text)}", WIDTH)
    facts = [
        ("suites", ", ".join(run.suites)),
        ("device", f"{run.device_name} ({run.device})"),
        ("torch", run.torch_version),
        ("backend", f"{run.backend} {run.backend_version}".strip()),
        ("probe", run.probe or "none"),
        ("host", f"{run.host}, {run.operating_system}, Python {run.python_version}"),
        ("started", run.started_at or "not yet"),
        ("finished", run.finished_at or "not yet"),
        ("command", run.command),
    ]
    for name, value in facts:
        for position, part in enumerate(wrap(printable(value), WIDTH - 12)):
            lines.append(f"  {name if position == 0 else '':<10}{part}")
    return lines


def _outcomes(whole: Tally) -> list[str]:
    rows = [
        (outcome_word(outcome), number(count), share(count, whole.planned)) for outcome, count in whole.counts.items()
    ]
    rows.append(("planned", number(whole.planned), share(whole.planned, whole.planned)))
    return [
        "Outcomes",
        *table(("outcome", "tests", "share"), rows),
        f"  {fell_back_sentence(whole.fell_back)}",
    ]


def _statuses(title: str, noun: str, statuses: StatusCounts) -> list[str]:
    if statuses.total == 0:
        return [f"{title}: {NO_DATA}"]
    rows = [
        (status_word(status), number(count), share(count, statuses.total)) for status, count in statuses.counts.items()
    ]
    return [
        f"{title} by status, of {denominator(statuses.total, statuses.declared, noun)}",
        *table(("status", noun + "s", "share"), rows),
    ]


def _tallies(title: str, noun: str, tallies: TallyTable) -> list[str]:
    if not tallies.rows:
        return [f"{title}: {NO_DATA}"]
    shown = tallies.outcomes
    words = ("\n".join(outcome_word(outcome).rsplit(" ", 1)) for outcome in shown)
    rows = [_cells(tally.key or "(none)", tally, shown) for tally in tallies.rows]
    if tallies.rest:
        rows.append(_cells(f"({number(tallies.hidden)} more)", tallies.rest, shown))
    last = () if tallies.rows[0].fell_back is None else ("fell\nback",)
    return [title, *table((noun, "planned", *words, *last), rows)]


def _cells(key: str, tally: Tally, shown: Sequence[Outcome]) -> list[str]:
    numbers = (tally.planned, *(tally.counts[outcome] for outcome in shown), tally.fell_back)
    return [key, *(number(value) for value in numbers if value is not None)]


def _fallbacks(findings: RunFindings) -> list[str]:
    title = "Overloads that fell back to the CPU in the operator under test"
    if not findings.fallback_overloads:
        return [f"{title}: {NO_DATA if findings.whole.fell_back is None else 'none seen'}"]
    rows = [(row.overload, number(row.tests), number(len(row.operators))) for row in findings.fallback_overloads]
    hidden = findings.fallback_overloads_total - len(findings.fallback_overloads)
    return [title, *table(("overload", "tests", "operators"), rows), *_more(hidden)]


def _failures(findings: RunFindings) -> list[str]:
    if not findings.failures:
        return [f"Failures: {'none' if findings.whole.planned else NO_DATA}"]
    lines = [f"Failures: {counted(findings.failed_tests, 'test')} with {counted(findings.failures_total, 'signature')}"]
    for position, group in enumerate(findings.failures, start=1):
        lines += _failure(position, group)
    return [*lines, *_more(findings.failures_total - len(findings.failures))]


def _failure(position: int, group: FailureGroup) -> Iterator[str]:
    counts = ", ".join(f"{number(count)} {outcome_word(outcome)}" for outcome, count in group.counts.items() if count)
    about = subjects(group.operators, group.modules)
    yield f"  {position}. {counted(group.tests, 'test')}{about}: {counts}"
    yield from _labelled("cause", group.signature or "(no text)", most=2)
    if printable(group.message) != printable(group.signature):
        yield from _labelled("says", group.message, most=3)
    yield from _labelled("sample", group.sample, most=2)
    yield f"     first   {escaped(group.test_id)}"
    yield f"     repeat  {escaped(group.repeat)}"


def _labelled(label: str, text: str, *, most: int) -> Iterator[str]:
    """Yield the text beside its label in at most ``most`` lines."""
    lines = wrap(printable(text), WIDTH - 13)
    if len(lines) > most:
        lines = [*lines[: most - 1], cut(" ".join(lines[most - 1 :]), WIDTH - 13)]
    for row, line in enumerate(lines):
        yield f"     {label if row == 0 else '':<8}{line}"


def _lost(findings: RunFindings) -> list[str]:
    if not findings.lost:
        return []
    lines = [f"Lost: {counted(findings.lost_total, 'planned test')} came back without a result (not run)"]
    lines += [f"  {escaped(test_id)}" for test_id in findings.lost]
    return [*lines, *_more(findings.lost_total - len(findings.lost))]


def _more(hidden: int) -> list[str]:
    return [f"  ... and {number(hidden)} more"] if hidden else []
