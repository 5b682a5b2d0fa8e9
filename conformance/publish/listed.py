"""Judge the entries of a skiplist by what became of their tests in one run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.model.outcome import Outcome
from conformance.publish.matrix import Sight, outcome_of
from conformance.skiplist.observed import Evidence, Observed, evidence
from conformance.skiplist.vocabulary import Expectation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.publish.matrix import RunOutcomes


@dataclass(frozen=True, slots=True)
class ListedCounts:
    """The tests that entries speak of, by what the run says: see conformance.skiplist.observed.Evidence."""

    holding: int = 0
    improved: int = 0
    passing: int = 0
    unseen: int = 0

    @property
    def tests(self) -> int:
        """Return all of them."""
        return self.holding + self.improved + self.passing + self.unseen

    def __add__(self, other: ListedCounts) -> ListedCounts:
        return ListedCounts(
            self.holding + other.holding,
            self.improved + other.improved,
            self.passing + other.passing,
            self.unseen + other.unseen,
        )


def listed_counts(row: RunOutcomes, expectations: Mapping[int, str]) -> dict[int, ListedCounts]:
    """Count the listed tests of a run for each entry, by the number that it has in the database."""
    kinds = Counter((entry, row.codes[place]) for place, entry in row.entries.items())
    counts: dict[int, Counter[Evidence]] = {}
    for (entry, byte), tests in kinds.items():
        counts.setdefault(entry, Counter())[_evidence(expectations.get(entry, ""), byte)] += tests
    return {
        entry: ListedCounts(
            holding=counted[Evidence.HOLDS],
            improved=counted[Evidence.IMPROVED],
            passing=counted[Evidence.PASSES],
            unseen=counted[Evidence.UNSEEN],
        )
        for entry, counted in counts.items()
    }


def _evidence(expect: str, byte: int) -> Evidence:
    try:
        expectation = Expectation(expect)
    except ValueError:
        return Evidence.UNSEEN  # a word of a newer harness: nothing can be said
    sight = byte // 16
    return evidence(
        expectation,
        [Observed(Outcome(outcome_of(byte)), None if sight == Sight.UNSEEN else sight == Sight.ON_CPU)],
    )


def whole_list(counts: Iterable[ListedCounts]) -> ListedCounts:
    """Add up the counts of entries; a test has at most one of them."""
    return sum(counts, ListedCounts())


def entry_state(counts: ListedCounts) -> str:
    """Return what the run says about an entry, a key of STATE_DEFINITIONS."""
    if not counts.tests:
        return "no tests"
    if counts.passing:
        return "stale" if counts.passing == counts.tests else "partly stale"
    if counts.improved:
        return "improved"
    return "holds" if counts.holding else "not seen"


STATE_DEFINITIONS: Mapping[str, str] = {
    "stale": "Each of its tests passed in this run, and it expects otherwise: it can go.",
    "partly stale": "Some of its tests passed in this run, and it expects otherwise: they can go.",
    "improved": "Some of its tests do better than it expects, but do not pass: a crash that is a failure now.",
    "no tests": "It speaks of no test of this run, or an earlier entry speaks of them all.",
    "not seen": "None of its tests was run, so nothing is known.",
    "holds": "Its tests do what it expects.",
}
