"""The verdicts on a run, read from its database and put into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.gate import GateResult, Judged, gate, undertakes_all_of
from conformance.analysis.verdict import Verdict
from conformance.report.page import Block, Code, Page, Paragraph, Table, limited
from conformance.report.words import counted, number, outcome_word
from conformance.store import history, listed_entries

if TYPE_CHECKING:
    from conformance.store import Database, RunRow
    from conformance.store.history import Seen


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run to hold others against, and where it is; ``file`` names the database if it is another one."""

    db: Database
    run: RunRow
    file: str = ""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run with the verdicts on its tests.

    ``baseline`` is what it was held against, None without one; ``wanted`` is how that was asked for (``none``).
    """

    run: RunRow
    baseline: Earlier | None
    wanted: str
    gate: GateResult[Seen]


def judge_run(
    db: Database, run: RunRow, *, baseline: Earlier | None = None, wanted: str = "none", strict: bool = False
) -> JudgedRun:
    """Hold a run against the skiplist that was in force in it, and against a baseline."""
    entries = {row.entry.entry_id: row.entry for row in listed_entries(db, run.id)}
    earlier = history.ends(baseline.db, baseline.run.id) if baseline is not None else None
    whole = baseline is not None and undertakes_all_of(run, baseline.run)
    unknown = max(0, run.collected - run.planned) if run.shard is None else 0
    found = gate(history.seen(db, run.id), entries, earlier, strict, whole=whole, unknown=unknown)
    return JudgedRun(run, baseline, wanted, found)


def verdict_page(judged: JudgedRun, *, top: int) -> Page:
    """Return the verdicts as a page: how many of each, then the tests that need a look, the worst first."""
    found = judged.gate
    blocks: list[Block] = [Paragraph(note) for note in verdict_notes(judged)]
    rows = [(verdict.words, number(count)) for verdict, count in found.counts.items() if count]
    rows.append(("planned", number(found.planned)))
    blocks.append(Table("Verdicts", ("verdict", "tests"), tuple(rows)))
    for verdict in Verdict:
        few, more = limited([verdict_line(one) for one in found.judged if one.verdict is verdict], top)
        if few:
            blocks.append(Code(f"{verdict.words.capitalize()}: {verdict.definition}", few, "text", more))
    if found.gone:
        few, more = limited(found.gone, top)
        blocks.append(Code("Gone: the baseline had these tests, and this run did not plan them.", few, "text", more))
    return Page(verdict_title(judged), tuple(blocks))


def verdict_title(judged: JudgedRun) -> str:
    """Return the one line that says what the run comes to."""
    found = judged.gate
    if not found.planned:
        return "Nothing was planned, so nothing is as expected"
    failing = sum(count for verdict, count in found.counts.items() if found.fails(verdict))
    missing = f", {counted(len(found.gone), 'test')} gone" if found.whole and found.gone else ""
    if found.unknown:
        missing += f", {counted(found.unknown, 'test')} in shards that are missing"
    if not failing and not missing:
        return f"None of {counted(found.planned, 'test')} unexpected"
    return f"{number(failing)} of {counted(found.planned, 'test')} unexpected{missing}"


def verdict_notes(judged: JudgedRun) -> list[str]:
    """Return what the verdicts rest on, and what could not be judged."""
    run, baseline, found = judged.run, judged.baseline, judged.gate
    said = []
    against = [f"the skiplist '{run.skiplist}'"] if run.skiplist else []
    if baseline is not None:
        other = baseline.run
        emulated = ", EMULATED" if other.emulated else ""
        file = f" of '{baseline.file}'" if baseline.file else ""
        about = f"{other.created_at[:10]}, {other.device}{emulated}, torch {other.torch_version}"
        against.append(f"run {other.id}{file} ({about})")
    held = " and ".join(against) if against else "neither a skiplist nor a baseline"
    said.append(f"Held against {held}{'; strict' if found.strict else ''}.")
    if baseline is None and judged.wanted != "none":
        said.append("There is no earlier run of the same device, suites and selection to be the baseline.")
    if run.emulated:
        said.append("EMULATED: a stand-in ran in place of the device; this says nothing about the hardware.")
    if found.unobserved:
        said.append(
            f"In {counted(found.unobserved, 'test')} the baseline looked for fallbacks and nobody did now: "
            "a new one there would not be seen."
        )
    if found.gone and not found.whole:
        said.append(
            f"{counted(len(found.gone), 'test')} of the baseline {'is' if len(found.gone) == 1 else 'are'} not in this "
            "run's plan, which is of other tests: no loss."
        )
    return said


def verdict_line(one: Judged[Seen]) -> str:
    """Return one test with how it ended, how it did before, and the entry that speaks of it."""
    result = one.result
    end = outcome_word(result.outcome)
    if result.fallback_ops:
        end = f"{end} ({', '.join(result.fallback_ops)})"
    if one.before is not None:
        end = f"{end}, was {outcome_word(one.before)}"
    if result.entry:
        end = f"{end}, entry {result.entry}"
    return f"{end}: {result.test_id}"


def verdict_document(judged: JudgedRun) -> dict[str, object]:
    """Return the verdicts for scripts."""
    run, baseline, found = judged.run, judged.baseline, judged.gate
    return {
        "run": {"id": run.id, "key": run.key, "device": run.device, "emulated": run.emulated},
        "baseline": None
        if baseline is None
        else {"id": baseline.run.id, "key": baseline.run.key, "file": baseline.file},
        "strict": found.strict,
        "exit_code": found.exit_code,
        "counts": {verdict.value: count for verdict, count in found.counts.items()},
        "planned": found.planned,
        "unobserved": found.unobserved,
        "gone": list(found.gone),
        "unknown": found.unknown,
        "whole": found.whole,
        "tests": [
            {
                "test_id": one.result.test_id,
                "verdict": one.verdict.value,
                "fails": found.fails(one.verdict),
                "outcome": one.result.outcome.value,
                "before": None if one.before is None else one.before.value,
                "fallback_ops": None if one.result.fallback_ops is None else list(one.result.fallback_ops),
                "entry": one.result.entry,
                "message": one.result.message,
            }
            for one in found.judged
        ],
    }
