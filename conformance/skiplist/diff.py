"""Compare two states of a skiplist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import date
from enum import Enum
from typing import Any

from conformance.skiplist.entry import MATCH_FIELDS, Entry, Skiplist

_COMPARED = tuple(field.name for field in fields(Entry) if field.compare and field.name not in ("id", "match", "tests"))


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of an entry, before and after; empty where it says nothing."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedEntry:
    """An entry that both states have: what changed in it."""

    before: Entry
    after: Entry
    changes: tuple[FieldChange, ...]
    tests_added: tuple[str, ...]
    tests_removed: tuple[str, ...]

    @property
    def weakened(self) -> bool:
        """Tell whether the entry now lists more, or runs less, than before."""
        return bool(self.tests_added) or (self.before.expect.runs and not self.after.expect.runs)


@dataclass(frozen=True, slots=True)
class Difference:
    """What one state of a list has and the other has not; ``renamed`` are pairs that differ in their id only."""

    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    changed: tuple[ChangedEntry, ...]
    renamed: tuple[tuple[Entry, Entry], ...]
    entries_before: int
    entries_after: int
    tests_before: int
    tests_after: int
    tests_added: int
    tests_removed: int

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.renamed)


def difference(before: Skiplist, after: Skiplist) -> Difference:
    """Return what changed from one state to the other.

    Where an entry stands, and the order of its tests, is no difference. A test that moves from one entry to another is
    neither added nor removed in the totals, which count different ids.
    """
    old, new = _by_id(before), _by_id(after)
    added = [entry for entry in after if entry.id not in old]
    removed = [entry for entry in before if entry.id not in new]
    renamed = _renamed(removed, added)
    gone = {entry.id for entry, _ in renamed}
    came = {entry.id for _, entry in renamed}
    changed = [change for entry in after if entry.id in old and (change := _changed(old[entry.id], entry)) is not None]
    tests_before, tests_after = _tests(before), _tests(after)
    return Difference(
        added=tuple(entry for entry in added if entry.id not in came),
        removed=tuple(entry for entry in removed if entry.id not in gone),
        changed=tuple(changed),
        renamed=tuple(renamed),
        entries_before=len(before),
        entries_after=len(after),
        tests_before=len(tests_before),
        tests_after=len(tests_after),
        tests_added=len(tests_after - tests_before),
        tests_removed=len(tests_before - tests_after),
    )


def _by_id(skiplist: Skiplist) -> dict[str, Entry]:
    return {entry.id: entry for entry in skiplist}


def _tests(skiplist: Skiplist) -> set[str]:
    return {test for entry in skiplist for test in entry.tests}


def _renamed(removed: Iterable[Entry], added: Iterable[Entry]) -> list[tuple[Entry, Entry]]:
    waiting = {_nameless(entry): entry for entry in added}
    return [(entry, waiting.pop(_nameless(entry))) for entry in removed if _nameless(entry) in waiting]


def _nameless(entry: Entry) -> Entry:
    return replace(entry, id="", tests=tuple(sorted(entry.tests)))


def _changed(before: Entry, after: Entry) -> ChangedEntry | None:
    changes = tuple(_field_changes(before, after))
    old, new = set(before.tests), set(after.tests)
    if not changes and old == new:
        return None
    return ChangedEntry(before, after, changes, tuple(sorted(new - old)), tuple(sorted(old - new)))


def _field_changes(before: Entry, after: Entry) -> Iterator[FieldChange]:
    for name in _COMPARED:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield FieldChange(name, _text(old), _text(new))
    for name in MATCH_FIELDS:
        old, new = getattr(before.match, name), getattr(after.match, name)
        if set(old) != set(new):
            yield FieldChange(f"match.{name}", ", ".join(old), ", ".join(new))


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case date():
            return value.isoformat()
        case Enum():
            return str(value)
        case _:
            return str(value)
