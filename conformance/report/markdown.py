"""A report as GitHub-flavoured Markdown, for job summaries and issues.

Everything that came out of a database stands in code, where GitHub reads no HTML, emphasis, mention or reference.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from conformance.model.compilation import CompileMode
from conformance.model.outcome import Outcome
from conformance.report.compiled import HEADINGS, count_cells, subject_cells, tally_cells
from conformance.report.findings import NoteKind
from conformance.report.layout import cut, escaped, printable
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
    from collections.abc import Iterable, Sequence

    from conformance.report.compiled import Compiled
    from conformance.report.failures import FailureGroup
    from conformance.report.fallbacks import FallbackOverload
    from conformance.report.findings import RunFindings, Tally, TallyTable
    from conformance.report.statuses import StatusCounts

MESSAGE_COLUMNS = 500
MESSAGE_LINES = 6
NAMED_OPERATORS = 5


def code(text: str) -> str:
    r"""Return the text as code that means the same inside and outside of a table.

    A backtick would end a code span and a bar a table cell (and ``\|`` is right only in a table), so texts with either
    become an HTML element in which every character but letters, digits and blanks is a character reference: those are
    never Markdown syntax (CommonMark, "Entity and numeric character references").
    """
    line = printable(text)
    if not line:
        return ""
    if "`" not in line and "|" not in line and not line.endswith("\\"):
        return f"`{line}`"
    return "<code>" + re.sub(r"[^A-Za-z0-9 ]", lambda match: f"&#{ord(match[0])};", line) + "</code>"


def fenced(lines: Sequence[str], language: str = "") -> list[str]:
    """Return the lines as a code block whose fence is longer than any row of backticks in it."""
    longest = max((len(row) for line in lines for row in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, *map(escaped, lines), fence]


def render_markdown(findings: RunFindings) -> str:
    """Return the report as Markdown."""
    blocks = [
        _head(findings),
        _outcomes(findings),
        *_subjects(findings),
        *_compiled(findings.compiled),
        _failures(findings),
        _lost(findings),
        *_fallbacks(findings),
        _skips(findings),
        _tallies("Templates", "template", findings.templates),
        _tallies("Operator groups", "group", findings.groups) if findings.has_groups else [],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _head(findings: RunFindings) -> list[str]:
    run = findings.run
    suites = ", ".join(code(suite) for suite in run.suites)
    backend = code(f"{run.backend} {run.backend_version}")
    lines = [
        f"## Run {run.id} on {code(run.device)}: {run.state}",
        "",
        f"Suites {suites} on {code(run.device_name)} with torch {code(run.torch_version)} and {backend}.",
    ]
    if run.device != "cpu" or findings.fallbacks is not None:
        lines.append(f"Fallbacks were seen by: {code(run.probe) or 'nobody'}.")
    for note in findings.notes:
        alarm = "WARNING" if note.kind in (NoteKind.EMULATED, NoteKind.INCOMPLETE) else "NOTE"
        text = _with_code(note.text, run.selection)
        lines += ["", f"> [!{alarm}]", f"> **{note.kind.value.capitalize()}**: {text}"]
    return lines


def _with_code(text: str, quoted: str) -> str:
    """Return a note's text with the part that a user typed in code."""
    return text[: -len(quoted)] + code(quoted) if quoted and text.endswith(quoted) else text


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> list[str]:
    """Return a table whose first ``texts`` columns are flush left."""
    marks = ["---"] * texts + ["---:"] * (len(headings) - texts)
    return ["| " + " | ".join(cells) + " |" for cells in (headings, marks, *rows)]


def _outcomes(findings: RunFindings) -> list[str]:
    whole = findings.whole
    rows = [
        (outcome_word(outcome), number(count), share(count, whole.planned))
        for outcome, count in whole.counts.items()
        if count
    ]
    rows.append(("**planned**", f"**{number(whole.planned)}**", share(whole.planned, whole.planned)))
    lines = ["### Outcomes", "", *_table(("outcome", "tests", "share"), rows)]
    sentences = fallback_sentences(findings.fallbacks, findings.run.device)
    return [*lines, "", *sentences] if sentences else lines


def _subjects(findings: RunFindings) -> list[list[str]]:
    """Return the table by dtype of a narrow run, or else a table of statuses for each suite that was run."""
    if findings.by_dtype:
        of = narrow_denominator(findings.by_dtype, findings.operators.declared, findings.modules.declared)
        rows = [
            (
                code(subject.name),
                status_word(subject.status),
                "; ".join([f"{status}: {code(names)}" for status, names in subject.tested] + untested_dtypes(subject)),
            )
            for subject in findings.by_dtype
        ]
        return [["### Status by dtype", "", f"Of {of}:", "", *_table(("name", "status", "dtypes"), rows, texts=3)]]
    return [
        _statuses(title, noun, statuses)
        for title, noun, suite, statuses in (
            ("Operators", "operator", "opinfo", findings.operators),
            ("Modules", "module", "modules", findings.modules),
        )
        if findings.has_statuses(suite, statuses)
    ]


def _statuses(title: str, noun: str, statuses: StatusCounts) -> list[str]:
    lines = [f"### {title}", ""]
    if statuses.total == 0:
        return [*lines, f"{NO_DATA.capitalize()}."]
    rows = [
        (status_word(status), number(count), share(count, statuses.total)) for status, count in statuses.counts.items()
    ]
    return [
        *lines,
        f"Of {denominator(statuses.total, statuses.declared, noun)}:",
        "",
        *_table(("status", noun + "s", "share"), rows),
    ]


def _compiled(compiled: Compiled) -> list[list[str]]:
    """Return what torch.compile did, and the statuses under it: one by one where these are few."""
    if not compiled.tallies:
        return []
    rows = [(code(suite), code(template), *cells) for suite, template, *cells in tally_cells(compiled)]
    headings = ("suite", "template", *(heading.replace("-\n", "").replace("\n", " ") for heading in HEADINGS))
    blocks = [["### Under torch.compile", "", *_table(headings, rows, texts=2)]]
    if len(compiled.subjects) <= NARROW:
        names = [(code(name), *statuses) for name, *statuses in subject_cells(compiled)]
        blocks.append(["### Status in each mode", "", *_table(("name", "eager", *CompileMode), names, texts=4)])
        return blocks
    for noun in ("operator", "module"):
        counts = count_cells(compiled, noun)
        if counts:
            title = f"### {noun.capitalize()}s by status under torch.compile"
            blocks.append([title, "", *_table(("status", *compiled.modes), counts)])
    return blocks


def _skips(findings: RunFindings) -> list[str]:
    if not findings.skips:
        return []
    rows = shown(findings.skips, findings.limit)
    cells = [
        (number(row.tests), row.by.value, code(cut(row.reason, MESSAGE_COLUMNS)) if row.reason else NO_REASON)
        for row in rows
    ]
    total = counted(findings.whole.counts[Outcome.SKIPPED], "test")
    return [
        "### Skips",
        "",
        f"{total} for {counted(len(findings.skips), 'reason')}, by the skiplist or by the test itself:",
        "",
        *_table(("tests", "by", "reason"), cells, texts=3),
        *_more(len(findings.skips) - len(rows)),
    ]


def _failures(findings: RunFindings) -> list[str]:
    lines = ["### Failures", ""]
    if not findings.failures:
        return [*lines, "None." if findings.whole.planned else f"{NO_DATA.capitalize()}."]
    total = f"{counted(findings.failed_tests, 'test')} with {counted(findings.failures_total, 'signature')}"
    lines.append(f"{total}, the most frequent first.")
    for group in findings.failures:
        lines += ["", *_failure(group)]
    return [*lines, *_more(findings.failures_total - len(findings.failures))]


def _failure(group: FailureGroup) -> list[str]:
    counts = ", ".join(f"{number(count)} {outcome_word(outcome)}" for outcome, count in group.counts.items() if count)
    about = subjects(group.operators, group.modules)
    lines = [f"<details><summary>{counted(group.tests, 'test')}{about}: {counts}</summary>"]
    told = telling_lines(group.message)
    if told or not group.signature:
        lines += ["", *(fenced(_limited(told)) if told else ["(no text)"])]
    if has_own_cause(group.signature, group.message):
        lines += ["", f"Cause: {code(cut(printable(group.signature), MESSAGE_COLUMNS))}"]
    sample = sample_line(group.sample, group.samples, group.samples_passed)
    if sample:
        lines += ["", f"Sample: {code(cut(printable(sample), MESSAGE_COLUMNS))}"]
    if group.frames:
        lines += ["", "Stack:" if group.outcome.is_death else "At:", "", *fenced(group.frames)]
    return [*lines, "", f"First: {code(group.test_id)}", "", *fenced([group.repeat], "sh"), "", "</details>"]


def _limited(lines: Sequence[str]) -> list[str]:
    if len(lines) > MESSAGE_LINES:
        lines = [*lines[: MESSAGE_LINES - 1], f"{lines[MESSAGE_LINES - 1]} ..."]
    return [cut(line, MESSAGE_COLUMNS) for line in lines]


def _lost(findings: RunFindings) -> list[str]:
    if not findings.lost:
        return []
    return [
        "### Lost",
        "",
        f"{counted(findings.lost_total, 'planned test')} came back without a result (not run):",
        "",
        *(f"- {code(test_id)}" for test_id in findings.lost),
        *_more(findings.lost_total - len(findings.lost)),
    ]


def _fallbacks(findings: RunFindings) -> list[list[str]]:
    title = "### Overloads that fell back to the CPU in the operator under test"
    fallbacks = findings.fallbacks
    if fallbacks is None:
        return [] if findings.run.device == "cpu" else [[title, "", f"{NO_DATA.capitalize()}."]]
    tables = []
    if fallbacks.subject_tests or not fallbacks.other_tests:
        tables.append(_overloads(title, fallbacks.overloads, findings.limit, operators=True))
    if fallbacks.in_others or not tables:
        title = "### Overloads that ran on the CPU in tests without an operator under test"
        tables.append(_overloads(title, fallbacks.other_overloads, findings.limit, operators=False))
    return tables


def _overloads(title: str, overloads: Sequence[FallbackOverload], limit: int | None, *, operators: bool) -> list[str]:
    if not overloads:
        return [title, "", "None seen."]
    rows = shown(overloads, limit)
    cells = [(code(row.overload), number(row.tests), _names(row.operators))[: 3 if operators else 2] for row in rows]
    headings = ("overload", "tests", "operators")[: 3 if operators else 2]
    return [title, "", *_table(headings, cells), *_more(len(overloads) - len(rows))]


def _names(operators: Sequence[str]) -> str:
    few = shown(operators, NAMED_OPERATORS)
    named = ", ".join(map(code, few))
    hidden = len(operators) - len(few)
    return f"{named} and {number(hidden)} more" if hidden else named


def _tallies(title: str, noun: str, tallies: TallyTable) -> list[str]:
    lines = [f"### {title}", ""]
    if not tallies.rows:
        return [*lines, f"{NO_DATA.capitalize()}."]
    shown = tallies.outcomes
    rows = [_cells(code(tally.key) or "(none)", tally, shown) for tally in tallies.rows]
    if tallies.rest:
        rows.append(_cells(f"({number(tallies.hidden)} more)", tallies.rest, shown))
    last = () if tallies.rows[0].fell_back is None else ("fell back",)
    return [*lines, *_table((noun, "planned", *map(outcome_word, shown), *last), rows)]


def _cells(key: str, tally: Tally, shown: Sequence[Outcome]) -> list[str]:
    numbers = (tally.planned, *(tally.counts[outcome] for outcome in shown), tally.fell_back)
    return [key, *(number(value) for value in numbers if value is not None)]


def _more(hidden: int) -> list[str]:
    return ["", f"... and {number(hidden)} more"] if hidden else []
