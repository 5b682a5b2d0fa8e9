"""Count a skiplist: by cause, owner, age, and by what its tests are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import Enum

from conformance.model.identity import Identity
from conformance.skiplist.conditions import Conditions, Context
from conformance.skiplist.dtypes import dtype_at_end
from conformance.skiplist.entry import ANY_FILE, Entry, Skiplist, split_test_id
from conformance.skiplist.known import Known
from conformance.skiplist.matching import Matcher

NOT_KNOWN = "(not known without a run)"
NOT_IN_RUN = "(not in the run)"
NONE = "(none)"
ANY = "(any)"

# Days since an entry was added: the first bound that it stays under.
_AGES = ((30, "under 30 days"), (90, "30 to 89 days"), (365, "90 to 364 days"))


class By(str, Enum):
    """What a skiplist is counted by."""

    CATEGORY = "category"
    EXPECT = "expect"
    OWNER = "owner"
    AGE = "age"
    OP = "op"
    DTYPE = "dtype"
    FILE = "file"
    CLASS = "class"

    def __str__(self) -> str:
        return self.value

    @property
    def is_of_entries(self) -> bool:
        """Tell whether it is a property of the entry, and not of each of its tests."""
        return self in (By.CATEGORY, By.EXPECT, By.OWNER, By.AGE)


@dataclass(frozen=True, slots=True)
class Count:
    """What has one key: ``entries``, the exact ids in their ``tests``, their ``rules`` (entries with patterns).

    ``without_reason`` is how many of the ids and rules have an empty reason. ``planned`` is how many tests of the run
    an entry counts for, None without a run.
    """

    key: str
    entries: int
    tests: int
    rules: int
    without_reason: int
    planned: int | None

    @property
    def listed(self) -> int:
        """Return the ids and rules together: the parts of the list."""
        return self.tests + self.rules


@dataclass(slots=True)
class _Tally:
    """A count in the making."""

    entries: set[str] = field(default_factory=set)
    tests: int = 0
    rules: int = 0
    without_reason: int = 0
    planned: int = 0

    def add(self, entry: Entry, tests: int, rules: int) -> None:
        self.entries.add(entry.id)
        self.tests += tests
        self.rules += rules
        if not entry.reason.strip():
            self.without_reason += tests + rules

    def add_planned(self, entry: Entry) -> None:
        self.entries.add(entry.id)
        self.planned += 1

    def count(self, key: str, *, with_run: bool) -> Count:
        planned = self.planned if with_run else None
        return Count(key, len(self.entries), self.tests, self.rules, self.without_reason, planned)


@dataclass(frozen=True, slots=True)
class Stats:
    """The counts of a list: the whole, and the parts by each of the properties asked for.

    Ids, rules and planned tests of the parts add up to the whole; an entry counts in each part that it has ids in.
    ``inactive`` is how many entries are not active in the context; they are counted like the others, but match no
    planned test. ``tests_planned`` is the size of the run.
    """

    whole: Count
    by: dict[By, tuple[Count, ...]]
    files: tuple[str, ...]
    inactive: int
    oldest: date | None
    source: str
    tests_planned: int | None


def stats(
    skiplist: Skiplist,
    *,
    by: Iterable[By] = tuple(By),
    context: Context | None = None,
    known: Known | None = None,
) -> Stats:
    """Return the counts of a list, those of a run's tests too where it is known."""
    context = context or Context()
    conditions = Conditions(context)
    active = [entry for entry in skiplist if not conditions.why_inactive(entry)]
    pairs = _matched(active, known) if known else []
    whole = _whole(skiplist.entries, pairs, known)
    return Stats(
        whole=whole,
        by={prop: _parts(prop, skiplist.entries, pairs, context, known) for prop in by},
        files=skiplist.files,
        inactive=len(skiplist) - len(active),
        oldest=min((entry.added for entry in skiplist), default=None),
        source=known.source if known else "",
        tests_planned=len(known.tests) if known else None,
    )


def _matched(active: list[Entry], known: Known) -> list[tuple[Identity, Entry]]:
    matcher = Matcher(active)
    return [(test, found.entry) for test in known.tests if (found := matcher.match(test))]


def _whole(entries: Iterable[Entry], pairs: list[tuple[Identity, Entry]], known: Known | None) -> Count:
    whole = _Tally()
    for entry in entries:
        whole.add(entry, len(entry.tests), 1 if entry.match else 0)
    for _, entry in pairs:
        whole.add_planned(entry)
    return whole.count("", with_run=known is not None)


def _parts(
    prop: By, entries: Iterable[Entry], pairs: list[tuple[Identity, Entry]], context: Context, known: Known | None
) -> tuple[Count, ...]:
    """Return the counts by one property, the largest first."""
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    key_of = _of_entry(prop, context)
    for entry in entries:
        for key, tests, rules in _shares(prop, entry, key_of, known):
            tallies[key].add(entry, tests, rules)
    for test, entry in pairs:
        tallies[key_of(entry) if prop.is_of_entries else _of_test(prop, test)].add_planned(entry)
    counts = [tally.count(key, with_run=known is not None) for key, tally in tallies.items()]
    return tuple(sorted(counts, key=lambda part: (-part.listed, -(part.planned or 0), part.key)))


def _shares(
    prop: By, entry: Entry, key_of: Callable[[Entry], str], known: Known | None
) -> Iterator[tuple[str, int, int]]:
    """Yield the keys that an entry counts for, each with its number of ids and of rules."""
    if prop.is_of_entries:
        yield key_of(entry), len(entry.tests), 1 if entry.match else 0
        return
    for test in entry.tests:
        yield _of_id(prop, test, known), 1, 0
    if entry.match:
        yield _of_patterns(prop, entry), 0, 1


def _of_entry(prop: By, context: Context) -> Callable[[Entry], str]:
    match prop:
        case By.CATEGORY:
            return lambda entry: str(entry.category)
        case By.EXPECT:
            return lambda entry: str(entry.expect)
        case By.OWNER:
            return lambda entry: entry.owner or NONE
        case _:
            return lambda entry: _age(entry.added, context.today)


def _age(added: date, today: date | None) -> str:
    if today is None:
        return "(no day was given)"
    days = (today - added).days
    if days < 0:
        return "added in the future"
    return next((name for bound, name in _AGES if days < bound), "365 days and more")


def _of_test(prop: By, test: Identity) -> str:
    match prop:
        case By.OP:
            return test.op or NONE
        case By.DTYPE:
            return test.dtype or NONE
        case By.FILE:
            return test.file
        case _:
            return test.class_name or NONE


def _of_id(prop: By, test: str, known: Known | None) -> str:
    """Return the key of an exact id: what the run knows of it, or else what can be read from it."""
    planned = known.find(test) if known else None
    if planned is not None:
        return _of_test(prop, planned)
    file, class_name, name = split_test_id(test)
    match prop:
        case By.OP:
            # A name cannot be split: 93 of 702 operators' names end in that of another.
            return NOT_KNOWN if known is None else NOT_IN_RUN
        case By.DTYPE:
            return dtype_at_end(name.partition("[")[0]) or NONE
        case By.FILE:
            return ANY if file == ANY_FILE[:1] else file
        case _:
            return class_name or NONE


def _of_patterns(prop: By, entry: Entry) -> str:
    fields = {By.OP: entry.match.ops, By.DTYPE: entry.match.dtypes, By.FILE: entry.match.files}
    patterns = fields.get(prop, entry.match.classes)
    return ", ".join(patterns) if patterns else ANY
