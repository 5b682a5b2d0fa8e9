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
    """Return the text, its end replaced by three dots where it takes more than ``columns``."""
    if width_of(text) <= columns:
        return text
    dots = "..."[: max(columns, 0)]
    room = columns - len(dots)
    kept: list[str] = []
    for character in text:
        room -= width_of(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip() + dots


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
