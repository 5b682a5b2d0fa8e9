"""Build the front page: the headline figures, what they split into, what fell back and what failed."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from conformance.model.identity import Suite
from conformance.model.outcome import Outcome
from conformance.publish.breakdowns import by_dtype, by_file, by_group, by_outcome, present
from conformance.publish.charts import Tally, stacked_bar
from conformance.publish.findings import MODULE, OPERATOR, Evidence, FileFinding, Findings, Subject
from conformance.publish.frame import injected_faults
from conformance.publish.marks import (
    OUTCOME_SUMMARY_ORDER,
    STATUS_ORDER,
    in_order,
    outcome_mark,
    status_mark,
)
from conformance.publish.pages import (
    Fact,
    FailureGroup,
    FallbackOperator,
    FallbackOverload,
    Headline,
    IndexPage,
    Link,
)
from conformance.publish.redaction import without_local_paths
from conformance.publish.wording import counted, duration, instant, number, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.analysis.coverage import Coverage
    from conformance.store import RunRow

_FAILURES_SHOWN = 8
_OVERLOAD_OPERATORS_SHOWN = 6
_FALLBACK_OPERATORS_SHOWN = 400
_FALLBACK_ROWS_OPEN = 12
_FILES_SHOWN = 30
_NAMES_IN_A_SENTENCE = 3


def index_page(findings: Findings, groups: tuple[FailureGroup, ...]) -> IndexPage:
    """Return the front page of the site; ``groups`` are the run's failures by signature."""
    run = findings.run
    outcomes = outcome_tallies(run)
    only_tests = "" if findings.operators or findings.modules else tests_sentence(run)
    fell_back = _fallback_operators(findings)
    return IndexPage(
        facts=run_facts(run, findings.files),
        operators=headline(findings, findings.operators, coverage=findings.operator_coverage, noun=OPERATOR),
        modules=headline(findings, findings.modules, coverage=findings.module_coverage, noun=MODULE)
        if findings.modules
        else None,
        tests=only_tests,
        planned=run.planned,
        outcomes=outcomes,
        outcome_bar=stacked_bar(outcomes),
        operator_tables=present(by_dtype(findings.operators), by_group(findings.operators)),
        test_tables=present(
            by_file(findings.files, limit=_FILES_SHOWN),
            by_outcome("by-suite", "suite", findings.by_suite),
            # In files of one's own every test is its own template.
            by_outcome("by-template", "template", findings.by_template if only_tests == "" else ()),
        ),
        fallback_observed=findings.fallback_observed,
        fallback_overloads=_fallback_overloads(findings),
        fallback_operators=fell_back[:_FALLBACK_OPERATORS_SHOWN],
        fallback_operators_more=max(len(fell_back) - _FALLBACK_OPERATORS_SHOWN, 0),
        fallback_shown=_FALLBACK_ROWS_OPEN,
        failures=groups[:_FAILURES_SHOWN],
        failures_more=max(len(groups) - _FAILURES_SHOWN, 0),
        find=tuple(subject.name for subject in findings.operators),
    )


def run_facts(run: RunRow, files: Sequence[FileFinding] = ()) -> tuple[Fact, ...]:
    """Return what is known about a run, one line each; what is not known is left out."""
    facts = (
        Fact("Device", run.device, code=True),
        Fact("Device name", run.device_name),
        Fact("Hardware", "EMULATED: a stand-in on the CPU" if run.emulated else "the real device"),
        Fact("torch", run.torch_version),
        Fact("Backend", f"{run.backend} {run.backend_version}".strip()),
        Fact("Harness", run.harness_version),
        Fact("Suites", ", ".join(run.suites)),
        Fact("Selection", run.selection or _selected(run, files), code=bool(run.selection)),
        Fact("Injected faults", injected_faults(run), code=True),
        Fact(
            "Profile of the emulated device",
            without_local_paths(run.environment.get("CONFORMANCE_NEURON_PROFILE", "")),
            code=True,
        ),
        Fact("State", str(run.state)),
        Fact("Started", instant(run.started_at or run.created_at)),
        Fact("Finished", instant(run.finished_at)),
        Fact("Fallbacks seen by", run.probe or "nothing: no probe was active"),
        Fact("Python", run.python_version),
        Fact("System", run.operating_system),
        Fact("Run", f"{run.id} ({run.key[:12]})"),
        Fact("Command", without_local_paths(run.command), code=True),
    )
    return tuple(fact for fact in facts if fact.value)


def _selected(run: RunRow, files: Sequence[FileFinding]) -> str:
    """Say what a run without a selection covered: files are given one by one, suites as a whole."""
    built_in = [suite for suite in run.suites if suite not in (Suite.LOCAL.value, Suite.UPSTREAM.value)]
    parts = [f"everything in {' and '.join(built_in)}"] if built_in and files else []
    if files:
        names = ", ".join(file.file for file in files[:_NAMES_IN_A_SENTENCE])
        more = len(files) - _NAMES_IN_A_SENTENCE
        parts.append(f"every test of {counted(len(files), 'file')}: {names}{f' and {more} more' if more > 0 else ''}")
    return "; ".join(parts) or "everything in these suites"


def tests_sentence(run: RunRow) -> str:
    """Return the headline of a run that has no operators to count: its tests; empty where none was planned."""
    if not run.planned:
        return ""
    passed = sum(run.counts.get(outcome, 0) for outcome in (Outcome.PASSED, Outcome.XPASSED))
    bad = sum(run.counts.get(outcome, 0) for outcome in Outcome if outcome.is_bad and outcome is not Outcome.NOT_RUN)
    missing = run.counts.get(Outcome.NOT_RUN, 0)
    lost = f"; {number(missing)} without a result" if missing else ""
    return f"{number(passed)} of {counted(run.planned, 'test')} passed; {number(bad)} failed or died{lost}."


def outcome_tallies(run: RunRow) -> tuple[Tally, ...]:
    """Return how many planned tests ended how; the counts add up to the planned tests."""
    counts = Counter({str(outcome): count for outcome, count in run.counts.items()})
    return tuple(Tally(outcome_mark(code), counts[code]) for code in in_order(+counts, OUTCOME_SUMMARY_ORDER))


def status_tallies(subjects: Sequence[Subject]) -> tuple[Tally, ...]:
    """Return how many operators or modules have which status, leaving out statuses that none has."""
    counts = Counter(subject.overall.status for subject in subjects)
    noun = next((subject.noun for subject in subjects), OPERATOR)
    return tuple(Tally(status_mark(code, noun), counts[code]) for code in in_order(counts, STATUS_ORDER))


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
        evidence=_evidence(findings.evidence[noun]) if proportion else "",
        note=_undeclared(subjects, noun=noun),
        sentence=sentence,
        bar=stacked_bar(tallies),
        tallies=tallies,
    )


def _evidence(evidence: Evidence) -> str:
    """Say on which tests the statuses rest: a figure from one template in one dtype is not one from all."""
    names = [template.removeprefix("test_") for template in evidence.templates]
    templates = _listed(names, "template")
    dtypes = f" in {_listed(evidence.dtypes, '')}" if evidence.dtypes else ""
    return f"judged by {counted(evidence.tests, 'test')} of {templates}{dtypes}"


def _listed(names: Sequence[str], noun: str) -> str:
    if len(names) > _NAMES_IN_A_SENTENCE:
        return counted(len(names), noun or "dtype")
    lead = f"the {noun if len(names) == 1 else noun + 's'} " if noun else ""
    return lead + (f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names))


def _undeclared(subjects: Sequence[Subject], *, noun: str) -> str:
    """Explain those that no run on this device can test in a dtype, and how they are counted."""
    found = [subject for subject in subjects if subject.undeclared]
    if not found:
        return ""
    counts = ", ".join(f"{number(tally.count)} {tally.mark.word}" for tally in status_tallies(found))
    names = ", ".join(subject.name for subject in found[:_NAMES_IN_A_SENTENCE])
    more = len(found) - _NAMES_IN_A_SENTENCE
    rest = f" and {number(more)} more" if more > 0 else ""
    return (
        f"{counted(len(found), noun)} ({counts}) cannot be tested in any dtype on this device, because PyTorch "
        f"declares none for {'it' if len(found) == 1 else 'them'} there: {names}{rest}."
    )


def _fallback_overloads(findings: Findings) -> tuple[FallbackOverload, ...]:
    return tuple(
        FallbackOverload(
            overload=found.overload,
            tests=found.tests,
            operators=_linked(findings, found.operators[:_OVERLOAD_OPERATORS_SHOWN]),
            rest=_linked(findings, found.operators[_OVERLOAD_OPERATORS_SHOWN:]),
        )
        for found in findings.overloads
    )


def _linked(findings: Findings, names: Sequence[str]) -> tuple[Link, ...]:
    return tuple(
        Link(name, findings.links.get((OPERATOR, name)) or findings.links.get((MODULE, name), "")) for name in names
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
