"""Look values up among many shell patterns at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase, translate
from typing import TypeAlias

# Bit i is set for entry i: any number of entries are combined by one operation on integers.
Mask: TypeAlias = int

_MAGIC = re.compile(r"[*?\[]")


def is_literal(pattern: str) -> bool:
    """Tell whether a shell pattern matches one text only, itself."""
    return _MAGIC.search(pattern) is None


def literal(text: str) -> str:
    """Return the shell pattern that matches exactly this text."""
    return _MAGIC.sub(lambda magic: f"[{magic[0]}]", text)


def any_met(patterns: Iterable[str], value: str) -> bool:
    """Tell whether the value matches one of a few patterns; a long list of values is for PatternIndex."""
    return any(fnmatchcase(value, pattern) for pattern in patterns)


class PatternIndex:
    """For one field: which entries accept a value. Patterns without wildcards cost nothing, values are remembered."""

    def __init__(self, patterns: Iterable[tuple[str, Mask]], unconditional: Mask) -> None:
        self._unconditional = unconditional
        self._literals: dict[str, Mask] = {}
        wild: dict[str, Mask] = {}
        for pattern, mask in patterns:
            place = self._literals if is_literal(pattern) else wild
            place[pattern] = place.get(pattern, 0) | mask
        self._wild = [(_matcher(pattern), mask) for pattern, mask in wild.items()]
        self._known: dict[str | None, Mask] = {None: unconditional}

    def accepting(self, value: str | None) -> Mask:
        """Return the entries that have no condition on this field, or one that the value meets.

        None is the value of a test that has none; it meets no condition.
        """
        mask = self._known.get(value)
        if mask is None:
            assert value is not None
            mask = self._unconditional | self._literals.get(value, 0)
            for matches, entries in self._wild:
                if matches(value):
                    mask |= entries
            self._known[value] = mask
        return mask


def _matcher(pattern: str) -> Callable[[str], object]:
    """Return what tells whether a text matches; ``*text*``, the commonest pattern, needs no regular expression."""
    inner = pattern[1:-1]
    if len(pattern) > 2 and pattern[0] == pattern[-1] == "*" and is_literal(inner):
        return lambda text: inner in text
    if pattern.endswith("*") and is_literal(pattern[:-1]):
        start = pattern[:-1]
        return lambda text: text.startswith(start)
    return re.compile(translate(pattern)).match
