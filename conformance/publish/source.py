"""Read the findings of one run from the store; the only place of the website that does."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from conformance.analysis.coverage import coverage
from conformance.model.operator import ModuleInventory, OperatorInfo, OperatorStatus
from conformance.model.outcome import Outcome
from conformance.publish.dtypes import in_dtype_order
from conformance.publish.findings import (
    MODULE,
    OPERATOR,
    Evidence,
    FileFinding,
    Findings,
    OverloadFinding,
    Standing,
    Subject,
)
from conformance.publish.slugs import slugs
from conformance.store import (
    Database,
    ModuleStatusRow,
    OperatorStatusRow,
    ResultRow,
    counts_by,
    fallback_operators,
    module_statuses,
    modules,
    operator_statuses,
    operators,
    resolve_run,
    results,
    runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHOWN_AS_FAILURE = tuple(outcome for outcome in Outcome if outcome.is_bad and outcome is not Outcome.NOT_RUN)

_NOTHING = Standing(
    status=OperatorStatus.UNTESTED.value,
    planned=0,
    passed=0,
    failed=0,
    skipped=0,
    xfailed=0,
    crashed=0,
    not_run=0,
    flaky=0,
    fallback=0,
    overloads=(),
)


def read_findings(database: Database, selector: str) -> Findings:
    """Return what the store holds about the selected run; tests are read later, one operator at a time.

    Raises UsageError (``unknown-run``) when no run fits the selector.
    """
    run = resolve_run(database, selector)
    operator_rows = operator_statuses(database, run.id)
    module_rows = module_statuses(database, run.id)
    operator_subjects = _operators(operators(database, run.id), operator_rows)
    module_subjects = _modules(modules(database, run.id), module_rows)

    def results_of(subject: Subject) -> Iterator[ResultRow]:
        if subject.noun == OPERATOR:
            return results(database, run.id, op=subject.name)
        return results(database, run.id, module=subject.name)

    def bad_results() -> Iterator[ResultRow]:
        return results(database, run.id, outcomes=_SHOWN_AS_FAILURE)

    def other_results() -> Iterator[ResultRow]:
        return (row for row in results(database, run.id) if row.op is None and row.module is None)

    evidence, files = _walk(results(database, run.id))
    return Findings(
        run=run,
        runs=runs(database),
        operators=operator_subjects,
        modules=module_subjects,
        operator_coverage=coverage(operator_rows),
        module_coverage=coverage(module_rows),
        by_suite=counts_by(database, run.id, "suite"),
        by_template=counts_by(database, run.id, "template"),
        overloads=tuple(
            OverloadFinding(overload, tests, tuple(names))
            for overload, tests, names in fallback_operators(database, run.id)
        ),
        results_of=results_of,
        bad_results=bad_results,
        other_results=other_results,
        evidence=evidence,
        files=files,
        links={(subject.noun, subject.name): subject.href for subject in (*operator_subjects, *module_subjects)},
    )


def _walk(rows: Iterable[ResultRow]) -> tuple[dict[str, Evidence], tuple[FileFinding, ...]]:
    """Return what the statuses rest on, and the counts of the files whose tests have neither operator nor module."""
    tests: Counter[str] = Counter()
    templates: defaultdict[str, set[str]] = defaultdict(set)
    dtypes: defaultdict[str, set[str]] = defaultdict(set)
    files: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        nouns = [noun for noun, name in ((OPERATOR, row.op), (MODULE, row.module)) if name is not None]
        if not nouns:
            files[row.file][str(row.outcome)] += 1
        if row.outcome is Outcome.NOT_RUN:
            continue
        for noun in nouns:
            tests[noun] += 1
            templates[noun].add(row.template)
            if row.dtype:
                dtypes[noun].add(row.dtype)
    evidence = {
        noun: Evidence(tests[noun], tuple(sorted(templates[noun])), in_dtype_order(dtypes[noun]))
        for noun in (OPERATOR, MODULE)
    }
    return evidence, tuple(FileFinding(file, dict(sorted(counts.items()))) for file, counts in sorted(files.items()))


def _operators(declared: Iterable[OperatorInfo], rows: Iterable[OperatorStatusRow]) -> tuple[Subject, ...]:
    inventory = {operator.name: operator for operator in declared}
    standings = _standings((row.op, row) for row in rows)
    names = slugs({*inventory, *standings})
    found = []
    for name in sorted(names, key=_alphabetical):
        info = inventory.get(name)
        by_dtype = standings.get(name, {})
        found.append(
            Subject(
                noun=OPERATOR,
                name=name,
                slug=names[name],
                dtypes=info.dtypes if info else (),
                overall=by_dtype.get(None, _NOTHING),
                by_dtype={dtype: standing for dtype, standing in by_dtype.items() if dtype is not None},
                group=info.group if info else "",
                aten_name=info.aten_name if info else "",
                supports_autograd=info.supports_autograd if info else None,
                supports_out=info.supports_out if info else None,
                in_inventory=info is not None,
            )
        )
    return tuple(found)


def _modules(declared: Iterable[ModuleInventory], rows: Iterable[ModuleStatusRow]) -> tuple[Subject, ...]:
    inventory = {module.name: module for module in declared}
    standings = _standings((row.module, row) for row in rows)
    names = slugs({*inventory, *standings})
    found = []
    for name in sorted(names, key=_alphabetical):
        by_dtype = standings.get(name, {})
        found.append(
            Subject(
                noun=MODULE,
                name=name,
                slug=names[name],
                dtypes=inventory[name].dtypes if name in inventory else (),
                overall=by_dtype.get(None, _NOTHING),
                by_dtype={dtype: standing for dtype, standing in by_dtype.items() if dtype is not None},
                in_inventory=name in inventory,
            )
        )
    return tuple(found)


def _standings(
    rows: Iterable[tuple[str, OperatorStatusRow | ModuleStatusRow]],
) -> dict[str, dict[str | None, Standing]]:
    standings: dict[str, dict[str | None, Standing]] = {}
    for name, row in rows:
        standings.setdefault(name, {})[row.dtype] = Standing(
            status=str(row.status),
            planned=row.planned,
            passed=row.passed,
            failed=row.failed,
            skipped=row.skipped,
            xfailed=row.xfailed,
            crashed=row.crashed,
            not_run=row.not_run,
            flaky=row.flaky,
            fallback=row.fallback,
            overloads=tuple(row.fallback_ops),
        )
    return standings


def _alphabetical(name: str) -> tuple[str, str]:
    return name.lower(), name
