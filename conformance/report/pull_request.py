"""The verdicts on a run for a comment on a pull request: short, the worst first, under GitHub's limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.analysis.verdict import Verdict
from conformance.report.fitting import COMMENT_LIMIT, fitted
from conformance.report.markdown import code, fenced
from conformance.report.page import limited
from conformance.report.verdicts import verdict_line, verdict_notes, verdict_title
from conformance.report.words import counted, number

if TYPE_CHECKING:
    from conformance.report.verdicts import JudgedRun


def render_pull_request(judged: JudgedRun, *, top: int) -> str:
    """Return the comment; its first line marks it, so that a workflow finds the one that it wrote before."""
    return fitted(lambda rows: _render(judged, rows), top, COMMENT_LIMIT)


def _render(judged: JudgedRun, top: int) -> str:
    run, found = judged.run, judged.gate
    emulated = " **EMULATED**" if run.emulated else ""
    lines = [
        f"<!-- torch-conformance {run.device} -->",
        f"### Conformance of {code(run.device)}{emulated}: {verdict_title(judged)}",
        "",
        " ".join(map(_plain, verdict_notes(judged))),
        "",
        "| verdict | tests |",
        "| --- | ---: |",
        *(f"| {verdict.words} | {number(count)} |" for verdict, count in found.counts.items() if count),
        f"| **planned** | **{number(found.planned)}** |",
    ]
    for verdict in Verdict:
        tests = [verdict_line(one) for one in found.judged if one.verdict is verdict]
        few, more = limited(tests, top)
        if few:
            opened = " open" if found.fails(verdict) else ""
            title = f"{verdict.words.capitalize()}: {counted(len(tests), 'test')}"
            lines += [
                "",
                f"<details{opened}><summary>{title}</summary>",
                "",
                verdict.definition,
                "",
                *fenced(few, "text"),
            ]
            lines += ["", f"And {number(more)} more."] if more else []
            lines += ["", "</details>"]
    if found.gone:
        few, more = limited(found.gone, top)
        lines += ["", f"<details><summary>Gone: {counted(len(found.gone), 'test')}</summary>", "", *fenced(few, "text")]
        lines += ["", f"And {number(more)} more."] if more else []
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _plain(sentence: str) -> str:
    """Return a note with what it quotes in code."""
    parts = sentence.split("'")
    if len(parts) % 2 == 0:
        return code(sentence)
    return "".join(code(part) if place % 2 else part for place, part in enumerate(parts))
