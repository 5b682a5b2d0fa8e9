"""A report on one model as GitHub-flavoured Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.report.markdown import code, fenced
from conformance.report.model_page import joined, page_of
from conformance.report.words import number

if TYPE_CHECKING:
    from conformance.readiness.findings import Readiness
    from conformance.report.model_page import Table


def render_model_markdown(readiness: Readiness, *, top: int) -> str:
    """Return the report; all that came from the model or the device stands in code."""
    page = page_of(readiness, top=top)
    lines = [f"## {code(page.title)}", "", f"**Verdict:** {code(page.verdict)}"]
    for note in page.notes:
        lines += ["", "> [!NOTE]", f"> {code(note)}"]
    lines += ["", "| | |", "|---|---|", *(f"| {name} | {code(value)} |" for name, value in page.facts)]
    if page.trouble:
        lines += ["", "### Where", "", *fenced([*page.trouble, *joined(page.frames)])]
    for found in (page.overloads, page.reasons):
        if found is not None and found.rows:
            lines += ["", f"### {found.title}", "", *_table(found)]
        elif found is not None and found is page.overloads:
            lines += ["", found.title]
    return "\n".join(lines) + "\n"


def _table(found: Table) -> list[str]:
    rows = ["| " + " | ".join((code(row[0]), *map(code, row[1:]))) + " |" for row in found.rows]
    head = ["| " + " | ".join(found.headings) + " |", "|" + "---|" * len(found.headings)]
    more = ["", f"... and {number(found.hidden)} more"] if found.hidden else []
    return [*head, *rows, *more]
