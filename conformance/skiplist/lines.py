"""Find the lines on which the entries of a TOML text, their keys and their tests stand.

The standard library's parser does not tell. This one reads valid TOML only, and only as far as it has to: strings
(which may hold anything), comments, brackets, headers and the keys before ``=``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|\n"
    r"|[\[\]{}=,]"
    r"|[^\s\"'\#\[\]{}=,]+",
    re.DOTALL,
)


@dataclass(slots=True)
class EntryLines:
    """The line of an entry's header, of each of its keys (``match.ops`` for those of ``match``), and of its tests."""

    line: int
    keys: dict[str, int] = field(default_factory=dict)
    tests: list[int] = field(default_factory=list)


@dataclass(slots=True)
class FileLines:
    """The lines of the entries, in their order, and of the keys outside of entries."""

    entries: list[EntryLines] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)


def locate(text: str) -> FileLines:
    """Return where things stand in the text, which must be valid TOML.

    Entries that are no ``[[entry]]`` tables, but an array of inline tables, are not found; their key is.
    """
    found = FileLines()
    table: list[str] = []
    statement: list[str] = []
    line = 1
    depth = 0
    key = ""
    for token in _TOKEN.findall(text):
        first = token[0]
        if first == "\n":
            line += 1
            if depth == 0 and statement:
                if statement[0] == "[":
                    table = _enter(found, statement, line - 1)
                statement = []
                key = ""
            continue
        if first == "#":
            continue
        in_value = bool(key)
        if in_value and depth == 1 and first in "\"'" and [*table, key] == ["entry", "tests"] and found.entries:
            found.entries[-1].tests.append(line)
        if first == "=" and not in_value:
            key = ".".join(_path(statement))
            _note(found, table, key, line)
        elif first == "=" and depth == 1 and statement:
            _note(found, table, f"{key}.{'.'.join(_path(statement[-1:]))}", line)
        elif first in "[{":
            depth += in_value
        elif first in "]}":
            depth -= in_value
        if not in_value or first not in "\"'":
            statement.append(token)
        line += token.count("\n")
    if statement and statement[0] == "[":
        _enter(found, statement, line)
    return found


def _path(tokens: list[str]) -> list[str]:
    """Return the parts of a dotted key from its tokens."""
    parts = []
    for token in tokens:
        if token[0] in "\"'":
            parts.append(token[1:-1])
        else:
            parts += [part for part in token.split(".") if part]
    return parts


def _enter(found: FileLines, header: list[str], line: int) -> list[str]:
    """Return the path of the table that a header opens; ``[[entry]]`` begins an entry."""
    path = _path([token for token in header if token not in ("[", "]")])
    if path == ["entry"] and header[:2] == ["[", "["]:
        found.entries.append(EntryLines(line))
    elif path[:1] == ["entry"] and found.entries:
        found.entries[-1].keys.setdefault(".".join(path[1:]), line)
    else:
        found.keys.setdefault(".".join(path), line)
    return path


def _note(found: FileLines, table: list[str], key: str, line: int) -> None:
    if table[:1] == ["entry"] and found.entries:
        found.entries[-1].keys.setdefault(".".join([*table[1:], key]), line)
    else:
        found.keys.setdefault(".".join([*table, key]), line)
