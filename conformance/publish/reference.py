"""Build the pages about the site itself: the list of runs, and what every word and figure means."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from conformance.model.operator import OperatorStatus
from conformance.publish.changed import change_mark
from conformance.publish.changes import CHANGES
from conformance.publish.charts import stacked_bar
from conformance.publish.choice import is_whole
from conformance.publish.compiled import NO_COMPILED
from conformance.publish.listed import STATE_DEFINITIONS
from conformance.publish.marks import (
    ARCHITECTURE_MARKS,
    FELL_BACK,
    NO_TEST,
    NOT_RECORDED,
    OUTCOME_MARKS,
    OUTCOME_SUMMARY_ORDER,
    REGISTRATION_MARKS,
    STATUS_MARKS,
    UNDECLARED,
    Mark,
)
from conformance.publish.overview import outcome_tallies, total_duration
from conformance.publish.pages import Link
from conformance.publish.pages_overview import Denominator, MethodPage, Term
from conformance.publish.pages_runs import RunListRow, RunsPage
from conformance.publish.redaction import without_local_paths
from conformance.publish.registered import MEASURED_MARKS, UNWATCHED
from conformance.publish.wording import instant, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.publish.context import Site
    from conformance.publish.findings import Findings
    from conformance.store import RunRow

# What can be written into the search box; the tables' own words come from their columns.
_SEARCH = (
    ("linalg", "the name, or what the row says, has this text"),
    ("!linalg", "it has not"),
    ("status:fallback,partial", "the status is one of these; the beginning of a word is enough"),
    (
        "compile:native",
        "the status under torch.compile with static shapes, over all dtypes; dynamic: with dynamic ones",
    ),
    ("dtype:bfloat16", "declared or tested in this dtype; status: then speaks of this dtype alone"),
    ("group:linalg", "the group, by the beginnings of its words"),
    ("outcome:failed", "tests: how they ended"),
    ("template:backward", "tests: their template; likewise op:, module:, suite:, file:"),
    ("train:failed", "architectures: the outcome in this phase; likewise eager:, generate:, compile:"),
    ("blocked:histc", "architectures: what their failures are about; calls: all that they are known to call"),
    ("fallback:aten::sin", "operators that ran this overload on the CPU"),
    ("registered:kernel", "overloads and operators: what the backend has registered"),
    ("is:core", "overloads of Core ATen; is:listed and is:slow (over 1 s) for tests"),
    ("passed", "a word that names a status or outcome finds that too"),
    ('"two words"', "in one piece"),
)


def runs_page(findings: Findings) -> RunsPage:
    """Return the list of all runs of the database, the newest first."""
    offered = {run.id for run in findings.history.selectable}
    newest_first = sorted(findings.runs, key=lambda run: run.id, reverse=True)
    return RunsPage(tuple(_run_row(run, findings.run, offered=run.id in offered) for run in newest_first))


def _run_row(run: RunRow, shown: RunRow, *, offered: bool) -> RunListRow:
    tallies = outcome_tallies(run)
    shard = f", shard {run.shard} of {run.shards}" if run.shard else ""
    older, newer = sorted((run.id, shown.id))
    return RunListRow(
        id=run.id,
        key=run.key[:12],
        shown=run.id == shown.id,
        device=run.device,
        device_name=run.device_name,
        emulated=run.emulated,
        torch_version=run.torch_version,
        harness_version=run.harness_version,
        date=instant(run.started_at or run.created_at),
        duration=total_duration(run),
        suites=", ".join(run.suites),
        selection=without_local_paths(run.selection),
        state=f"{run.state}{shard}",
        complete=is_whole(run),
        planned=run.planned,
        tallies=tallies,
        bar=stacked_bar(tallies),
        compare=f"compare.html#from={older}&to={newer}" if offered and run.id != shown.id else "",
    )


def method_page(site: Site, files: Sequence[tuple[Link, str]]) -> MethodPage:
    """Return the definitions of everything the site counts; ``files`` are those for programs."""
    run = site.run
    return MethodPage(
        architectures=_terms(ARCHITECTURE_MARKS.values()),
        statuses=_terms(STATUS_MARKS.values()),
        outcomes=_terms(OUTCOME_MARKS[code] for code in OUTCOME_SUMMARY_ORDER),
        cells=_terms((FELL_BACK, UNDECLARED, NO_TEST)),
        no_compiled=_terms((NO_COMPILED,)),
        changes=_terms(change_mark(change) for change in CHANGES),
        registered=_terms((*REGISTRATION_MARKS.values(), NOT_RECORDED)),
        measured=_terms((*MEASURED_MARKS, UNWATCHED)),
        entries=tuple(STATE_DEFINITIONS.items()),
        search=_SEARCH,
        files=tuple(files),
        probe=run.probe,
        denominators=_denominators(site.findings),
        emulated=run.emulated,
        device=run.device,
    )


def _terms(marks: Iterable[Mark]) -> tuple[Term, ...]:
    return tuple(Term(mark, mark.definition) for mark in marks)


def _denominators(findings: Findings) -> tuple[Denominator, ...]:
    pairs = Counter(
        noun
        for noun, subjects in (("operators", findings.operators), ("modules", findings.modules))
        for subject in subjects
        for _ in subject.by_dtype
    )
    untested = sum(operator.overall.status == OperatorStatus.UNTESTED.value for operator in findings.operators)
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
            f"Every OpInfo of torch {findings.run.torch_version}, whether the run tested it or not; {number(untested)} "
            "have no result.",
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
