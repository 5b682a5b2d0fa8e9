"""Find the entries that no longer hold: all or some of their tests pass, or are gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conformance.skiplist.conditions import Conditions, Context
from conformance.skiplist.entry import ANY_FILE, Entry
from conformance.skiplist.known import Known
from conformance.skiplist.matching import Candidates, MatchedBy, Matcher
from conformance.skiplist.observed import Evidence, Observed, evidence


@dataclass(frozen=True, slots=True)
class Listed:
    """What became of one test of an entry: its id in the run, and how the entry lists it.

    ``listed_as`` is the id in ``tests``, empty where the patterns match the test.
    """

    test_id: str
    listed_as: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class EntryEvidence:
    """What the runs say about one entry: of each of its tests, and which of its ids are gone.

    ``patterns_match_nothing`` is True where its patterns could have matched tests of the run, and matched none.
    """

    entry: Entry
    tests: tuple[Listed, ...]
    gone: tuple[str, ...]
    patterns_match_nothing: bool

    def count(self, kind: Evidence) -> int:
        """Return of how many tests that is the evidence."""
        return sum(test.evidence is kind for test in self.tests)

    @property
    def stale_ids(self) -> tuple[str, ...]:
        """Return the ids in ``tests`` that can go: what they mean passes, or is gone."""
        passing = {test.listed_as for test in self.tests if test.listed_as and test.evidence is Evidence.PASSES}
        holding = {test.listed_as for test in self.tests if test.listed_as and test.evidence is not Evidence.PASSES}
        stale = (passing - holding) | set(self.gone)
        return tuple(test for test in self.entry.tests if test in stale)

    @property
    def stale_patterns(self) -> bool:
        """Tell whether ``match`` can go: all that it matches passes, or it matches nothing."""
        by_patterns = [test for test in self.tests if not test.listed_as]
        passes = bool(by_patterns) and all(test.evidence is Evidence.PASSES for test in by_patterns)
        return bool(self.entry.match) and (passes or self.patterns_match_nothing)

    @property
    def is_stale(self) -> bool:
        """Tell whether the whole entry can go."""
        ids_left = len(set(self.entry.tests)) - len(set(self.stale_ids))
        return not ids_left and (self.stale_patterns or not self.entry.match)

    @property
    def is_partly_stale(self) -> bool:
        """Tell whether some of it no longer holds: a part can go, or a pattern matches tests that pass."""
        passes = bool(self.count(Evidence.PASSES))
        return not self.is_stale and (passes or bool(self.stale_ids) or self.stale_patterns)


def find_stale(
    entries: Iterable[Entry],
    known: Known,
    observations: Sequence[Mapping[str, Observed]],
    *,
    context: Context | None = None,
    at_least: int = 1,
) -> tuple[EntryEvidence, ...]:
    """Return the evidence for every active entry.

    ``observations`` are those of each run, the newest first, by test id; ``known`` is what the newest planned. A test
    passes only if at least ``at_least`` of the runs ran it. An entry is held against every test that it matches, those
    that another entry counts for too.
    """
    conditions = Conditions(context or Context())
    active = [entry for entry in entries if not conditions.why_inactive(entry)]
    candidates = Candidates(active)
    found: dict[str, list[Listed]] = {entry.id: [] for entry in active}
    for test in known.tests:
        matched_by = candidates.of(test)
        if not matched_by:
            continue
        test_id = test.test_id
        seen = [run[test_id] for run in observations if test_id in run]
        for matched in matched_by:
            kind = evidence(matched.entry.expect, seen)
            if kind is Evidence.PASSES and sum(one.was_seen for one in seen) < at_least:
                kind = Evidence.UNSEEN
            listed_as = test_id if matched.by is MatchedBy.TEST else ""
            if matched.by is MatchedBy.TEST_IN_ANY_FILE:
                listed_as = f"{ANY_FILE}{test_id.partition('::')[2]}"
            found[matched.entry.id].append(Listed(test_id, listed_as, kind))
    met = Matcher(active).entries_met(known.tests)
    return tuple(
        EntryEvidence(
            entry,
            tuple(found[entry.id]),
            tuple(test for test in entry.tests if known.is_missing(test)),
            bool(entry.match) and known.complete and entry.id not in met and known.takes_in(entry.match),
        )
        for entry in active
    )
