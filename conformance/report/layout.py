"""Plain text in columns: what a character takes on a terminal, and tables that fit."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH = 100


def escaped(text: str) -> str:
    """Return the text with every character that could steer a terminal, or reorder a line, written as an escape."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def printable(text: str) -> str:
    """Return the text escaped and in one line, each run of white space as one blank."""
    return escaped(" ".join(text.split()))


def width_of(text: str) -> int:
    """Return how many terminal columns a printable text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def cut(text: str, columns: int) -> str:
    """Return the text, its end replaced by three dots where it takes more than ``columns``.

    It is cut after a word where that costs less than half of it.
    """
    if width_of(text) <= columns:
        return text
    dots = "..."[: max(columns, 0)]
    room = columns - len(dots)
    length = 0
    for character in text:
        room -= width_of(character)
        if room < 0:
            break
        length += 1
    kept = text[:length]
    if text[length : length + 1] != " ":
        words = kept.rpartition(" ")[0].rstrip()
        kept = words if 2 * len(words) > length else kept
    return kept.rstrip() + dots


def wrap(text: str, columns: int) -> list[str]:
    """Return the text in lines of at most ``columns``, broken between words where that is possible."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        while word:
            room = columns - (width_of(line) + 1 if line else 0)
            if width_of(word) <= room:
                line = f"{line} {word}" if line else word
                break
            if line:
                lines.append(line)
                line = ""
                continue
            head = _fitting(word, columns)
            lines.append(head)
            word = word[len(head) :]
    return [*lines, line] if line else lines


def _fitting(word: str, columns: int) -> str:
    length = 0
    taken = 0
    for character in word:
        taken += width_of(character)
        if taken > columns and length:
            break
        length += 1
    return word[:length]


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, indent: int = 2, columns: int = WIDTH
) -> list[str]:
    """Return the lines of a table: the first column flush left, the others flush right.

    A heading may hold a newline. Where the first cell has no room beside the numbers, it stands on a line of its own,
    whole, so that it can be searched for and copied; it is cut only where it takes more than ``columns``.
    """
    heads = [heading.split("\n") for heading in headings]
    cells = [[printable(cell) for cell in row] for row in rows]
    height = max(len(head) for head in heads)
    padded = [[""] * (height - len(head)) + head for head in heads]
    numeric = [
        max([width_of(part) for part in head] + [width_of(row[position]) for row in cells])
        for position, head in enumerate(padded)
        if position > 0
    ]
    first = max([width_of(part) for part in padded[0]] + [width_of(row[0]) for row in cells])
    least = max(8, *(width_of(part) for part in padded[0]))
    gap = 2 if indent + min(first, 24) + sum(numeric) + 2 * len(numeric) <= columns else 1
    room = max(least, columns - indent - sum(numeric) - gap * len(numeric))
    key = min(first, room)
    margin = " " * indent

    def line(values: Sequence[str]) -> str:
        left = values[0] + " " * (key - width_of(values[0]))
        right = [" " * (gap + size - width_of(value)) + value for size, value in zip(numeric, values[1:], strict=True)]
        return (margin + left + "".join(right)).rstrip()

    lines = [line([head[row] for head in padded]) for row in range(height)]
    lines.append(margin + "-" * (key + sum(numeric) + gap * len(numeric)))
    for row in cells:
        if width_of(row[0]) > key:
            lines.append(margin + cut(row[0], columns - indent))
            lines.append(line(["", *row[1:]]))
        else:
            lines.append(line(row))
    return lines


def listing(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, indent: int = 2, columns: int = WIDTH
) -> list[str]:
    """Return the lines of a table of texts, all flush left; the last column is wrapped.

    A first cell of more than a third of the line stands on a line of its own.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [
        max(width_of(row[position]) for row in [list(headings), *cells] if width_of(row[position]) <= columns // 3)
        for position in range(len(headings) - 1)
    ]
    room = columns - indent - sum(widths) - 2 * len(widths)
    margin = " " * indent

    def line(values: Sequence[str]) -> str:
        padded = [value + " " * (width - width_of(value)) for width, value in zip(widths, values, strict=False)]
        return (margin + "  ".join([*padded, values[-1]])).rstrip()

    wrapped = [wrap(row[-1], room) or [""] for row in cells]
    longest = max([width_of(headings[-1])] + [width_of(part) for parts in wrapped for part in parts])
    lines = [line(headings), margin + "-" * (columns - indent - room + longest)]
    for row, parts in zip(cells, wrapped, strict=True):
        begin = row[:-1]
        if width_of(row[0]) > widths[0]:
            lines.append(margin + cut(row[0], columns - indent))
            begin[0] = ""
        lines.append(line([*begin, parts[0]]))
        lines.extend(line([*[""] * len(widths), part]) for part in parts[1:])
    return lines
