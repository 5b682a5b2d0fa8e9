"""Build the table of all operators and the table of all modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.publish.compiled import compile_command, compiled_cells, mode_names, no_compiled, other_run
from conformance.publish.dtypes import in_dtype_order, rare_dtypes
from conformance.publish.findings import OPERATOR, Findings, Standing, Subject
from conformance.publish.heat_map import heat_map
from conformance.publish.marks import STATUS_MARKS, UNDECLARED, status_mark
from conformance.publish.overview import status_tallies
from conformance.publish.pages import Link
from conformance.publish.pages_subjects import Cell, SubjectRow, SubjectsPage
from conformance.publish.registered import served
from conformance.publish.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.publish.context import Site

_OVERLOADS_SHOWN = 2


def subjects_page(site: Site, subjects: Sequence[Subject], *, noun: str) -> SubjectsPage:
    """Return the table of all operators or modules of the inventory, untested ones included."""
    findings = site.findings
    dtypes = in_dtype_order(dtype for subject in subjects for dtype in (*subject.dtypes, *subject.by_dtype))
    rare = rare_dtypes([(*subject.dtypes, *subject.by_dtype) for subject in subjects])
    registered = noun == OPERATOR and bool(findings.registered)
    return SubjectsPage(
        noun=noun,
        plural=f"{noun}s",
        heading="Operators" if noun == OPERATOR else "Modules",
        intro=_intro(findings, subjects, noun=noun),
        dtypes=dtypes,
        rare=rare,
        legend=status_tallies(subjects),
        letters=" ".join(f"{mark.letter}:{mark.code}" for mark in (*STATUS_MARKS.values(), UNDECLARED)),
        groups=tuple(sorted({subject.group for subject in subjects if subject.group})),
        registered=registered,
        rows=tuple(_row(site, subject, dtypes, registered=registered) for subject in subjects),
        picture=heat_map(subjects, [dtype for dtype in dtypes if dtype not in rare]) if noun == OPERATOR else None,
        modes=mode_names(site, noun),
        no_compiled=no_compiled(site, noun),
        compile_command=compile_command(site, noun),
        compiled_run=other_run(site, noun),
    )


def _intro(findings: Findings, subjects: Sequence[Subject], *, noun: str) -> str:
    run = findings.run
    where = f"the emulated device \u2018{run.device}\u2019" if run.emulated else f"the device \u2018{run.device}\u2019"
    source = "OpInfos" if noun == OPERATOR else "module_db entries"
    return f"All {counted(len(subjects), noun)} of torch {run.torch_version} ({source}), tested on {where} or not."


def _row(site: Site, subject: Subject, dtypes: Sequence[str], *, registered: bool) -> SubjectRow:
    overall = subject.overall
    declared = frozenset(subject.dtypes)
    forward = site.forward.get(subject.name, ()) if registered else ()
    how = served([site.findings.registered.get(overload, "") for overload in forward])
    return SubjectRow(
        link=Link(subject.name, subject.href),
        group=subject.group,
        mark=status_mark(overall.status, subject.noun),
        passed=overall.passed,
        planned=overall.planned,
        ratio=f"{overall.passed / overall.planned:.4f}" if overall.planned else "",
        aten_name=subject.aten_name if subject.aten_name != subject.name else "",
        registered=how.mark if how else None,
        registered_text=how.text if how else "",
        overloads=overall.overloads[:_OVERLOADS_SHOWN],
        overloads_more=max(len(overall.overloads) - _OVERLOADS_SHOWN, 0),
        overloads_all=" ".join(overall.overloads) if len(overall.overloads) > _OVERLOADS_SHOWN else "",
        cells=tuple(dtype_cell(subject, dtype, declared=dtype in declared) for dtype in dtypes),
        compiled=compiled_cells(site, subject),
    )


def dtype_cell(subject: Subject, dtype: str, *, declared: bool) -> Cell:
    """Return the cell that says how the subject stands in one dtype; what has no result has no title."""
    standing = subject.by_dtype.get(dtype)
    if standing is None:
        return Cell(status_mark("untested", subject.noun) if declared else UNDECLARED, "")
    mark = status_mark(standing.status, subject.noun)
    if not standing.planned:
        return Cell(mark, "")
    return Cell(mark, f"{dtype}: {mark.word}, {tests_passed(standing)}")


def tests_passed(standing: Standing) -> str:
    """Say how many of the planned tests passed; without a plan there is no figure."""
    if not standing.planned:
        return "no test planned"
    return f"{number(standing.passed)} of {counted(standing.planned, 'test')} passed"
