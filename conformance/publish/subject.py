"""Build the page of one operator or one module, down to its last test."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from conformance.model.operator import OperatorStatus
from conformance.publish.charts import Tally, stacked_bar
from conformance.publish.dtypes import NO_DTYPE, in_dtype_order
from conformance.publish.findings import OPERATOR, Findings, Standing, Subject
from conformance.publish.marks import (
    NO_TEST,
    OUTCOME_SUMMARY_ORDER,
    Mark,
    in_order,
    outcome_mark,
    outcome_rank,
    status_mark,
)
from conformance.publish.pages import Cell, DtypeRow, Fact, Link, MatrixRow, ReasonRow, SubjectPage
from conformance.publish.redaction import without_local_paths
from conformance.publish.slugs import anchor
from conformance.publish.tested import result_mark, shown_test, worst_first
from conformance.publish.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.store import ResultRow


def subject_page(
    findings: Findings,
    subject: Subject,
    results: Iterable[ResultRow],
    *,
    previous: Subject | None,
    following: Subject | None,
) -> SubjectPage:
    """Return the page of one operator or module; ``results`` are the last attempts of its tests."""
    rows = sorted(results, key=worst_first)
    outcomes = Counter(str(row.outcome) for row in rows)
    tallies = tuple(Tally(outcome_mark(code), outcomes[code]) for code in in_order(outcomes, OUTCOME_SUMMARY_ORDER))
    matrix_dtypes, matrix, legend = _matrix(rows)
    inside = {overload for row in rows for overload in row.fallback_ops or ()}
    anywhere = {overload for row in rows for overload in row.test_fallback_ops or ()}
    plural = f"{subject.noun}s"
    return SubjectPage(
        noun=subject.noun,
        name=subject.name,
        mark=status_mark(subject.overall.status, subject.noun),
        verdict=verdict(findings, subject),
        facts=_facts(subject),
        tallies=tallies,
        planned=len(rows),
        bar=stacked_bar(tallies),
        dtypes=_dtype_rows(subject),
        matrix_dtypes=matrix_dtypes,
        matrix=matrix,
        matrix_legend=legend,
        tests=tuple(shown_test(row, findings.run) for row in rows),
        observed=sum(row.fallback_ops is not None for row in rows),
        overloads=tuple(sorted(inside)),
        outside=tuple(sorted(anywhere - inside)),
        reasons=_reasons(rows),
        all=Link(f"All {plural}", f"{plural}.html"),
        previous=Link(previous.name, previous.href) if previous else None,
        following=Link(following.name, following.href) if following else None,
    )


def verdict(findings: Findings, subject: Subject) -> str:
    """Answer in one or two sentences whether it works on the device, and on what evidence."""
    device = f"the emulated {findings.run.device} device" if findings.run.emulated else findings.run.device
    standing = subject.overall
    lead = _lead(standing, device, observed=findings.fallback_observed)
    if subject.undeclared:
        lead = f"PyTorch declares no dtype of it for this device, so no test of it in a dtype exists. {lead}"
    if not standing.planned:
        return lead if subject.undeclared else f"{lead} No test of it was planned."
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
    evidence = f"{number(standing.passed)} of {counted(standing.planned, 'planned test')} passed"
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


def _dtype_rows(subject: Subject) -> tuple[DtypeRow, ...]:
    rows = []
    for dtype in in_dtype_order((*subject.dtypes, *subject.by_dtype)):
        standing = subject.by_dtype.get(dtype)
        rows.append(
            DtypeRow(
                dtype=dtype,
                mark=status_mark(standing.status if standing else OperatorStatus.UNTESTED.value, subject.noun),
                declared=dtype in subject.dtypes,
                passed=standing.passed if standing else 0,
                planned=standing.planned if standing else 0,
                overloads=standing.overloads if standing else (),
            )
        )
    return tuple(rows)


def _matrix(rows: Sequence[ResultRow]) -> tuple[tuple[str, ...], tuple[MatrixRow, ...], tuple[Mark, ...]]:
    """Return templates against dtypes; where one cell stands for several tests it shows the worst."""
    cells: defaultdict[tuple[str, str], list[ResultRow]] = defaultdict(list)
    for row in rows:
        cells[row.template, row.dtype or NO_DTYPE].append(row)
    dtypes = in_dtype_order(dtype for _, dtype in cells)
    templates = sorted({template for template, _ in cells})
    matrix = tuple(
        MatrixRow(template, tuple(_matrix_cell(cells.get((template, dtype), []), dtype) for dtype in dtypes))
        for template in templates
    )
    used = {cell.mark.code: cell.mark for row in matrix for cell in row.cells}
    legend = sorted(used.values(), key=lambda mark: (outcome_rank(mark.code), mark.code))
    return dtypes, matrix, tuple(legend)


def _matrix_cell(rows: Sequence[ResultRow], dtype: str) -> Cell:
    if not rows:
        return Cell(NO_TEST, f"{dtype}: no such test", count=0)
    worst = rows[0]
    mark = result_mark(worst)
    title = f"{dtype}: {mark.word}"
    if len(rows) > 1:
        title += f" (the worst of {len(rows)} tests)"
    return Cell(mark, title, href=f"#{anchor(worst.test_id)}", count=len(rows))


def _reasons(rows: Sequence[ResultRow]) -> tuple[ReasonRow, ...]:
    counts = Counter(without_local_paths(row.reason) for row in rows if row.reason)
    return tuple(
        ReasonRow(reason, tests) for reason, tests in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
