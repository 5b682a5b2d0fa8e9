"""Keep a report within the size that its place takes, and say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# What GitHub takes for the summary of a step, and for the text of a comment.
SUMMARY_LIMIT = 1024 * 1024
COMMENT_LIMIT = 64 * 1024

_SMALLER = (200, 100, 50, 20, 10, 5, 2, 1)


def fitted(render: Callable[[int], str], top: int, limit: int) -> str:
    """Return the report with as many rows a table (``top``; 0: all) as keep it under ``limit`` bytes.

    What leaves out is what a smaller ``top`` leaves out: the ends of tables, whose rows go from the worst down. If even
    one row a table is too much, the text ends where the limit does, after a whole line.
    """
    text = ""
    for rows in (top, *(fewer for fewer in _SMALLER if not top or fewer < top)):
        text = render(rows)
        if len(text.encode("utf-8")) <= limit:
            return text
    note = "\n\nThe rest did not fit here.\n"
    kept = text.encode("utf-8")[: limit - len(note)].decode("utf-8", "ignore")
    return kept.rpartition("\n")[0] + note
