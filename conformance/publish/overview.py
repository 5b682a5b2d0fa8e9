"""Build the front page: the headline figures, what they split into, what fell back and what failed."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from conformance.publish.charts import Tally, stacked_bar
from conformance.publish.dtypes import in_dtype_order
from conformance.publish.findings import MODULE, OPERATOR, Findings, Subject
from conformance.publish.marks import (
    OUTCOME_SUMMARY_ORDER,
    STATUS_ORDER,
    Mark,
    in_order,
    outcome_mark,
    status_mark,
)
from conformance.publish.pages import (
    Breakdown,
    BreakdownTable,
    Fact,
    FailureGroup,
    FallbackOperator,
    FallbackOverload,
    Headline,
    IndexPage,
    Link,
)
from conformance.publish.wording import counted, duration, instant, number, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.analysis.coverage import Coverage
    from conformance.store import CountRow, RunRow

_FAILURES_SHOWN = 8
_OVERLOAD_OPERATORS_SHOWN = 6
_FALLBACK_OPERATORS_SHOWN = 400


def index_page(findings: Findings, groups: tuple[FailureGroup, ...]) -> IndexPage:
    """Return the front page of the site; ``groups`` are the run's failures by signature."""
    run = findings.run
    outcomes = outcome_tallies(run)
    fell_back = _fallback_operators(findings)
    return IndexPage(
        facts=run_facts(run),
        operators=headline(findings, findings.operators, coverage=findings.operator_coverage, noun=OPERATOR),
        modules=headline(findings, findings.modules, coverage=findings.module_coverage, noun=MODULE)
        if findings.modules
        else None,
        planned=run.planned,
        outcomes=outcomes,
        outcome_bar=stacked_bar(outcomes),
        operator_tables=_present(_by_dtype(findings.operators), _by_group(findings.operators)),
        test_tables=_present(
            _by_outcome("by-suite", "suite", findings.by_suite),
            _by_outcome("by-template", "template", findings.by_template),
        ),
        fallback_observed=findings.fallback_observed,
        fallback_overloads=_fallback_overloads(findings),
        fallback_operators=fell_back[:_FALLBACK_OPERATORS_SHOWN],
        fallback_operators_more=max(len(fell_back) - _FALLBACK_OPERATORS_SHOWN, 0),
        failures=groups[:_FAILURES_SHOWN],
        failures_more=max(len(groups) - _FAILURES_SHOWN, 0),
        find=tuple(subject.name for subject in findings.operators),
    )


def run_facts(run: RunRow) -> tuple[Fact, ...]:
    """Return what is known about a run, one line each; what is not known is left out."""
    facts = (
        Fact("Device", run.device, code=True),
        Fact("Device name", run.device_name),
        Fact("Hardware", "EMULATED: a stand-in on the CPU" if run.emulated else "the real device"),
        Fact("torch", run.torch_version),
        Fact("Backend", f"{run.backend} {run.backend_version}".strip()),
        Fact("Harness", run.harness_version),
        Fact("Suites", ", ".join(run.suites)),
        Fact("Selection", run.selection or "everything in these suites", code=bool(run.selection)),
        Fact("State", str(run.state)),
        Fact("Started", instant(run.started_at or run.created_at)),
        Fact("Finished", instant(run.finished_at)),
        Fact("Fallbacks seen by", run.probe or "nothing: no probe was active"),
        Fact("Python", run.python_version),
        Fact("System", run.operating_system),
        Fact("Run", f"{run.id} ({run.key[:12]})"),
        Fact("Command", run.command, code=True),
    )
    return tuple(fact for fact in facts if fact.value)


def outcome_tallies(run: RunRow) -> tuple[Tally, ...]:
    """Return how many planned tests ended how; the counts add up to the planned tests."""
    counts = Counter({str(outcome): count for outcome, count in run.counts.items()})
    return tuple(Tally(outcome_mark(code), counts[code]) for code in in_order(+counts, OUTCOME_SUMMARY_ORDER))


def status_tallies(subjects: Iterable[Subject]) -> tuple[Tally, ...]:
    """Return how many operators or modules have which status, leaving out statuses that none has."""
    counts = Counter(subject.overall.status for subject in subjects)
    return tuple(Tally(status_mark(code), counts[code]) for code in in_order(counts, STATUS_ORDER))


def headline(findings: Findings, subjects: Sequence[Subject], *, coverage: Coverage, noun: str) -> Headline:
    """Return the coverage figure of all operators or modules, untested ones always named apart."""
    native, total = coverage.native.numerator, coverage.native.denominator
    proportion = ""
    if not total:
        sentence = f"This run holds no inventory of {noun}s, so there is nothing to divide by."
    elif coverage.untested == total:
        sentence = f"No {noun} has a result in this run; all {number(total)} are untested."
    else:
        did = "ran natively" if findings.fallback_observed else "passed, with fallbacks not observed"
        sentence = f"{number(native)} of {counted(total, noun)} {did}; {number(coverage.untested)} untested."
        proportion = f"{share(native, total)} of all {noun}s, untested ones included"
    tallies = status_tallies(subjects)
    return Headline(
        share=proportion,
        sentence=sentence,
        bar=stacked_bar(tallies),
        tallies=tallies,
    )


def _present(*tables: BreakdownTable) -> tuple[BreakdownTable, ...]:
    return tuple(table for table in tables if table.rows)


def _by_dtype(operators: Sequence[Subject]) -> BreakdownTable:
    split: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for operator in operators:
        for dtype, standing in operator.by_dtype.items():
            split[dtype][standing.status] += 1
    return _by_status(
        "by-dtype",
        title="Operators by dtype",
        caption="Each operator counts once for every dtype that PyTorch declares for it, or that was tested.",
        key_name="dtype",
        split={dtype: split[dtype] for dtype in in_dtype_order(split)},
    )


def _by_group(operators: Sequence[Subject]) -> BreakdownTable:
    split: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for operator in operators:
        split[operator.group][operator.overall.status] += 1
    return _by_status(
        "by-group",
        title="Operators by group",
        caption="Each operator of the inventory counts once, over all its dtypes.",
        key_name="group",
        split={group: split[group] for group in sorted(split)},
    )


def _by_status(
    id_: str, *, title: str, caption: str, key_name: str, split: Mapping[str, Counter[str]]
) -> BreakdownTable:
    codes = in_order((code for counts in split.values() for code in counts), STATUS_ORDER)
    marks = tuple(status_mark(code) for code in codes)
    rows = tuple(
        Breakdown(
            key=key or "(none)",
            href=f"operators.html#{urlencode({key_name: key})}" if key else "",
            total=counts.total(),
            counts=tuple(counts[code] for code in codes),
            fallback=None,
            bar=stacked_bar([Tally(mark, counts[mark.code]) for mark in marks]),
        )
        for key, counts in split.items()
    )
    return BreakdownTable(
        id=id_, title=title, caption=caption, key_name=key_name, total_name="operators", marks=marks, rows=rows
    )


def _by_outcome(id_: str, key_name: str, counted_rows: Sequence[CountRow]) -> BreakdownTable:
    split: dict[str, tuple[int, Counter[str], int]] = {}
    for row in counted_rows:
        counts = Counter({str(outcome): count for outcome, count in row.counts.items()})
        split[row.key or ""] = (row.planned, +counts, row.fallback)
    codes = in_order((code for _, counts, _ in split.values() for code in counts), OUTCOME_SUMMARY_ORDER)
    marks: tuple[Mark, ...] = tuple(outcome_mark(code) for code in codes)
    rows = tuple(
        Breakdown(
            key=key or "(none)",
            href="",
            total=planned,
            counts=tuple(counts[code] for code in codes),
            fallback=fallback,
            bar=stacked_bar([Tally(mark, counts[mark.code]) for mark in marks]),
        )
        for key, (planned, counts, fallback) in sorted(split.items(), key=lambda item: (-item[1][0], item[0]))
    )
    return BreakdownTable(
        id=id_,
        title=f"Tests by {key_name}",
        caption="Every planned test counts once, by its last outcome; the largest first.",
        key_name=key_name,
        total_name="planned",
        marks=marks,
        rows=rows,
        fallback_name="tests that fell back",
    )


def _fallback_overloads(findings: Findings) -> tuple[FallbackOverload, ...]:
    return tuple(
        FallbackOverload(
            overload=found.overload,
            tests=found.tests,
            operators=tuple(
                Link(name, findings.links.get((OPERATOR, name)) or findings.links.get((MODULE, name), ""))
                for name in found.operators[:_OVERLOAD_OPERATORS_SHOWN]
            ),
            more=max(len(found.operators) - _OVERLOAD_OPERATORS_SHOWN, 0),
        )
        for found in findings.overloads
    )


def _fallback_operators(findings: Findings) -> tuple[FallbackOperator, ...]:
    found = [operator for operator in findings.operators if operator.overall.fallback]
    found.sort(key=lambda operator: (-operator.overall.fallback, operator.name))
    return tuple(
        FallbackOperator(
            link=Link(operator.name, operator.href),
            mark=status_mark(operator.overall.status),
            tests=operator.overall.fallback,
            overloads=operator.overall.overloads,
        )
        for operator in found
    )


def total_duration(run: RunRow) -> str:
    """Return how long the run took, or nothing while it has no end."""
    if not run.started_at or not run.finished_at:
        return ""
    return duration(_seconds_between(run.started_at, run.finished_at))


def _seconds_between(start: str, end: str) -> float | None:
    try:
        first, last = (datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (start, end))
    except ValueError:
        return None
    return max((last - first).total_seconds(), 0.0)
