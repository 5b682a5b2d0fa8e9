"""Find the entry that counts for each test.

The rules, which docs/skiplists.md explains with examples:

1. An entry whose conditions do not hold takes no part.
2. It matches a test by an exact id in ``tests``, or by ``match``: every field that is given must be met, and one
   pattern of a field is enough. A test that has no operator meets no condition on ``ops``; the other fields likewise.
3. If several match: an id that names its file beats one for any file (``*::``), which beats ``match``; a ``match``
   that gives more fields beats one that gives fewer; then the later entry beats the earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from operator import itemgetter
from typing import NamedTuple

from conformance.model.identity import Identity
from conformance.skiplist.conditions import Conditions, Context
from conformance.skiplist.entry import ANY_FILE, MATCH_FIELDS, Entry
from conformance.skiplist.patterns import Mask, PatternIndex, any_met


class MatchedBy(IntEnum):
    """How an entry matches a test; a greater one beats a smaller one."""

    PATTERNS = 0
    TEST_IN_ANY_FILE = 1
    TEST = 2


class MatchedEntry(NamedTuple):
    """The entry that counts for a test, and how it matches it."""

    entry: Entry
    by: MatchedBy


class Matcher:
    """The active entries of a skiplist, indexed: a test costs a few look-ups, however long the list is."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._tests: dict[str, Entry] = {}
        self._any_file: dict[str, Entry] = {}
        with_patterns: list[tuple[int, int, Entry]] = []
        for position, entry in enumerate(entries):
            for test in entry.tests:
                if test.startswith(ANY_FILE):
                    self._any_file[test[len(ANY_FILE) :]] = entry
                else:
                    self._tests[test] = entry
            if entry.match:
                with_patterns.append((len(entry.match.fields), position, entry))
        # From the weakest to the strongest, so that the highest bit of a mask is the one that counts.
        with_patterns.sort(key=itemgetter(0, 1))
        self._ranked = [MatchedEntry(entry, MatchedBy.PATTERNS) for _, _, entry in with_patterns]
        self._indexes = _indexes([entry for _, _, entry in with_patterns])

    def match(self, identity: Identity) -> MatchedEntry | None:
        """Return the entry that counts for the test, or None."""
        return self._find(identity, identity.test_id)

    def _find(self, identity: Identity, test_id: str) -> MatchedEntry | None:
        entry = self._tests.get(test_id)
        if entry is not None:
            return MatchedEntry(entry, MatchedBy.TEST)
        if self._any_file:
            entry = self._any_file.get(_without_file(identity, test_id))
            if entry is not None:
                return MatchedEntry(entry, MatchedBy.TEST_IN_ANY_FILE)
        mask = self._mask(identity) if self._ranked else 0
        return self._ranked[mask.bit_length() - 1] if mask else None

    def apply(self, identities: Iterable[Identity]) -> dict[str, MatchedEntry]:
        """Return the entry that counts for each test that is listed, by test id, in the order of the tests."""
        matched = {}
        for identity in identities:
            test_id = identity.test_id
            found = self._find(identity, test_id)
            if found is not None:
                matched[test_id] = found
        return matched

    def by_patterns(self, identity: Identity) -> Iterator[MatchedEntry]:
        """Yield every entry whose patterns the test meets, the strongest first."""
        mask = self._mask(identity) if self._ranked else 0
        while mask:
            position = mask.bit_length() - 1
            yield self._ranked[position]
            mask ^= 1 << position

    def entries_met(self, identities: Iterable[Identity]) -> frozenset[str]:
        """Return the ids of the entries whose patterns any of the tests meets, whether they count for it or not."""
        met = 0
        if self._ranked:
            for identity in identities:
                met |= self._mask(identity)
        return frozenset(matched.entry.id for position, matched in enumerate(self._ranked) if met & (1 << position))

    def _mask(self, identity: Identity) -> Mask:
        mask = -1
        for field, index in self._indexes:
            mask &= index.accepting(_value(identity, field))
            if not mask:
                break
        return mask


class Candidates:
    """Find every entry that matches a test, the one that counts first."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._matcher = Matcher(entries)
        self._tests: dict[str, list[MatchedEntry]] = {}
        for entry in reversed(entries):
            # An entry that lists a test twice matches it once.
            for test in dict.fromkeys(entry.tests):
                by = MatchedBy.TEST_IN_ANY_FILE if test.startswith(ANY_FILE) else MatchedBy.TEST
                self._tests.setdefault(test, []).append(MatchedEntry(entry, by))

    def of(self, identity: Identity) -> list[MatchedEntry]:
        """Return the entries that match, from the strongest to the weakest, each once."""
        test_id = identity.test_id
        found = list(self._tests.get(test_id, ()))
        found += self._tests.get(ANY_FILE + _without_file(identity, test_id), ())
        found += self._matcher.by_patterns(identity)
        if len(found) < 2:
            return found
        strongest: dict[str, MatchedEntry] = {}
        for matched in found:
            strongest.setdefault(matched.entry.id, matched)
        return list(strongest.values())


def compile_skiplist(entries: Iterable[Entry], context: Context | None = None) -> Matcher:
    """Return what finds the entry that counts for a test, among the entries that are active in the context.

    Without a context no condition is judged: every entry counts as active.
    """
    conditions = Conditions(context or Context())
    return Matcher([entry for entry in entries if not conditions.why_inactive(entry)])


def meets(identity: Identity, field: str, patterns: Iterable[str]) -> bool:
    """Tell whether the test meets the patterns of one field of ``match``."""
    value = _value(identity, field)
    return value is not None and any_met(patterns, value)


def _value(identity: Identity, field: str) -> str | None:
    match field:
        case "ops":
            return identity.op
        case "modules":
            return identity.module
        case "dtypes":
            return identity.dtype
        case "templates":
            return identity.template
        case "names":
            return identity.name
        case "classes":
            return identity.class_name or None
        case _:
            return identity.file


def _without_file(identity: Identity, test_id: str) -> str:
    return test_id[len(identity.file) + 2 :]


def _indexes(entries: Sequence[Entry]) -> list[tuple[str, PatternIndex]]:
    """Return an index for each field that any entry gives; names, which are all different, come last."""
    indexes = []
    for field in sorted(MATCH_FIELDS, key=lambda name: name == "names"):
        with_field: list[tuple[str, Mask]] = []
        unconditional = bytearray(len(entries) // 8 + 1)
        for position, entry in enumerate(entries):
            patterns = getattr(entry.match, field)
            with_field += [(pattern, 1 << position) for pattern in patterns]
            if not patterns:
                unconditional[position >> 3] |= 1 << (position & 7)
        if with_field:
            indexes.append((field, PatternIndex(with_field, int.from_bytes(unconditional, "little"))))
    return indexes
