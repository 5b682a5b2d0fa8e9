"""Edit the text of skiplist files: comments, order and everything that is not concerned stay as they are.

Entries are cut out as lines, since a TOML document does not know which entry a comment between two belongs to; what
changes within an entry is left to tomlkit. The result is read again, and refused unless it is what was meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.errors import ConformanceError
from conformance.skiplist.entry import Entry, Match
from conformance.skiplist.lines import locate
from conformance.skiplist.parse import parse_text
from conformance.skiplist.write import render_entry


@dataclass(frozen=True, slots=True)
class EntryEdit:
    """What changes in one entry: ids that go, and whether its patterns go."""

    remove_tests: frozenset[str] = frozenset()
    remove_match: bool = False


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What changes in one file: entries that go as a whole, that change, and that are added at its end."""

    remove: frozenset[str] = frozenset()
    change: Mapping[str, EntryEdit] = field(default_factory=dict)
    add: tuple[Entry, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.remove or self.change or self.add)


def edit_text(text: str, edit: FileEdit, file: str = "") -> str:
    """Return the text with the edit made, which must be that of a valid list.

    Raises ConformanceError (``edit-failed``) if the result would not be exactly what was asked for.
    """
    entries, _ = parse_text(text, file)
    edited = _without_entries(text, edit.remove, entries)
    edited = _changed(edited, edit.change)
    edited = _appended(edited, edit.add)
    _check(edited, _expected(entries, edit), file)
    return edited


def _expected(entries: Iterable[Entry], edit: FileEdit) -> list[Entry]:
    return [*edited_entries(entries, edit), *edit.add]


def edited_entries(entries: Iterable[Entry], edit: FileEdit) -> list[Entry]:
    """Return what is left of the entries of a file, without those that are added."""
    kept = []
    for entry in entries:
        change = edit.change.get(entry.id)
        if change is not None:
            tests = tuple(test for test in entry.tests if test not in change.remove_tests)
            match = Match() if change.remove_match else entry.match
            entry = replace(entry, tests=tests, match=match, test_lines=())
        if entry.id not in edit.remove:
            kept.append(entry)
    return kept


def _check(text: str, expected: Sequence[Entry], file: str) -> None:
    found, problems = parse_text(text, file)
    if problems or list(found) != list(expected):
        what = str(problems[0]) if problems else "the entries would not be those that were meant"
        raise ConformanceError("edit-failed", f"{file} was not changed, since the edit would break it: {what}")


def _without_entries(text: str, remove: frozenset[str], entries: Sequence[Entry]) -> str:
    """Cut entries out with the comment that stands directly above each; other comments stay."""
    if not remove:
        return text
    lines = _lines(text)
    headers = [where.line - 1 for where in locate(text).entries]
    if len(headers) != len(entries):
        raise ConformanceError("edit-failed", "the entries are no [[entry]] tables; write them as such to edit them")
    starts = [_with_comment(lines, header) for header in headers]
    ends = [*starts[1:], len(lines)]
    cut: set[int] = set()
    for entry, header, start, end in zip(entries, headers, starts, ends, strict=True):
        if entry.id not in remove:
            continue
        last = end
        while last > header + 1 and not _says_something(lines[last - 1]):
            last -= 1
        # One of the two gaps around the entry goes with it, so that the others keep theirs.
        while last < end and not lines[last].strip():
            last += 1
        cut.update(range(start, last))
    kept = "".join(line for number, line in enumerate(lines) if number not in cut)
    # The last entry has no gap behind it: the one before it would end the file.
    return kept.rstrip("\r\n") + _newline(text)


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; TOML, unlike str.splitlines, knows no other end than a newline."""
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [line for line in text.split("\n")[-1:] if line]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _with_comment(lines: Sequence[str], header: int) -> int:
    start = header
    while start > 0 and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return start


def _says_something(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _changed(text: str, changes: Mapping[str, EntryEdit]) -> str:
    if not changes:
        return text
    import tomlkit

    document = tomlkit.parse(text)
    tables: Any = document["entry"]
    for table in tables:
        change = changes.get(str(table["id"]))
        if change is None:
            continue
        if change.remove_match and "match" in table:
            del table["match"]
        if change.remove_tests:
            tests = table["tests"]
            for position in reversed(range(len(tests))):
                if str(tests[position]) in change.remove_tests:
                    del tests[position]
            if not tests:
                del table["tests"]
    return tomlkit.dumps(document)


def _appended(text: str, entries: Iterable[Entry]) -> str:
    newline = _newline(text)
    for entry in entries:
        text = f"{text.rstrip()}{newline}{newline}{render_entry(entry).replace(chr(10), newline)}"
    return text
