"""Pages of paragraphs, tables and lists, and how they are written: as text, Markdown or JSON.

Text and Markdown are renderings of one page; JSON is a document of its own, beside it.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from conformance.report.fitting import SUMMARY_LIMIT, fitted
from conformance.report.layout import escaped, printable, table, wrap
from conformance.report.markdown import code, fenced
from conformance.report.output import write_report
from conformance.report.rows import shown

Row = tuple[str, ...]
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers in columns: the first column is a text, the others flush right; ``more`` rows are not shown."""

    title: str
    headings: Row
    rows: tuple[Row, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Lines:
    """Texts of any length, each a line that can be copied; ``more`` are not shown."""

    title: str
    lines: tuple[str, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Code:
    """A text in another language, its blanks as they are; ``more`` lines are not shown."""

    title: str
    lines: tuple[str, ...]
    language: str
    more: int = 0


Block = Paragraph | Table | Lines | Code


@dataclass(frozen=True, slots=True)
class Page:
    """What a command says."""

    title: str
    blocks: tuple[Block, ...]


def limited(rows: Sequence[Item], top: int) -> tuple[tuple[Item, ...], int]:
    """Return the rows to show, all of them where ``top`` is 0, and how many are left out."""
    few = shown(rows, top or None)
    return few, len(rows) - len(few)


def write_page(page: Page, document: object, form: str, *, to_stderr: bool = False) -> None:
    """Write the page, or for ``json`` the document: a mapping or a dataclass."""
    match form:
        case "json":
            text = _json(document)
        case "md":
            text = render_markdown(page)
        case _:
            text = render_text(page)
    if to_stderr:
        sys.stderr.write(text)
    else:
        write_report(text)


def write_fitted(make_page: Callable[[int], Page], make_document: Callable[[], object], form: str, *, top: int) -> None:
    """Write a page of ``top`` rows a list, or for ``json`` the document; Markdown stays within a summary's limit."""
    match form:
        case "json":
            write_report(_json(make_document()))
        case "md":
            write_report(fitted(lambda rows: render_markdown(make_page(rows)), top, SUMMARY_LIMIT))
        case _:
            write_report(render_text(make_page(top)))


def render_text(page: Page) -> str:
    """Return the page as plain text in at most 100 columns."""
    parts = [printable(page.title)]
    for block in page.blocks:
        if isinstance(block, Paragraph):
            parts.append("\n".join(wrap(printable(block.text), 100)))
            continue
        if isinstance(block, Table):
            body = table(block.headings, block.rows) if block.rows else []
        elif isinstance(block, Code):
            body = [f"  {escaped(line)}" for line in block.lines]
        else:
            body = [f"  {printable(line)}" for line in block.lines]
        more = [f"  and {block.more:,} more; --top 0 shows all"] if block.more else []
        parts.append("\n".join([block.title, *(body or ["  none"]), *more]))
    return "\n\n".join(parts) + "\n"


def render_markdown(page: Page) -> str:
    """Return the page as GitHub-flavoured Markdown; what comes from files stands in code."""
    parts = [f"## {_plain(page.title)}"]
    for block in page.blocks:
        if isinstance(block, Paragraph):
            parts.append(_plain(block.text))
            continue
        parts.append(f"### {_plain(block.title)}")
        if isinstance(block, Table):
            marks = ["---"] + ["---:"] * (len(block.headings) - 1)
            rows = [[code(row[0]), *map(printable, row[1:])] for row in block.rows]
            headings = [" ".join(heading.split()) for heading in block.headings]
            body = [f"| {' | '.join(cells)} |" for cells in (headings, marks, *rows)] if rows else []
        elif isinstance(block, Code):
            body = fenced(block.lines, block.language)
        else:
            body = [f"- {_plain(line)}" for line in block.lines]
        parts.append("\n".join(body) or "None.")
        if block.more:
            parts.append(f"And {block.more:,} more.")
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    r"""Return a sentence of ours in which what was quoted from a file stands in code.

    Quotes are told by ``'...'``: that is how all messages of the harness quote.
    """
    parts = printable(text).split("'")
    if len(parts) % 2 == 0:
        return code(text)
    return "".join(code(part) if position % 2 and part else _escaped(part) for position, part in enumerate(parts))


def _escaped(text: str) -> str:
    for character in "\\<>*_|[]#@`":
        text = text.replace(character, f"\\{character}")
    return text


def _json(document: object) -> str:
    return json.dumps({"schema": 1, **jsonable(document)}, indent=1, sort_keys=True) + "\n"


def jsonable(value: object) -> Any:
    """Return the value as JSON holds it: dataclasses as objects, enums and dates as their texts."""
    match value:
        case Enum() | Path():
            return str(value)
        case date():
            return value.isoformat()
        case Mapping():
            return {str(key): jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [jsonable(item) for item in value]
        case _ if dataclasses.is_dataclass(value):
            return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
        case _:
            return value
