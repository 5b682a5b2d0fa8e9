"""A report as plain text of at most 100 columns, for terminals and CI logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.compilation import CompileMode
from conformance.model.outcome import Outcome
from conformance.report.compiled import HEADINGS, count_cells, subject_cells, tally_cells
from conformance.report.layout import WIDTH, cut, escaped, listing, printable, table, wrap
from conformance.report.message import has_own_cause, sample_line, telling_lines
from conformance.report.rows import shown
from conformance.report.statuses import NARROW
from conformance.report.words import (
    NO_DATA,
    NO_REASON,
    counted,
    denominator,
    fallback_sentences,
    narrow_denominator,
    number,
    outcome_word,
    share,
    status_word,
    subjects,
    untested_dtypes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.compiled import Compiled
    from conformance.report.failures import FailureGroup
    from conformance.report.fallbacks import FallbackOverload
    from conformance.report.findings import RunFindings, Tally, TallyTable
    from conformance.report.statuses import StatusCounts


def render_text(findings: RunFindings) -> str:
    """Return the report; only test ids and commands, which are there to be copied, may pass the 100th column."""
    blocks = [
        _head(findings),
        _outcomes(findings),
        *_subjects(findings),
        *_compiled(findings.compiled),
        _tallies("Templates", "template", findings.templates),
        _tallies("Operator groups", "group", findings.groups) if findings.has_groups else [],
        *_fallbacks(findings),
        _skips(findings),
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


def _outcomes(findings: RunFindings) -> list[str]:
    whole = findings.whole
    rows = [
        (outcome_word(outcome), number(count), share(count, whole.planned))
        for outcome, count in whole.counts.items()
        if count
    ]
    rows.append(("planned", number(whole.planned), share(whole.planned, whole.planned)))
    return [
        "Outcomes",
        *table(("outcome", "tests", "share"), rows),
        *(f"  {sentence}" for sentence in fallback_sentences(findings.fallbacks, findings.run.device)),
    ]


def _subjects(findings: RunFindings) -> list[list[str]]:
    """Return the table by dtype of a narrow run, or else a table of statuses for each suite that was run."""
    if findings.by_dtype:
        of = narrow_denominator(findings.by_dtype, findings.operators.declared, findings.modules.declared)
        rows = [
            (
                subject.name,
                status_word(subject.status),
                "; ".join([f"{status}: {names}" for status, names in subject.tested] + untested_dtypes(subject)),
            )
            for subject in findings.by_dtype
        ]
        return [[f"Status by dtype of {of}", *listing(("name", "status", "dtypes"), rows)]]
    return [
        _statuses(title, noun, statuses)
        for title, noun, suite, statuses in (
            ("Operators", "operator", "opinfo", findings.operators),
            ("Modules", "module", "modules", findings.modules),
        )
        if findings.has_statuses(suite, statuses)
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


def _compiled(compiled: Compiled) -> list[list[str]]:
    """Return what torch.compile did, and the statuses under it: one by one where these are few."""
    if not compiled.tallies:
        return []
    rows = [(f"{suite} {template}", *cells) for suite, template, *cells in tally_cells(compiled)]
    blocks = [["Under torch.compile", *table(("template", *HEADINGS), rows)]]
    if len(compiled.subjects) <= NARROW:
        blocks.append(["Status in each mode", *listing(("name", "eager", *CompileMode), subject_cells(compiled))])
        return blocks
    for noun in ("operator", "module"):
        counts = count_cells(compiled, noun)
        if counts:
            title = f"{noun.capitalize()}s by status under torch.compile"
            blocks.append([title, *table(("status", *compiled.modes), counts)])
    return blocks


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


def _fallbacks(findings: RunFindings) -> list[list[str]]:
    title = "Overloads that fell back to the CPU in the operator under test"
    fallbacks = findings.fallbacks
    if fallbacks is None:
        return [] if findings.run.device == "cpu" else [[f"{title}: {NO_DATA}"]]
    tables = []
    if fallbacks.subject_tests or not fallbacks.other_tests:
        tables.append(_overloads(title, fallbacks.overloads, findings.limit, operators=True))
    if fallbacks.in_others or not tables:
        title = "Overloads that ran on the CPU in tests without an operator under test"
        tables.append(_overloads(title, fallbacks.other_overloads, findings.limit, operators=False))
    return tables


def _overloads(title: str, overloads: Sequence[FallbackOverload], limit: int | None, *, operators: bool) -> list[str]:
    if not overloads:
        return [f"{title}: none seen"]
    rows = shown(overloads, limit)
    cells = [(row.overload, number(row.tests), number(len(row.operators)))[: 3 if operators else 2] for row in rows]
    headings = ("overload", "tests", "operators")[: 3 if operators else 2]
    return [title, *table(headings, cells), *_more(len(overloads) - len(rows))]


def _skips(findings: RunFindings) -> list[str]:
    if not findings.skips:
        return []
    rows = shown(findings.skips, findings.limit)
    cells = [(number(row.tests), row.by.value, cut(row.reason or NO_REASON, 2 * WIDTH)) for row in rows]
    total = counted(findings.whole.counts[Outcome.SKIPPED], "test")
    return [
        f"Skips: {total} for {counted(len(findings.skips), 'reason')}",
        *listing(("tests", "by", "reason"), cells),
        *_more(len(findings.skips) - len(rows)),
    ]


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
    told = telling_lines(group.message)
    if told or not group.signature:
        yield from _labelled("says", told or ["(no text)"], most=6)
    if has_own_cause(group.signature, group.message):
        yield from _labelled("cause", [group.signature], most=2)
    yield from _labelled("sample", [sample_line(group.sample, group.samples, group.samples_passed)], most=2)
    yield from _labelled("stack" if group.outcome.is_death else "at", group.frames, most=6)
    yield f"     first   {escaped(group.test_id)}"
    yield f"     repeat  {escaped(group.repeat)}"


def _labelled(label: str, texts: Sequence[str], *, most: int) -> Iterator[str]:
    """Yield the texts beside their label, each from a new line on, in at most ``most`` lines."""
    room = WIDTH - 13
    lines = [line for text in texts for line in wrap(printable(text), room)]
    if len(lines) > most:
        lines = [*lines[: most - 1], cut(f"{lines[most - 1]} {lines[most]}", room)]
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
