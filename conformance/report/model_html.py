"""A report on one model as one HTML page that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from conformance.report.layout import escaped
from conformance.report.model_page import joined, page_of
from conformance.report.words import number

if TYPE_CHECKING:
    from conformance.readiness.findings import Readiness
    from conformance.report.model_page import Table

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
.verdict { border-left: .4rem solid; padding: .5rem 1rem; font-weight: 600; }
.runs { border-color: #18794e; } .stops { border-color: #b42318; } .unknown { border-color: #8d5b00; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; }
tbody tr { border-top: 1px solid #8884; } pre { overflow-x: auto; } .scroll { overflow-x: auto; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } }
"""


def render_model_html(readiness: Readiness, *, top: int) -> str:
    """Return the page."""
    page = page_of(readiness, top=top)
    kind = "runs" if readiness.verdict.runs else "unknown" if readiness.verdict == "cannot be said" else "stops"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(page.title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{_text(page.title)}</h1>",
        f'<p class="verdict {kind}">{_text(page.verdict)}</p>',
        *(f"<p>{_text(note)}</p>" for note in page.notes),
        "<table><tbody>",
        *(f'<tr><th scope="row">{_text(name)}</th><td>{_text(value)}</td></tr>' for name, value in page.facts),
        "</tbody></table>",
    ]
    if page.trouble:
        lines = "\n".join(map(_text, [*page.trouble, *joined(page.frames)]))
        parts += ["<h2>Where</h2>", f"<pre>{lines}</pre>"]
    parts += _table(page.overloads)
    if page.reasons is not None and page.reasons.rows:
        parts += _table(page.reasons)
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _table(found: Table) -> list[str]:
    if not found.rows:
        return [f"<p>{_text(found.title)}</p>"]
    head = "".join(f'<th scope="col">{_text(heading)}</th>' for heading in found.headings)
    rows = [
        f"<tr><td><code>{_text(row[0])}</code></td>{''.join(f'<td>{_text(cell)}</td>' for cell in row[1:])}</tr>"
        for row in found.rows
    ]
    more = [f"<p>... and {number(found.hidden)} more</p>"] if found.hidden else []
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>'
    return [f"<h2>{_text(found.title)}</h2>", table, *rows, "</tbody></table></div>", *more]


def _text(text: str) -> str:
    return escape(escaped(text))
