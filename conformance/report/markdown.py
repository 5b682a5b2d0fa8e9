"""A report as GitHub-flavoured Markdown, for job summaries and issues.

Everything that came out of a database stands in code, where GitHub reads no HTML, emphasis, mention or reference.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from conformance.report.findings import NoteKind
from conformance.report.layout import cut, escaped, printable
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
    from collections.abc import Iterable, Sequence

    from conformance.model.outcome import Outcome
    from conformance.report.findings import FailureGroup, RunFindings, StatusCounts, Tally, TallyTable

MESSAGE_COLUMNS = 500
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


def fenced(text: str, language: str = "") -> list[str]:
    """Return the text as a code block whose fence is longer than any row of backticks in it."""
    longest = max((len(row) for row in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, escaped(text), fence]


def render_markdown(findings: RunFindings) -> str:
    """Return the report as Markdown."""
    blocks = [
        _head(findings),
        _outcomes(findings.whole),
        _statuses("Operators", "operator", findings.operators),
        _statuses("Modules", "module", findings.modules),
        _failures(findings),
        _lost(findings),
        _fallbacks(findings),
        _tallies("Templates", "template", findings.templates),
        _tallies("Operator groups", "group", findings.groups),
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
        f"Fallbacks were seen by: {code(run.probe) or 'nobody'}.",
    ]
    for note in findings.notes:
        alarm = "WARNING" if note.kind in (NoteKind.EMULATED, NoteKind.INCOMPLETE) else "NOTE"
        text = _with_code(note.text, run.selection)
        lines += ["", f"> [!{alarm}]", f"> **{note.kind.value.capitalize()}**: {text}"]
    return lines


def _with_code(text: str, quoted: str) -> str:
    """Return a note's text with the part that a user typed in code."""
    return text[: -len(quoted)] + code(quoted) if quoted and text.endswith(quoted) else text


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    marks = ["---"] + ["---:"] * (len(headings) - 1)
    return ["| " + " | ".join(cells) + " |" for cells in (headings, marks, *rows)]


def _outcomes(whole: Tally) -> list[str]:
    rows = [
        (outcome_word(outcome), number(count), share(count, whole.planned))
        for outcome, count in whole.counts.items()
        if count
    ]
    rows.append(("**planned**", f"**{number(whole.planned)}**", share(whole.planned, whole.planned)))
    return [
        "### Outcomes",
        "",
        *_table(("outcome", "tests", "share"), rows),
        "",
        fell_back_sentence(whole.fell_back),
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
    cause = code(cut(printable(group.signature), MESSAGE_COLUMNS)) or "(no text)"
    lines = [
        f"<details><summary>{counted(group.tests, 'test')}{about}: {counts}</summary>",
        "",
        f"Cause: {cause}",
        "",
        f"First: {code(group.test_id)}",
    ]
    if group.message:
        lines += ["", *fenced(cut(printable(group.message), MESSAGE_COLUMNS))]
    if group.sample:
        lines += ["", f"Sample: {code(cut(printable(group.sample), MESSAGE_COLUMNS))}"]
    return [*lines, "", *fenced(group.repeat, "sh"), "", "</details>"]


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


def _fallbacks(findings: RunFindings) -> list[str]:
    lines = ["### Overloads that fell back to the CPU in the operator under test", ""]
    if not findings.fallback_overloads:
        return [*lines, "None seen." if findings.whole.fell_back is not None else f"{NO_DATA.capitalize()}."]
    rows = [(code(row.overload), number(row.tests), _names(row.operators)) for row in findings.fallback_overloads]
    hidden = findings.fallback_overloads_total - len(findings.fallback_overloads)
    return [*lines, *_table(("overload", "tests", "operators"), rows), *_more(hidden)]


def _names(operators: Sequence[str]) -> str:
    named = ", ".join(code(name) for name in operators[:NAMED_OPERATORS])
    hidden = len(operators) - NAMED_OPERATORS
    return f"{named} and {number(hidden)} more" if hidden > 0 else named


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
