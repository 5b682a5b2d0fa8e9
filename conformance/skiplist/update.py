"""Decide what changes in a list: what has become stale goes, and what a run saw comes in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from conformance.skiplist.conditions import Conditions, Context
from conformance.skiplist.edit import EntryEdit, FileEdit, edited_entries
from conformance.skiplist.entry import Entry, Skiplist
from conformance.skiplist.known import Known
from conformance.skiplist.matching import Matcher
from conformance.skiplist.observed import Evidence, Observed, as_expected
from conformance.skiplist.propose import Origin, Proposal, listed_expectations, propose
from conformance.skiplist.stale import EntryEvidence, find_stale


@dataclass(frozen=True, slots=True)
class Update:
    """What makes a list fit a run.

    ``edits`` are of existing files, by their names; ``proposal`` holds the entries to add. ``left`` are entries whose
    patterns match tests that pass and others that do not: only a person can say how to narrow them.
    """

    edits: dict[str, FileEdit]
    proposal: Proposal
    left: tuple[EntryEvidence, ...]


def prune_edits(found: Iterable[EntryEvidence]) -> dict[str, FileEdit]:
    """Return the edits that take out what is stale, by file; what cannot be taken out without the rest stays."""
    removed: dict[str, set[str]] = {}
    changed: dict[str, dict[str, EntryEdit]] = {}
    for one in found:
        file = one.entry.place.file
        if one.is_stale:
            removed.setdefault(file, set()).add(one.entry.id)
        elif one.stale_ids or one.stale_patterns:
            edit = EntryEdit(frozenset(one.stale_ids), one.stale_patterns)
            changed.setdefault(file, {})[one.entry.id] = edit
    return {
        file: FileEdit(frozenset(removed.get(file, ())), changed.get(file, {})) for file in sorted({*removed, *changed})
    }


def update(
    skiplist: Skiplist,
    known: Known,
    observations: Mapping[str, Observed],
    origin: Origin,
    *,
    context: Context | None = None,
    fallbacks: bool = False,
) -> Update:
    """Return what makes the list fit the run: ids that pass or are gone go, those that do something else move.

    An id whose test does something else than its entry expects is taken out of it, and gets an entry of its own unless
    patterns of another one expect just that.
    """
    found = find_stale(skiplist, known, [observations], context=context)
    edits = prune_edits(found)
    for one in found:
        misfits = _misfits(one, observations)
        if misfits:
            _take_out(edits, one.entry, misfits)
    conditions = Conditions(context or Context())
    after = [left for entry in skiplist for left in edited_entries([entry], edits.get(entry.place.file, FileEdit()))]
    active = [entry for entry in after if not conditions.why_inactive(entry)]
    listed = listed_expectations(Matcher(active), known.tests)
    proposal = propose(observations, listed, origin, taken={entry.id for entry in skiplist}, fallbacks=fallbacks)
    left = tuple(one for one in found if _matches_what_passes(one))
    return Update(edits, proposal, left)


def _misfits(one: EntryEvidence, observations: Mapping[str, Observed]) -> set[str]:
    """Return the listed ids whose tests were seen to do something else, and do not pass."""
    misfits = set()
    for test in one.tests:
        seen = observations.get(test.test_id)
        passes = test.evidence is Evidence.PASSES
        if test.listed_as and seen is not None and not passes and not as_expected(one.entry.expect, seen):
            misfits.add(test.listed_as)
    return misfits


def _take_out(edits: dict[str, FileEdit], entry: Entry, tests: set[str]) -> None:
    file = entry.place.file
    edit = edits.get(file, FileEdit())
    if entry.id in edit.remove:
        return
    known = edit.change.get(entry.id, EntryEdit())
    changed = replace(known, remove_tests=known.remove_tests | tests)
    nothing_left = not set(entry.tests) - changed.remove_tests and (changed.remove_match or not entry.match)
    change = {name: other for name, other in edit.change.items() if name != entry.id}
    if nothing_left:
        edits[file] = replace(edit, remove=edit.remove | {entry.id}, change=change)
    else:
        edits[file] = replace(edit, change={**change, entry.id: changed})


def _matches_what_passes(one: EntryEvidence) -> bool:
    by_patterns = [test.evidence for test in one.tests if not test.listed_as]
    return Evidence.PASSES in by_patterns and not one.stale_patterns


def with_added(found: Update, file: str) -> dict[str, FileEdit]:
    """Return the edits of an update with its new entries at the end of a file."""
    if not found.proposal.entries:
        return dict(found.edits)
    return {**found.edits, file: replace(found.edits.get(file, FileEdit()), add=found.proposal.entries)}
