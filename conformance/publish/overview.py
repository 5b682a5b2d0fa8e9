"""Build the front page: the headline figures, what they split into, what fell back and what failed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from conformance.model.identity import Suite
from conformance.model.outcome import Outcome
from conformance.publish.breakdowns import by_dtype, by_file, by_group, by_outcome, present
from conformance.publish.causes import ON_CPU
from conformance.publish.changed import front_changes
from conformance.publish.charts import Tally, stacked_bar
from conformance.publish.choice import PROFILE
from conformance.publish.context import signature_anchor
from conformance.publish.failures import whole_words
from conformance.publish.findings import MODULE, OPERATOR, Evidence, FileFinding, Findings, Subject
from conformance.publish.frame import injected_faults
from conformance.publish.listed import whole_list
from conformance.publish.marks import (
    OUTCOME_SUMMARY_ORDER,
    STATUS_ORDER,
    TEST_SUMMARY_ORDER,
    in_order,
    outcome_mark,
    status_mark,
)
from conformance.publish.matrix import shown_code
from conformance.publish.models import models_sentence, most_blocking
from conformance.publish.pages import Fact, Headline, Link
from conformance.publish.pages_overview import CauseRow, IndexPage
from conformance.publish.redaction import without_local_paths
from conformance.publish.slugs import named_anchor
from conformance.publish.trend import burn_down_chart, burn_down_summary, coverage_chart
from conformance.publish.wording import counted, duration, instant, number, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.analysis.coverage import Coverage
    from conformance.publish.causes import Cause
    from conformance.publish.context import Site
    from conformance.store import RunRow

_CAUSES_SHOWN = 10
_CAUSE_SUBJECTS_SHOWN = 4
_FILES_SHOWN = 30
_NAMES_IN_A_SENTENCE = 3


def index_page(site: Site) -> IndexPage:
    """Return the front page of the site."""
    findings = site.findings
    run = findings.run
    outcomes = tallies_of_tests(findings)
    only_tests = "" if findings.operators or findings.modules else tests_sentence(run)
    trend, burn_down = coverage_chart(findings), burn_down_chart(findings)
    return IndexPage(
        facts=run_facts(run, findings.files),
        partial="" if findings.whole else _partial(run),
        operators=headline(findings, findings.operators, coverage=findings.operator_coverage, noun=OPERATOR),
        modules=headline(findings, findings.modules, coverage=findings.module_coverage, noun=MODULE)
        if findings.modules
        else None,
        tests=only_tests,
        planned=run.planned,
        outcomes=outcomes,
        outcome_bar=stacked_bar(outcomes),
        trend=trend,
        no_trend="" if trend else _no_trend(findings),
        burn_down=burn_down,
        no_burn_down="" if burn_down else no_burn_down(findings),
        changes=front_changes(site),
        causes=tuple(cause_row(site, cause) for cause in site.causes[:_CAUSES_SHOWN]),
        causes_more=max(len(site.causes) - _CAUSES_SHOWN, 0),
        models=models_sentence(site),
        models_blocked=most_blocking(findings.models.found) if findings.models else None,
        operator_tables=present(by_dtype(findings.operators), by_group(findings.operators)),
        test_tables=present(
            by_file(findings.files, limit=_FILES_SHOWN),
            by_outcome("by-suite", "suite", findings.by_suite),
            # In files of one's own every test is its own template.
            by_outcome("by-template", "template", findings.by_template if only_tests == "" else ()),
        ),
        fallback_observed=findings.fallback_observed,
    )


def _partial(run: RunRow) -> str:
    """Say why there is no headline; only whole runs make one."""
    if run.shard is not None:
        return f"No coverage figure: this is shard {run.shard} of {run.shards}."
    return f"No coverage figure: no run is complete, and this one is {run.state}."


def _no_trend(findings: Findings) -> str:
    if not findings.whole:
        return "No data: a run that is not complete is in no curve."
    if not findings.operators:
        return "No data: the run has no operators."
    return "No data yet: a curve needs two complete runs of the same device, suites and selection."


def no_burn_down(findings: Findings) -> str:
    """Say why there is no curve of the skiplist, and how long the list is where there is one."""
    points = findings.history.listed
    if points:
        return f"{burn_down_summary(points)} A curve needs two complete runs with a skiplist."
    counts = whole_list(each.counts for each in findings.entries)
    if counts.tests:
        return f"{counted(counts.tests, 'test')} listed. A run that is not complete is in no curve."
    return "No data: no skiplist was in force."


def cause_row(site: Site, cause: Cause) -> CauseRow:
    """Return one thing to fix as the pages show it."""
    links = tuple(Link(name, site.findings.links.get((noun, name), "")) for noun, name in cause.subjects)
    if cause.kind == ON_CPU:
        mark, href = status_mark("fallback"), f"overloads.html#{named_anchor('o', cause.title)}"
        mark = replace(mark, definition="It ran on the CPU inside the operator-under-test window.")
        title = cause.title
    else:
        mark, href = outcome_mark(cause.outcome), f"failures.html#{signature_anchor(cause.title, cause.outcome)}"
        title = whole_words(cause.title) or "(no message)"
    return CauseRow(
        kind=cause.kind,
        mark=mark,
        title=title,
        href=href,
        alone=len(cause.alone),
        concerned=len(cause.subjects),
        tests=cause.tests,
        subjects=links[:_CAUSE_SUBJECTS_SHOWN],
        rest=links[_CAUSE_SUBJECTS_SHOWN:],
        architectures=None if cause.architectures is None else len(cause.architectures),
    )


def run_facts(run: RunRow, files: Sequence[FileFinding] = ()) -> tuple[Fact, ...]:
    """Return what is known about a run, one line each; what is not known is left out."""
    facts = (
        Fact("Device", run.device, code=True),
        Fact("Device name", run.device_name),
        Fact("Hardware", "EMULATED: a stand-in on the CPU" if run.emulated else "the real device"),
        Fact("torch", run.torch_version),
        Fact("Backend", f"{run.backend} {run.backend_version}".strip()),
        *(Fact(name, version) for name, version in run.versions),
        Fact("Harness", run.harness_version),
        Fact("Suites", ", ".join(run.suites)),
        Fact("Selection", run.selection or _selected(run, files), code=bool(run.selection)),
        Fact("Injected faults", injected_faults(run), code=True),
        Fact(
            "Profile of the emulated device",
            without_local_paths(run.environment.get(PROFILE, "")),
            code=True,
        ),
        Fact("Skiplist", without_local_paths(run.skiplist), code=True),
        Fact("Further attempts", str(run.retries) if run.retries else ""),
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


def tallies_of_tests(findings: Findings) -> tuple[Tally, ...]:
    """Return the same for the run shown, with the passes that needed the CPU set apart."""
    counts = Counter(map(shown_code, filter(None, findings.history.matrix.rows[findings.run.id].codes)))
    return tuple(Tally(outcome_mark(code), counts[code]) for code in in_order(counts, TEST_SUMMARY_ORDER))


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
        mode = " in eager mode" if findings.compiles(noun) else ""
        sentence = f"No {noun} has a result{mode} in this run; all {number(total)} are untested."
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
