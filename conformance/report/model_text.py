"""A report on one model as plain text of at most 100 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.report.layout import WIDTH, cut, escaped, listing, printable, table, wrap
from conformance.report.model_page import joined, page_of
from conformance.report.words import number

if TYPE_CHECKING:
    from conformance.readiness.findings import Readiness
    from conformance.report.model_page import Page, Table


def render_model_text(readiness: Readiness, *, top: int) -> str:
    """Return the report."""
    page = page_of(readiness, top=top)
    blocks = [_head(page), _trouble(page), _table(page.overloads), _reasons(page.reasons)]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _head(page: Page) -> list[str]:
    lines = [*wrap(printable(page.title), WIDTH), *wrap(printable(page.verdict), WIDTH)]
    for note in page.notes:
        lines += wrap(f"NOTE: {printable(note)}", WIDTH)
    for name, value in page.facts:
        for position, part in enumerate(wrap(printable(value), WIDTH - 12)):
            lines.append(f"  {name if position == 0 else '':<10}{part}")
    return lines


def _trouble(page: Page) -> list[str]:
    if not page.trouble:
        return []
    lines = ["Where"]
    for text in page.trouble:
        lines += [f"  {part}" for part in wrap(printable(text), WIDTH - 2)]
    if page.frames:
        lines.append("  in your code, the innermost last:")
        lines += [cut(f"    {escaped(line)}", WIDTH) for line in joined(page.frames)]
    return lines


def _table(found: Table) -> list[str]:
    if not found.rows:
        return [found.title]
    return [found.title, *table(found.headings, found.rows), *_more(found.hidden)]


def _reasons(found: Table | None) -> list[str]:
    if found is None or not found.rows:
        return []
    return [found.title, *listing(found.headings, found.rows), *_more(found.hidden)]


def _more(hidden: int) -> list[str]:
    return [f"  ... and {number(hidden)} more; --top 0 shows all"] if hidden else []
