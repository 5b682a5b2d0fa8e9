"""Where a name, a test id or a command may break at the end of a line: between its parts, never inside one."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

# A place to break inside a word: behind a run of these signs, and behind a namespace.
_PLACE = re.compile(r"(?<=[._/,\[=])(?=[^\s._/,\[=])|(?<=::)(?=\S)")

# A hyphen is where browsers break; a longer part than this may do so, or it would leave a narrow screen.
_LONGEST_KEPT = 32
_HYPHENATED = re.compile(r"[^\s._/,\[=:<>]*-[^\s._/,\[=:<>]*")


def breakable(text: str) -> Markup:
    """Return the escaped text with places to break after ``.``, ``_``, ``/``, ``::``, and none at hyphens."""
    escaped = _PLACE.sub("<wbr>", str(escape(text)))
    return Markup(_HYPHENATED.sub(_kept, escaped) if "-" in escaped else escaped)


def _kept(match: re.Match[str]) -> str:
    part = match.group()
    return f'<span class="keep">{part}</span>' if len(part) <= _LONGEST_KEPT else part
