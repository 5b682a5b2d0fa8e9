"""Read the findings of one run from the store; the only place of the website that does."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache, partial
from typing import TYPE_CHECKING

from conformance.analysis import opdb
from conformance.analysis.architectures import architectures_of, newest_with_architectures
from conformance.analysis.beside import newest_compiled
from conformance.analysis.calls import recorded_calls
from conformance.analysis.coverage import coverage
from conformance.analysis.named import packet_of
from conformance.model.compilation import compile_mode
from conformance.model.operator import ModuleInventory, OperatorInfo, OperatorStatus
from conformance.model.outcome import Outcome
from conformance.publish.architectures import ModelsFinding
from conformance.publish.choice import best_run, is_whole
from conformance.publish.compiled import CompiledFinding, compiled_finding
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
from conformance.publish.matrix import ABSENT, OutcomeMatrix, on_cpu, outcome_of
from conformance.publish.slugs import slugs
from conformance.publish.source_history import read_attempts, read_entries, read_history
from conformance.store import (
    CountRow,
    Database,
    ModuleStatusRow,
    OperatorStatusRow,
    ResultRow,
    compile_statuses,
    compiles_only,
    fallback_operators,
    module_statuses,
    modules,
    operator_statuses,
    operators,
    registrations,
    resolve_run,
    results,
    runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conformance.model.overload import Snapshot
    from conformance.store import RunRow

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


# What the command line's --run means where it is not given.
BEST = "best"


def read_findings(database: Database, selector: str = BEST) -> Findings:
    """Return what the store holds about the selected run; tests are read later, one operator at a time.

    ``best`` is the newest run that may make a headline, one of compiling tests alone only where there is no other, or
    the newest of all where none may. Raises UsageError
    (``unknown-run``) when no run fits the selector.
    """
    every = runs(database)
    run = (_best(database, every) if selector == BEST else None) or resolve_run(
        database, "latest" if selector == BEST else selector
    )
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

    others: dict[str, list[ResultRow]] = {}

    def file_results(file: str) -> Iterator[ResultRow]:
        if not others:
            for row in results(database, run.id):
                if row.op is None and row.module is None:
                    others.setdefault(row.file, []).append(row)
        return iter(others.get(file, ()))

    history, durations_us = read_history(database, run, every)
    evidence, files = _walk(history.matrix, run.id)
    return Findings(
        run=run,
        runs=every,
        operators=operator_subjects,
        modules=module_subjects,
        operator_coverage=coverage(operator_rows),
        module_coverage=coverage(module_rows),
        by_suite=_counts_by(history.matrix, run.id, [test.suite for test in history.matrix.tests]),
        by_template=_counts_by(history.matrix, run.id, [test.template for test in history.matrix.tests]),
        overloads=tuple(
            OverloadFinding(overload, tests, tuple(names))
            for overload, tests, names in fallback_operators(database, run.id)
        ),
        results_of=results_of,
        bad_results=bad_results,
        file_results=file_results,
        evidence=evidence,
        files=files,
        history=history,
        durations_us=durations_us,
        entries=read_entries(database, run, history.matrix),
        registered={each.overload: str(each.kind) for each in registrations(database, run.id)},
        snapshot=_snapshot(run),
        attempts=read_attempts(database, run.id),
        links={(subject.noun, subject.name): subject.href for subject in (*operator_subjects, *module_subjects)},
        models=_models(database, run, every),
        compiled=_compiled(database, run, every),
    )


def _best(database: Database, every: Sequence[RunRow]) -> RunRow | None:
    """Return the run to show: one that only compiles has nothing to say of eager mode, which most pages are about."""
    whole = [run for run in reversed(every) if is_whole(run)]
    return next((run for run in whole if not compiles_only(database, run.id)), None) or best_run(every)


def _models(database: Database, run: RunRow, every: Sequence[RunRow]) -> ModelsFinding | None:
    """Return the architectures of the run, or of the newest run of its device that has results of any."""
    found = newest_with_architectures(run, every, lambda run_id: results(database, run_id, of_architectures=True))
    if found is None:
        return None
    source, rows = found
    known = {packet_of(each.overload) for each in registrations(database, source.id)}
    recorded = recorded_calls(source.torch_version)
    return ModelsFinding(source, architectures_of(rows, observed=bool(source.probe), known=known, recorded=recorded))


def _compiled(database: Database, run: RunRow, every: Sequence[RunRow]) -> dict[str, CompiledFinding]:
    """Return what the run, or the newest one beside it, says under torch.compile, by noun."""
    statuses = cache(partial(compile_statuses, database))
    found = {}
    for noun in (OPERATOR, MODULE):
        newest = newest_compiled(run, every, statuses, noun=noun)
        if newest is not None:
            source, rows = newest
            failed = results(database, source.id, outcomes=_SHOWN_AS_FAILURE, compiling=True)
            found[noun] = compiled_finding(
                *(source, rows),
                [
                    (compile_mode(each.suite, each.template), each)
                    for each in failed
                    if (each.op if noun == OPERATOR else each.module) is not None
                ],
            )
    return found


def _snapshot(run: RunRow) -> Snapshot | None:
    """Return what is known of the overloads of the run's torch version, None where nothing is."""
    version = opdb.public_version(run.torch_version)
    # A folder of that name somewhere is no snapshot that comes with the harness.
    return opdb.load(version) if version in opdb.versions() else None


def _counts_by(matrix: OutcomeMatrix, run_id: int, keys: Iterable[str]) -> tuple[CountRow, ...]:
    """Count the run's tests by outcome for each key, by key."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    fallback: Counter[str] = Counter()
    for (key, byte), tests in Counter(zip(keys, matrix.rows[run_id].codes, strict=True)).items():
        if byte == ABSENT:
            continue
        counts[key][outcome_of(byte)] += tests
        fallback[key] += tests if on_cpu(byte) else 0
    return tuple(
        CountRow(key, counted.total(), {outcome: counted[outcome.value] for outcome in Outcome}, fallback[key])
        for key, counted in sorted(counts.items())
    )


def _walk(matrix: OutcomeMatrix, run_id: int) -> tuple[dict[str, Evidence], tuple[FileFinding, ...]]:
    """Return what the statuses rest on, and the counts of the files whose tests have neither operator nor module."""
    tests: Counter[str] = Counter()
    templates: defaultdict[str, set[str]] = defaultdict(set)
    dtypes: defaultdict[str, set[str]] = defaultdict(set)
    files: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for test, byte in zip(matrix.tests, matrix.rows[run_id].codes, strict=True):
        if byte == ABSENT:
            continue
        outcome = outcome_of(byte)
        if test.op is None and test.module is None:
            files[test.file][outcome] += 1
        if outcome == Outcome.NOT_RUN.value or compile_mode(test.suite, test.template) is not None:
            continue
        for noun, name in ((OPERATOR, test.op), (MODULE, test.module)):
            if name is not None:
                tests[noun] += 1
                templates[noun].add(test.template)
                if test.dtype:
                    dtypes[noun].add(test.dtype)
    evidence = {
        noun: Evidence(tests[noun], tuple(sorted(templates[noun])), in_dtype_order(dtypes[noun]))
        for noun in (OPERATOR, MODULE)
    }
    names = slugs(files)
    return evidence, tuple(
        FileFinding(file, names[file], dict(sorted(counts.items()))) for file, counts in sorted(files.items())
    )


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
