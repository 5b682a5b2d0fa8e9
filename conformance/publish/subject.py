"""Build the page of one operator or one module, down to its last test."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from conformance.analysis.repeat import repeat_command
from conformance.model.operator import OperatorStatus
from conformance.publish.charts import Tally, stacked_bar
from conformance.publish.compiled import compiled_part
from conformance.publish.dtypes import NO_DTYPE, in_dtype_order
from conformance.publish.findings import OPERATOR, Findings, Standing, Subject
from conformance.publish.marks import (
    NO_TEST,
    TEST_SUMMARY_ORDER,
    Mark,
    in_order,
    outcome_mark,
    outcome_rank,
    status_mark,
)
from conformance.publish.models import operator_models
from conformance.publish.pages import Fact, Link
from conformance.publish.pages_subjects import (
    Cell,
    DtypeRow,
    EntryLine,
    MatrixRow,
    ReachedRow,
    ReasonRow,
    SubjectPage,
)
from conformance.publish.redaction import published_environment, without_local_paths
from conformance.publish.registered import reached_by
from conformance.publish.slugs import anchor, named_anchor
from conformance.publish.subject_history import history_rows, since
from conformance.publish.subjects import tests_passed
from conformance.publish.tested import result_mark, split_tests, worst_first
from conformance.publish.tolerances import tolerance_lines
from conformance.publish.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.publish.context import Site
    from conformance.publish.subject_history import SubjectHistory
    from conformance.store import ResultRow


def subject_page(
    site: Site,
    subject: Subject,
    results: Iterable[ResultRow],
    *,
    history: SubjectHistory,
    previous: Subject | None,
    following: Subject | None,
) -> SubjectPage:
    """Return the page of one operator or module; ``results`` are the last attempts of its tests."""
    rows = sorted(results, key=worst_first)
    outcomes = Counter(result_mark(row).code for row in rows)
    tallies = tuple(Tally(outcome_mark(code), outcomes[code]) for code in in_order(outcomes, TEST_SUMMARY_ORDER))
    dtypes, matrix, legend = _matrix(subject, rows)
    inside = Counter(overload for row in rows for overload in row.fallback_ops or ())
    anywhere = {overload for row in rows for overload in row.test_fallback_ops or ()}
    tests, more, plain = split_tests(site, rows)
    plural = f"{subject.noun}s"
    return SubjectPage(
        noun=subject.noun,
        name=subject.name,
        mark=status_mark(subject.overall.status, subject.noun),
        verdict=verdict(site.findings, subject),
        facts=_facts(subject),
        tallies=tallies,
        planned=len(rows),
        bar=stacked_bar(tallies),
        dtypes=dtypes,
        matrix=matrix,
        matrix_legend=legend,
        tolerances=tolerance_lines(rows),
        tests=tests,
        tests_more=more,
        plain=plain,
        observed=sum(row.fallback_ops is not None for row in rows),
        registered=bool(site.findings.registered),
        reached=_reached(site, subject, inside),
        no_reached=_no_reached(site, subject),
        outside=tuple(sorted(anywhere - inside.keys())),
        models=operator_models(site, subject) if subject.noun == OPERATOR else None,
        compiled=compiled_part(site, subject),
        entries=_entries(site, rows),
        reasons=_reasons(rows),
        history=history_rows(site, subject, history),
        since=since(site, history),
        command=_command(site, rows),
        all=Link(f"All {plural}", f"{plural}.html"),
        previous=Link(previous.name, previous.href) if previous else None,
        following=Link(following.name, following.href) if following else None,
    )


def verdict(findings: Findings, subject: Subject) -> str:
    """Answer in one or two sentences whether it works on the device, and on what evidence."""
    device = f"the emulated {findings.run.device} device" if findings.run.emulated else findings.run.device
    standing = subject.overall
    lead = _lead(standing, device, observed=findings.fallback_observed)
    # Tests that compile have a status of their own: they are no answer for eager mode.
    compiles = findings.compiles(subject.noun) and subject.name in findings.compiled[subject.noun].rows
    mode = " in eager mode" if compiles else ""
    if subject.undeclared:
        lead = f"PyTorch declares no dtype of it for this device, so no test of it in a dtype exists. {lead}"
    if not standing.planned:
        return lead if subject.undeclared else f"{lead} No test of it{mode} was planned."
    others = [
        f"{number(count)} {word}"
        for count, word in (
            (standing.failed, "failed"),
            (standing.crashed, "crashed, timed out or ran out of memory"),
            (standing.flaky, "passed only at a further attempt"),
            (standing.skipped, "skipped"),
            (standing.xfailed, "failed as PyTorch expects"),
            (standing.not_run, "without a result"),
        )
        if count
    ]
    evidence = f"{number(standing.passed)} of {counted(standing.planned, 'planned test')}{mode} passed"
    return f"{lead} {', '.join([evidence, *others])}."


def _lead(standing: Standing, device: str, *, observed: bool) -> str:
    sentences = {
        OperatorStatus.NATIVE.value: (
            f"Runs natively on {device}."
            if observed
            else f"Works on {device}; whether the CPU did the work was not observed."
        ),
        OperatorStatus.FALLBACK.value: (
            f"Works on {device}, but not natively: in {counted(standing.fallback, 'test')} it ran on the CPU."
        ),
        OperatorStatus.PARTIAL.value: f"Works only in part on {device}.",
        OperatorStatus.FAILING.value: f"Does not work on {device}: every test that decided failed.",
        OperatorStatus.CRASHING.value: f"Not safe on {device}: it took the process down or hung.",
        OperatorStatus.SKIPPED.value: f"No answer for {device}: no test decided.",
        OperatorStatus.UNTESTED.value: f"No answer for {device}: it has no result in this run.",
    }
    return sentences.get(standing.status, f"Unknown status \u2018{standing.status}\u2019: no answer.")


def _facts(subject: Subject) -> tuple[Fact, ...]:
    facts = [Fact("Dtypes declared", ", ".join(in_dtype_order(subject.dtypes)) or "none")]
    if subject.noun == OPERATOR:
        facts = [
            Fact("Group", subject.group),
            Fact("ATen name", subject.aten_name, code=True),
            *facts,
            Fact("Autograd", _yes_no(subject.supports_autograd)),
            Fact("out= variant", _yes_no(subject.supports_out)),
        ]
    return tuple(fact for fact in facts if fact.value)


def _yes_no(value: bool | None) -> str:
    if value is None:
        return ""
    return "declared" if value else "not declared"


def _dtype_row(subject: Subject, dtype: str) -> DtypeRow:
    standing = subject.by_dtype.get(dtype)
    declared = dtype in subject.dtypes
    if dtype == NO_DTYPE:
        return DtypeRow(dtype, NO_TEST, declared=True, title="tests without a dtype have no status of their own")
    mark = status_mark(standing.status if standing else OperatorStatus.UNTESTED.value, subject.noun)
    title = f"{dtype}: {mark.word}, {tests_passed(standing) if standing else 'no test planned'}"
    return DtypeRow(dtype, mark, declared, title if declared else f"{title}; not declared for this device")


def _matrix(
    subject: Subject, rows: Sequence[ResultRow]
) -> tuple[tuple[DtypeRow, ...], tuple[MatrixRow, ...], tuple[Mark, ...]]:
    """Return templates against dtypes; where one cell stands for several tests it shows the worst."""
    cells: defaultdict[tuple[str, str], list[ResultRow]] = defaultdict(list)
    for row in rows:
        cells[row.template, row.dtype or NO_DTYPE].append(row)
    dtypes = in_dtype_order((*subject.dtypes, *subject.by_dtype, *(dtype for _, dtype in cells)))
    matrix = tuple(
        MatrixRow(template, tuple(_matrix_cell(cells.get((template, dtype), []), dtype) for dtype in dtypes))
        for template in sorted({template for template, _ in cells})
    )
    used = {cell.mark.code: cell.mark for row in matrix for cell in row.cells}
    legend = sorted(used.values(), key=lambda mark: (outcome_rank(mark.code), mark.code))
    return tuple(_dtype_row(subject, dtype) for dtype in dtypes), matrix, tuple(legend)


def _matrix_cell(rows: Sequence[ResultRow], dtype: str) -> Cell:
    if not rows:
        return Cell(NO_TEST, "", count=0)
    worst = rows[0]
    mark = result_mark(worst)
    title = f"{dtype}: {mark.word}"
    if len(rows) > 1:
        title += f" (the worst of {len(rows)} tests)"
    return Cell(mark, title, href=f"#{anchor(worst.test_id)}", count=len(rows))


def _reached(site: Site, subject: Subject, inside: Counter[str]) -> tuple[ReachedRow, ...]:
    phases = site.phases.get(subject.name, {}) if subject.noun == OPERATOR else {}
    return tuple(
        ReachedRow(
            link=Link(each.overload, f"overloads.html#{named_anchor('o', each.overload)}"),
            phases=", ".join(each.phases) or "seen in a test",
            registered=each.registered,
            tests=each.tests,
        )
        for each in reached_by(phases, inside, site.findings.registered)
    )


def _no_reached(site: Site, subject: Subject) -> str:
    """Say why only overloads that fell back are listed, where it is so."""
    if subject.noun != OPERATOR:
        return "Which overloads a module reaches is not recorded; those that fell back are listed."
    if site.findings.snapshot is None:
        version = site.run.torch_version
        return f"Which overloads it reaches is not known for torch {version}; those that fell back are listed."
    return "" if subject.name in site.phases else "Which overloads it reaches is not known; it is in no snapshot."


def _entries(site: Site, rows: Sequence[ResultRow]) -> tuple[EntryLine, ...]:
    counts = Counter(row.entry for row in rows if row.entry)
    known = {each.entry.entry_id: each.entry for each in site.findings.entries}
    return tuple(
        EntryLine(
            link=Link(name, f"skiplist.html#{named_anchor('e', name)}"),
            expect=known[name].expect,
            category=known[name].category,
            reason=without_local_paths(known[name].reason),
            tests=counts[name],
        )
        for name in sorted(counts)
        if name in known
    )


def _reasons(rows: Sequence[ResultRow]) -> tuple[ReasonRow, ...]:
    counts = Counter(without_local_paths(row.reason) for row in rows if row.reason)
    return tuple(
        ReasonRow(reason, tests) for reason, tests in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def _command(site: Site, rows: Sequence[ResultRow]) -> str:
    """Return the command that repeats the worst test; any other one takes its id in place of that."""
    if not rows:
        return ""
    run = site.run
    return repeat_command(
        rows[0].test_id,
        rows[0].suite,
        run.device,
        command=run.command,
        environment=published_environment(run.environment),
    )
