"""The nouns of a skiplist: an entry, its place, what it matches, and the list that it is part of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from conformance.skiplist.vocabulary import Category, Expectation

ANY_FILE = "*::"


def split_test_id(test: str) -> tuple[str, str, str]:
    """Return file (``*`` for any), class (empty without one) and method of a test id.

    Parameters, which stand in brackets behind the method, may hold anything, the colons between the parts too.
    """
    file, _, rest = test.partition("::")
    base, bracket, parameters = rest.partition("[")
    class_name, _, method = base.rpartition("::")
    return file, class_name, f"{method}{bracket}{parameters}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a file as the user named it, and a line counted from 1 (0: not known)."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        if not self.file:
            return "(no file)"
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Match:
    """Patterns that a test must meet: one of each field that is given.

    The patterns are shell patterns, case-sensitive, over the whole value (``fnmatch.fnmatchcase``). ``ops`` and
    ``modules`` are full names, ``names`` the method with operator and dtype filled in and without the device.
    """

    ops: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the fields that are given, with their patterns, in the order of their definition."""
        return tuple((name, getattr(self, name)) for name in MATCH_FIELDS if getattr(self, name))

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in MATCH_FIELDS)


MATCH_FIELDS = ("ops", "modules", "dtypes", "templates", "names", "classes", "files")


@dataclass(frozen=True, slots=True)
class Entry:
    """One cause, what it does to which tests, and why.

    ``tests`` are test ids; one that begins with ``*::`` names class and method in whatever file. The conditions
    ``torch`` and ``device_version`` are version specifiers, ``device_name`` a shell pattern; they are empty, and
    ``emulated`` and ``expires`` None, where the entry does not depend on them. ``message`` is a regular expression.
    ``guess`` marks an entry that a program wrote and nobody has confirmed. Where an entry stands does not make it
    another one: ``place`` and ``test_lines`` (of each of ``tests``, or empty) take no part in comparisons.
    """

    id: str
    expect: Expectation
    category: Category
    reason: str
    link: str
    added: date
    owner: str = ""
    torch: str = ""
    device_version: str = ""
    device_name: str = ""
    emulated: bool | None = None
    expires: date | None = None
    message: str = ""
    guess: bool = False
    match: Match = Match()
    tests: tuple[str, ...] = ()
    place: Place = field(default=Place(), compare=False)
    test_lines: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def place_of_test(self, index: int) -> Place:
        """Return where the test of that index stands; the entry's own place where that is not known."""
        return Place(self.place.file, self.test_lines[index]) if index < len(self.test_lines) else self.place


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a skiplist that cannot be used as it is, where it stands, and what to do."""

    place: Place
    entry_id: str
    text: str

    def __str__(self) -> str:
        entry = f"entry '{self.entry_id}': " if self.entry_id else ""
        return f"{self.place}: {entry}{self.text}"


@dataclass(frozen=True, slots=True)
class Skiplist:
    """The entries of one or several files, in the order in which they count: a later one wins among equals."""

    entries: tuple[Entry, ...] = ()
    files: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)
