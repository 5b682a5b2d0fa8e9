"""Put into words and tables what is stale in skiplists, and what changes in them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from conformance.report.page import Block, Code, Lines, Page, Paragraph, Table, limited
from conformance.report.words import counted, number
from conformance.skiplist.observed import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.skiplist.edit import FileEdit
    from conformance.skiplist.propose import Proposal
    from conformance.skiplist.stale import EntryEvidence
    from conformance.skiplist.update import Update
    from conformance.store import RunRow

_HEADINGS = ("entry", "tests", "pass", "improved", "hold", "not run", "gone")


def stale_page(found: Sequence[EntryEvidence], runs: Sequence[RunRow], *, top: int) -> Page:
    """Return the entries that are stale, wholly and in part, those with most passing tests first."""
    whole, part = _sorted(one for one in found if one.is_stale), _sorted(one for one in found if one.is_partly_stale)
    title = (
        f"{number(len(whole))} of {counted(len(found), 'active entry', 'active entries')} stale, "
        f"{number(len(part))} in part"
    )
    blocks: list[Block] = [Paragraph(_runs_sentence(runs)), *_unseen(found)]
    for name, entries in (("Stale as a whole", whole), ("Stale in part", part)):
        few, more = limited([_row(one) for one in entries], top)
        blocks.append(Table(name, _HEADINGS, few, more))
    improved = _sorted(one for one in found if one.count(Evidence.IMPROVED))
    if improved:
        few, more = limited([_row(one) for one in improved], top)
        blocks.append(Table("Improved: what they expect no longer happens, but they do not pass", _HEADINGS, few, more))
    passing = [f"'{one.entry.id}': {test.test_id}" for one in part for test in one.tests if _passes(test.evidence)]
    if passing:
        few_lines, more = limited(passing, top)
        blocks.append(Lines("Passing tests of entries that are stale in part", few_lines, more))
    return Page(title, tuple(blocks))


def stale_document(found: Sequence[EntryEvidence], runs: Sequence[RunRow]) -> dict[str, object]:
    """Return the same for scripts, with every entry and every test that passes, improved or is gone."""
    return {
        "runs": [_run(run) for run in runs],
        "entries": [
            {
                "entry": one.entry.id,
                "file": one.entry.place.file,
                "line": one.entry.place.line,
                "expect": one.entry.expect,
                "stale": "whole" if one.is_stale else "part" if one.is_partly_stale else "no",
                "counts": {kind: one.count(kind) for kind in Evidence},
                "passes": [test.test_id for test in one.tests if test.evidence is Evidence.PASSES],
                "improved": [test.test_id for test in one.tests if test.evidence is Evidence.IMPROVED],
                "gone": one.gone,
                "patterns_match_nothing": one.patterns_match_nothing,
            }
            for one in found
        ],
    }


def edit_page(
    edits: Mapping[str, FileEdit], diff: Sequence[str], runs: Sequence[RunRow], *, written: bool, top: int
) -> Page:
    """Return what goes out of which file, and the difference."""
    blocks: list[Block] = [Paragraph(_runs_sentence(runs)), *_edit_blocks(edits, diff, written=written, top=top)]
    return Page(_edit_title(edits), tuple(blocks))


def edit_document(
    edits: Mapping[str, FileEdit], diff: Sequence[str], runs: Sequence[RunRow], *, written: bool
) -> dict[str, object]:
    """Return the same for scripts."""
    return {"runs": [_run(run) for run in runs], **_edits(edits, diff, written=written)}


def proposal_page(found: Proposal, run: RunRow, *, target: str, top: int) -> Page:
    """Return the entries that a run gave rise to."""
    title = f"{counted(len(found.entries), 'new entry', 'new entries')} for {counted(found.tests, 'test')}, in {target}"
    return Page(title, (Paragraph(_runs_sentence([run])), *_proposal_blocks(found, top=top)))


def proposal_document(found: Proposal, run: RunRow, *, target: str) -> dict[str, object]:
    """Return the same for scripts."""
    return {"run": _run(run), "target": target, **_proposal(found)}


def update_page(
    found: Update, edits: Mapping[str, FileEdit], diff: Sequence[str], run: RunRow, *, written: bool, top: int
) -> Page:
    """Return what makes lists fit a run."""
    blocks: list[Block] = [Paragraph(_runs_sentence([run])), *_proposal_blocks(found.proposal, top=top)]
    if found.left:
        few, more = limited([_row(one) for one in _sorted(found.left)], top)
        blocks.append(Table("Left: patterns that match tests that pass and others; narrow them", _HEADINGS, few, more))
    blocks += _edit_blocks(edits, diff, written=written, top=top)
    return Page(_edit_title(edits), tuple(blocks))


def update_document(
    found: Update, edits: Mapping[str, FileEdit], diff: Sequence[str], run: RunRow, *, written: bool
) -> dict[str, object]:
    """Return the same for scripts."""
    return {
        "run": _run(run),
        "proposal": _proposal(found.proposal),
        "left": [one.entry.id for one in found.left],
        **_edits(edits, diff, written=written),
    }


def _passes(kind: Evidence) -> bool:
    return kind is Evidence.PASSES


def _sorted(found: Iterable[EntryEvidence]) -> list[EntryEvidence]:
    return sorted(found, key=lambda one: (-one.count(Evidence.PASSES), one.entry.id))


def _row(one: EntryEvidence) -> tuple[str, ...]:
    kinds = (Evidence.PASSES, Evidence.IMPROVED, Evidence.HOLDS, Evidence.UNSEEN)
    counts = [number(one.count(kind)) for kind in kinds]
    return (f"{one.entry.id} ({one.entry.expect})", number(len(one.tests)), *counts, number(len(one.gone)))


def _unseen(found: Sequence[EntryEvidence]) -> list[Paragraph]:
    unseen = sum(one.count(Evidence.UNSEEN) for one in found)
    if not unseen:
        return []
    text = f"{counted(unseen, 'listed test was', 'listed tests were')} not run, and may pass: run with --run-skipped."
    return [Paragraph(text)]


def _runs_sentence(runs: Sequence[RunRow]) -> str:
    first = runs[0]
    emulated = ", EMULATED" if first.emulated else ""
    numbers = ", ".join(str(run.id) for run in runs)
    parts = [f"Run {numbers}" if len(runs) == 1 else f"Runs {numbers}", f" on {first.device}{emulated}"]
    partial = [str(run.id) for run in runs if run.selection or run.shard is not None]
    if partial:
        parts.append(f"; of a part of the tests: {', '.join(partial)}")
    return f"{''.join(parts)}."


def _edit_title(edits: Mapping[str, FileEdit]) -> str:
    removed = sum(len(edit.remove) for edit in edits.values())
    ids = sum(len(change.remove_tests) for edit in edits.values() for change in edit.change.values())
    added = sum(len(edit.add) for edit in edits.values())
    return (
        f"{counted(len(edits), 'file')}: -{counted(removed, 'entry', 'entries')}, "
        f"-{counted(ids, 'test id')} in others, +{counted(added, 'entry', 'entries')}"
    )


def _edit_blocks(edits: Mapping[str, FileEdit], diff: Sequence[str], *, written: bool, top: int) -> list[Block]:
    if not edits:
        return [Paragraph("Nothing to change.")]
    few, more = limited(list(diff), top * 5)
    state = "Written." if written else "Nothing is written; --apply does it."
    return [Paragraph(state), Code("Difference", few, "diff", more)]


def _proposal_blocks(found: Proposal, *, top: int) -> list[Block]:
    blocks: list[Block] = []
    if found.listed:
        blocks.append(Paragraph(f"{counted(found.listed, 'test')} did what an entry expects."))
    if found.lost:
        text = f"{counted(len(found.lost), 'planned test has', 'planned tests have')} no result: no entry expects that."
        blocks.append(Paragraph(text))
    if found.entries:
        causes = Counter(str(entry.category) for entry in found.entries)
        guessed = ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
        blocks.append(Paragraph(f"Guessed causes: {guessed}. Confirm each, and take its `guess` out."))
        lines = [f"'{e.id}' ({e.expect}): {counted(len(e.tests), 'test')}: {e.reason}" for e in found.entries]
        few, more = limited(lines, top)
        blocks.append(Lines("New entries", few, more))
    return blocks


def _run(run: RunRow) -> dict[str, object]:
    return {
        "id": run.id,
        "key": run.key,
        "device": run.device,
        "emulated": run.emulated,
        "torch_version": run.torch_version,
        "state": run.state,
        "selection": run.selection,
    }


def _edits(edits: Mapping[str, FileEdit], diff: Sequence[str], *, written: bool) -> dict[str, object]:
    return {
        "written": written,
        "files": {
            file: {
                "removed": sorted(edit.remove),
                "changed": {
                    entry_id: {"tests_removed": sorted(change.remove_tests), "match_removed": change.remove_match}
                    for entry_id, change in edit.change.items()
                },
                "added": [entry.id for entry in edit.add],
            }
            for file, edit in edits.items()
        },
        "diff": "\n".join(diff),
    }


def _proposal(found: Proposal) -> dict[str, object]:
    return {
        "entries": [
            {
                "entry": entry.id,
                "expect": entry.expect,
                "category": entry.category,
                "reason": entry.reason,
                "message": entry.message,
                "tests": entry.tests,
            }
            for entry in found.entries
        ],
        "tests": found.tests,
        "listed": found.listed,
        "lost": found.lost,
    }
