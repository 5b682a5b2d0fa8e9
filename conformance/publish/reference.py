"""Build the pages about the site itself: the list of runs, and what every word and figure means."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from conformance.model.run import RunState
from conformance.publish.charts import stacked_bar
from conformance.publish.marks import (
    FELL_BACK,
    NO_TEST,
    OUTCOME_MARKS,
    OUTCOME_SUMMARY_ORDER,
    STATUS_MARKS,
    UNDECLARED,
)
from conformance.publish.overview import outcome_tallies, total_duration
from conformance.publish.pages import Denominator, MethodPage, RunListRow, RunsPage, Term
from conformance.publish.wording import instant, number

if TYPE_CHECKING:
    from conformance.publish.findings import Findings
    from conformance.store import RunRow


def runs_page(findings: Findings) -> RunsPage:
    """Return the list of all runs of the database, the newest first."""
    newest_first = sorted(findings.runs, key=lambda run: run.id, reverse=True)
    return RunsPage(tuple(_run_row(run, shown=run.id == findings.run.id) for run in newest_first))


def _run_row(run: RunRow, *, shown: bool) -> RunListRow:
    tallies = outcome_tallies(run)
    return RunListRow(
        id=run.id,
        key=run.key[:12],
        shown=shown,
        device=run.device,
        device_name=run.device_name,
        emulated=run.emulated,
        torch_version=run.torch_version,
        harness_version=run.harness_version,
        date=instant(run.started_at or run.created_at),
        duration=total_duration(run),
        suites=", ".join(run.suites),
        selection=run.selection,
        state=str(run.state),
        complete=str(run.state) == RunState.COMPLETE.value,
        planned=run.planned,
        tallies=tallies,
        bar=stacked_bar(tallies),
    )


def method_page(findings: Findings) -> MethodPage:
    """Return the definitions of everything the site counts."""
    run = findings.run
    return MethodPage(
        statuses=tuple(Term(mark, mark.definition) for mark in STATUS_MARKS.values()),
        outcomes=tuple(Term(OUTCOME_MARKS[code], OUTCOME_MARKS[code].definition) for code in OUTCOME_SUMMARY_ORDER),
        cells=tuple(Term(mark, mark.definition) for mark in (FELL_BACK, UNDECLARED, NO_TEST)),
        probe=run.probe,
        denominators=_denominators(findings),
        emulated=run.emulated,
        device=run.device,
    )


def _denominators(findings: Findings) -> tuple[Denominator, ...]:
    pairs = Counter(
        noun
        for noun, subjects in (("operators", findings.operators), ("modules", findings.modules))
        for subject in subjects
        for _ in subject.by_dtype
    )
    return (
        Denominator(
            "planned tests",
            number(findings.run.planned),
            "Every test the run undertook to report on, written down before the first one ran. Each of them ends with "
            "exactly one outcome here, its last attempt; one that nothing came back for is \u2018not run\u2019.",
        ),
        Denominator(
            "operators",
            number(len(findings.operators)),
            f"Every OpInfo of torch {findings.run.torch_version}, whether the run tested it or not.",
        ),
        Denominator(
            "operators by dtype",
            number(pairs["operators"]),
            "Every pair of an operator and a dtype that PyTorch declares for it, or that the run tested.",
        ),
        Denominator(
            "modules",
            number(len(findings.modules)),
            f"Every module of torch {findings.run.torch_version}\u2019s module_db, whether the run tested it or not.",
        ),
    )
