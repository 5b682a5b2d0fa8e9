"""Say which entry counts for a test, and why none of the others does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from conformance.errors import UsageError
from conformance.model.identity import Identity, Suite
from conformance.skiplist.conditions import Conditions, Context
from conformance.skiplist.entry import ANY_FILE, Entry, split_test_id
from conformance.skiplist.matching import Candidates, MatchedBy, MatchedEntry, meets
from conformance.skiplist.parse import problem_of_test


class Standing(str, Enum):
    """How an entry stands to a test."""

    COUNTS = "counts"
    BEATEN = "beaten"
    INACTIVE = "inactive"
    UNDECIDED = "undecided"
    ALMOST = "almost"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Explained:
    """One entry: how it stands to the test, by what it matches it, and why it does not count, if it does not."""

    entry: Entry
    standing: Standing
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything about one test: the entries that match it, the strongest first, and those that almost do.

    ``unknown`` are the fields of ``match`` whose value for this test is not known.
    """

    test: Identity
    unknown: tuple[str, ...]
    entries: tuple[Explained, ...]

    @property
    def counts(self) -> Entry | None:
        """Return the entry that counts for the test, or None."""
        return next((found.entry for found in self.entries if found.standing is Standing.COUNTS), None)


def explain(
    entries: Sequence[Entry], test: Identity, *, context: Context | None = None, unknown: Sequence[str] = ()
) -> Explanation:
    """Return how every entry that concerns the test stands to it.

    Entries whose patterns the test meets in all fields but one come last, as ``almost``. A pattern for an ``unknown``
    field can neither be met nor missed: such an entry is undecided.
    """
    conditions = Conditions(context or Context())
    inactive = {entry.id: why for entry in entries if (why := conditions.why_inactive(entry))}
    undecided = [found for entry in entries if (found := _undecided(entry, test, unknown))]
    skipped = {found.entry.id for found in undecided}
    decided = [entry for entry in entries if entry.id not in skipped]
    told: list[Explained] = []
    winner: MatchedEntry | None = None
    for matched in Candidates(decided).of(test):
        by = _by(matched, test)
        if matched.entry.id in inactive:
            told.append(Explained(matched.entry, Standing.INACTIVE, by, inactive[matched.entry.id]))
        elif winner is None:
            winner = matched
            told.append(Explained(matched.entry, Standing.COUNTS, by))
        else:
            told.append(Explained(matched.entry, Standing.BEATEN, by, _why_beaten(winner, matched)))
    matching = {found.entry.id for found in told}
    almost = [found for entry in decided if entry.id not in matching and (found := _almost(entry, test))]
    return Explanation(test, tuple(unknown), (*told, *undecided, *almost))


def _by(matched: MatchedEntry, test: Identity) -> str:
    match matched.by:
        case MatchedBy.TEST:
            return f"tests: {test.test_id}"
        case MatchedBy.TEST_IN_ANY_FILE:
            return f"tests: {ANY_FILE}{test.test_id.partition('::')[2]}"
        case MatchedBy.PATTERNS:
            return _fields(matched.entry)


def _fields(entry: Entry) -> str:
    return "match: " + "; ".join(f"{field} {', '.join(patterns)}" for field, patterns in entry.match.fields)


def _why_beaten(winner: MatchedEntry, loser: MatchedEntry) -> str:
    if winner.by is not loser.by:
        names = {
            MatchedBy.TEST: "an id with its file",
            MatchedBy.TEST_IN_ANY_FILE: "an id",
            MatchedBy.PATTERNS: "patterns",
        }
        return f"{names[winner.by]} ('{winner.entry.id}') beats {names[loser.by].removesuffix(' with its file')}"
    more, fewer = len(winner.entry.match.fields), len(loser.entry.match.fields)
    if winner.by is MatchedBy.PATTERNS and more != fewer:
        return f"'{winner.entry.id}' gives {more} fields, this one {fewer}"
    return f"'{winner.entry.id}' stands after it"


def _undecided(entry: Entry, test: Identity, unknown: Sequence[str]) -> Explained | None:
    names = {test.test_id, f"{ANY_FILE}{test.test_id.partition('::')[2]}"}
    fields = [field for field, _ in entry.match.fields if field in unknown]
    known = [(field, patterns) for field, patterns in entry.match.fields if field not in unknown]
    if not fields or names & set(entry.tests) or not all(meets(test, field, patterns) for field, patterns in known):
        return None
    return Explained(entry, Standing.UNDECIDED, _fields(entry), f"not known here: {', '.join(fields)}")


def _almost(entry: Entry, test: Identity) -> Explained | None:
    missed = [(field, patterns) for field, patterns in entry.match.fields if not meets(test, field, patterns)]
    if len(missed) != 1 or len(entry.match.fields) < 2:
        return None
    field, patterns = missed[0]
    return Explained(entry, Standing.ALMOST, _fields(entry), f"the test does not meet {field} {', '.join(patterns)}")


def read_identity(
    test_id: str,
    *,
    op: str | None = None,
    module: str | None = None,
    dtype: str | None = None,
    template: str | None = None,
) -> tuple[Identity, tuple[str, ...]]:
    """Return the identity that can be read from a test id, and the fields of ``match`` that are not known of it.

    Raises UsageError (``unknown-test``) for what is no test id.
    """
    if problem_of_test(test_id) or test_id.startswith(ANY_FILE):
        raise UsageError("unknown-test", f"'{test_id}' is no test id: it must be 'file::Class::method'")
    file, class_name, name = split_test_id(test_id)
    test = Identity(file, class_name, name, Suite.LOCAL, template or name, op, module, dtype)
    # A test is of an operator, of a module or of neither: knowing one of them is knowing both.
    subject = () if op or module else ("ops", "modules")
    return test, (*subject, *(() if dtype else ("dtypes",)), *(() if template else ("templates",)))
