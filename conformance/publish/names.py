"""Where a name, a test id or a command may break at the end of a line: between its parts, never inside one."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_SPACE = re.compile(r"(\s+)")
_PART_END = re.compile(r"(?<=[._/,\[=])(?![._/,\[=])|(?<=::)")

# A hyphen is where browsers break; a longer part than this may do so, or it would leave a narrow screen.
_LONGEST_KEPT = 32


def breakable(text: str) -> Markup:
    """Return the escaped text with places to break after ``.``, ``_``, ``/``, ``::``, and none at hyphens."""
    return Markup("").join(word if word.isspace() else _word(word) for word in _SPACE.split(text) if word)


def _word(word: str) -> Markup:
    return Markup("<wbr>").join(_part(part) for part in _PART_END.split(word) if part)


def _part(part: str) -> Markup:
    if "-" in part and len(part) <= _LONGEST_KEPT:
        return Markup('<span class="keep">{}</span>').format(part)
    return escape(part)
