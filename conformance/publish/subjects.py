"""Build the table of all operators and the table of all modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.publish.dtypes import in_dtype_order, rare_dtypes
from conformance.publish.findings import MODULE, OPERATOR, Findings, Standing, Subject
from conformance.publish.marks import STATUS_MARKS, UNDECLARED, status_mark
from conformance.publish.overview import status_tallies
from conformance.publish.pages import Cell, Link, SubjectRow, SubjectsPage
from conformance.publish.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Sequence

_OVERLOADS_SHOWN = 2


def subjects_page(findings: Findings, subjects: Sequence[Subject], *, noun: str) -> SubjectsPage:
    """Return the table of all operators or modules of the inventory, untested ones included."""
    dtypes = in_dtype_order(dtype for subject in subjects for dtype in (*subject.dtypes, *subject.by_dtype))
    legend = status_tallies(subjects)
    other_noun, others = (MODULE, findings.modules) if noun == OPERATOR else (OPERATOR, findings.operators)
    return SubjectsPage(
        noun=noun,
        plural=f"{noun}s",
        heading="Operators" if noun == OPERATOR else "Modules",
        intro=_intro(findings, subjects, noun=noun),
        dtypes=dtypes,
        rare=rare_dtypes([(*subject.dtypes, *subject.by_dtype) for subject in subjects]),
        legend=legend,
        order=" ".join([mark.letter for mark in STATUS_MARKS.values()] + [UNDECLARED.letter]),
        groups=tuple(sorted({subject.group for subject in subjects if subject.group})),
        rows=tuple(_row(subject, dtypes) for subject in subjects),
        others=tuple(Link(other.name, other.href) for other in others),
        other_noun=other_noun,
    )


def _intro(findings: Findings, subjects: Sequence[Subject], *, noun: str) -> str:
    run = findings.run
    where = f"the emulated device \u2018{run.device}\u2019" if run.emulated else f"the device \u2018{run.device}\u2019"
    source = "OpInfos" if noun == OPERATOR else "module_db entries"
    return (
        f"All {counted(len(subjects), noun)} of torch {run.torch_version} ({source}), tested on {where} or not. "
        "A letter stands for the status in one dtype."
    )


def _row(subject: Subject, dtypes: Sequence[str]) -> SubjectRow:
    overall = subject.overall
    declared = frozenset(subject.dtypes)
    return SubjectRow(
        link=Link(subject.name, subject.href),
        group=subject.group,
        mark=status_mark(overall.status, subject.noun),
        passed=overall.passed,
        planned=overall.planned,
        ratio=f"{overall.passed / overall.planned:.4f}" if overall.planned else "",
        aten_name=subject.aten_name if subject.aten_name != subject.name else "",
        overloads=overall.overloads[:_OVERLOADS_SHOWN],
        overloads_more=max(len(overall.overloads) - _OVERLOADS_SHOWN, 0),
        overloads_all=" ".join(overall.overloads) if len(overall.overloads) > _OVERLOADS_SHOWN else "",
        cells=tuple(dtype_cell(subject, dtype, declared=dtype in declared) for dtype in dtypes),
    )


def dtype_cell(subject: Subject, dtype: str, *, declared: bool) -> Cell:
    """Return the cell that says how the subject stands in one dtype."""
    standing = subject.by_dtype.get(dtype)
    if standing is None:
        if not declared:
            return Cell(UNDECLARED, "")
        return Cell(status_mark("untested", subject.noun), f"{dtype}: untested")
    mark = status_mark(standing.status, subject.noun)
    return Cell(mark, f"{dtype}: {mark.word}, {tests_passed(standing)}")


def tests_passed(standing: Standing) -> str:
    """Say how many of the planned tests passed; without a plan there is no figure."""
    if not standing.planned:
        return "no test planned"
    return f"{number(standing.passed)} of {counted(standing.planned, 'test')} passed"
