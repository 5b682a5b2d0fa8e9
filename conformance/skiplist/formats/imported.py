"""What comes out of a list of another project: entries, and an account of everything that it said."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import date

from conformance.skiplist.entry import Entry, Match
from conformance.skiplist.keys import ENTRY_ID
from conformance.skiplist.parse import problem_of_test
from conformance.skiplist.vocabulary import Category, Expectation

_NOT_IN_ID = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_ID = 90
_URL = re.compile(r"https?://[^\s\"'<>)\]]+")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What a foreign list does not say: for which device it is, and what its entries are to be called."""

    device: str
    added: date
    prefix: str
    category: Category = Category.UNKNOWN
    owner: str = ""
    expect: Expectation | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """One thing that a list says and that could be mapped, to an exact test id or to patterns.

    ``group`` is what entries are made of where the list gives no reason: a class, a file.
    """

    expect: Expectation
    group: str
    test: str = ""
    match: Match = field(default_factory=Match)
    reason: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Unmapped:
    """One thing that could not be mapped: its text, its line in the source (0: not known), and why."""

    text: str
    why: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was mapped, but not to the letter: what, how often, and the first of them."""

    text: str
    count: int
    example: str


@dataclass(slots=True)
class Reading:
    """What a reader of a format collects."""

    listed: list[Listed] = field(default_factory=list)
    unmapped: list[Unmapped] = field(default_factory=list)
    notes: dict[str, Note] = field(default_factory=dict)

    def note(self, text: str, example: str) -> None:
        """Count a note, and keep the first example of it."""
        known = self.notes.get(text)
        self.notes[text] = replace(known, count=known.count + 1) if known else Note(text, 1, example)

    def leave_out(self, text: str, why: str, line: int = 0) -> None:
        """List what could not be mapped."""
        self.unmapped.append(Unmapped(text, why, line))


@dataclass(frozen=True, slots=True)
class Imported:
    """The result: ``read`` things were said, of which ``mapped`` are in the entries and the others ``unmapped``."""

    entries: tuple[Entry, ...]
    read: int
    mapped: int
    unmapped: tuple[Unmapped, ...]
    notes: tuple[Note, ...]


def imported(reading: Reading, options: ImportOptions) -> Imported:
    """Return the entries that a list becomes: one for each reason, expectation and group.

    Things that are mapped to one test twice are listed once, and noted.
    """
    groups: dict[tuple[object, ...], list[Listed]] = {}
    mapped = 0
    for listed in reading.listed:
        problem = _problem(listed)
        if problem:
            reading.leave_out(listed.test or listed.group, problem)
            continue
        mapped += 1
        key = (listed.expect, listed.group, listed.reason, listed.link, replace(listed.match, names=()))
        groups.setdefault(key, []).append(listed)
    names = _Names(options.prefix)
    entries = []
    for members in groups.values():
        first = members[0]
        tests: set[str] = set()
        for member in members:
            if member.test in tests:
                reading.note("another name means the same test, which is listed once", member.test)
            elif member.test:
                tests.add(member.test)
        patterns = dict.fromkeys(name for member in members for name in member.match.names)
        entries.append(
            Entry(
                id=names.unused(first.group),
                expect=first.expect,
                category=options.category,
                reason=first.reason,
                link=first.link,
                added=options.added,
                owner=options.owner,
                match=replace(first.match, names=tuple(sorted(patterns))),
                tests=tuple(sorted(tests)),
            )
        )
    return Imported(
        entries=tuple(entries),
        read=mapped + len(reading.unmapped),
        mapped=mapped,
        unmapped=tuple(reading.unmapped),
        notes=tuple(reading.notes.values()),
    )


def _problem(listed: Listed) -> str:
    """Return why no entry can hold what was mapped, or nothing."""
    if listed.test and problem_of_test(listed.test):
        return "a name in it is none that a test can have"
    if any(not pattern.strip() for _, patterns in listed.match.fields for pattern in patterns):
        return "a name in it is empty"
    return ""


class _Names:
    """Make up ids that are unique and say what an entry is about."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._used: set[str] = set()

    def unused(self, group: str) -> str:
        parts = [_NOT_IN_ID.sub("-", part).strip("-") for part in (self._prefix, group)]
        stem = "-".join(filter(None, parts))[:_LONGEST_ID].rstrip("-")
        name = stem if ENTRY_ID.fullmatch(stem) else f"entry-{stem}".rstrip("-")[:_LONGEST_ID]
        number = 1
        base = name
        while name in self._used:
            number += 1
            name = f"{base}-{number}"
        self._used.add(name)
        return name


def split_link(text: str) -> tuple[str, str]:
    """Return a remark as reason and link: the first address in it, which leaves the reason if it is all of it."""
    found = _URL.search(text)
    reason = " ".join(text.split())
    if found is None:
        return reason, ""
    link = found[0].rstrip(".,;:")
    return ("" if reason == link else reason), link


def under_test_folder(path: str) -> str:
    """Return the path as PyTorch's test ids have it: relative to the folder ``test`` of a checkout, if it is in one."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if "test" in parts[:-1]:
        parts = parts[parts.index("test") + 1 :]
    return "/".join(part for part in parts if part != "..")
