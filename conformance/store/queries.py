"""Read runs, results, counts and statuses; every answer has one fixed order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from conformance.errors import UsageError
from conformance.model.compilation import COMPILE_TEMPLATES, CompileMode
from conformance.model.listed import ListedEntry
from conformance.model.operator import ModuleInventory, OperatorInfo, OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.registration import Registration, RegistrationKind
from conformance.model.run import RunState
from conformance.store.rows import (
    CompileRow,
    CompileStatusRow,
    CountRow,
    EntryRow,
    FallbackRow,
    ModuleStatusRow,
    OperatorStatusRow,
    ResultRow,
    RunRow,
    SkipRow,
)
from conformance.store.schema import COMPILES, EAGER, FELL_BACK, LAST_RESULT, TEST_RESULTS
from conformance.store.text import storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.store.connection import Database

_RUN_COLUMNS = (
    "run_id, key, created_at, suites, device, device_name, emulated, torch_version, backend, backend_version,"
    " harness_version, python_version, host, operating_system, command, selection, probe, seed, state, started_at,"
    " finished_at, planned, plan_digest, collected, shard, shards, split, launch, retries, resumed, owner,"
    " skiplist, run_skipped, versions, environment"
)

_OUTCOMES = {outcome.value: outcome for outcome in Outcome}

_COUNT_KEYS = {
    "template": "(SELECT name FROM name WHERE id = test.template_id)",
    "dtype": "(SELECT name FROM name WHERE id = test.dtype_id)",
    "suite": "test.suite",
    "outcome": "coalesce(result.outcome, 'not_run')",
    "group": (
        "(SELECT name.name FROM inventory_operator AS operator JOIN name ON name.id = operator.group_id"
        " WHERE operator.inventory_id = run.inventory_id AND operator.op_id = test.op_id)"
    ),
}


def runs(db: Database) -> list[RunRow]:
    """Return every run, oldest number first."""
    counts: dict[int, dict[Outcome, int]] = {}
    for run_id, outcome, tests in db.query("SELECT run_id, outcome, tests FROM run_outcome"):
        counts.setdefault(run_id, {})[_OUTCOMES[outcome]] = tests
    return [
        _run_row(row, counts.get(row[0], {})) for row in db.query(f"SELECT {_RUN_COLUMNS} FROM run ORDER BY run_id")
    ]


def resolve_run(db: Database, selector: str = "latest") -> RunRow:
    """Return the run that is meant by "latest", "latest-complete", a number, a key or the start of one (4 or more).

    The latest is the one with the highest number. A number that is no run's is tried as the start of a key. Raises
    UsageError (``unknown-run``) that names what exists.
    """
    every = runs(db)
    selector = selector.strip()
    match selector:
        case "latest":
            found = every[-1:]
        case "latest-complete":
            found = [run for run in every if run.state is RunState.COMPLETE][-1:]
        case _:
            found = [run for run in every if str(run.id) == selector]
            if not found and len(selector) >= 4:
                found = [run for run in every if run.key.startswith(selector.lower())]
    if len(found) == 1:
        return found[0]
    exist = ", ".join(f"{run.id} ({run.key[:8]}, {run.state})" for run in every[-10:])
    if len(every) > 10:
        exist = f"{exist} and {len(every) - 10} earlier ones"
    if len(found) > 1:
        what = f"the key of {len(found)} runs starts with '{selector}'"
    else:
        what = (
            "there is no complete run" if selector == "latest-complete" and every else f"there is no run '{selector}'"
        )
    raise UsageError("unknown-run", f"{what} in {db.path}; it has {f'the runs {exist}' if exist else 'no runs'}")


def results(
    db: Database,
    run_id: int,
    *,
    op: str | None = None,
    module: str | None = None,
    outcomes: Iterable[Outcome] | None = None,
    of_architectures: bool = False,
    compiling: bool = False,
) -> Iterator[ResultRow]:
    """Yield every planned test of the run with its last attempt, by test id; all given conditions must hold.

    ``of_architectures`` leaves only tests of an architecture, ``compiling`` only those that use torch.compile.
    """
    conditions = ["plan.run_id = ?"]
    parameters: list[object] = [run_id]
    for column, name in (("op_id", op), ("module_id", module)):
        if name is not None:
            conditions.append(
                f"plan.test_ref IN (SELECT id FROM test WHERE {column} = (SELECT id FROM name WHERE name = ?))"
            )
            parameters.append(storable(name))
    if of_architectures:
        conditions.append("plan.test_ref IN (SELECT id FROM test WHERE architecture_id IS NOT NULL)")
    if compiling:
        conditions.append(f"plan.test_ref IN (SELECT id FROM test WHERE {COMPILES})")
    if outcomes is not None:
        wanted = sorted({outcome.value for outcome in outcomes})
        conditions.append(f"coalesce(result.outcome, 'not_run') IN ({', '.join('?' * len(wanted))})")
        parameters.extend(wanted)
    sql = f"{TEST_RESULTS}\n    WHERE {' AND '.join(conditions)}\n    ORDER BY test.test_id"
    for row in db.query(sql, parameters):
        yield _result_row(row)


def counts_by(
    db: Database, run_id: int, column: Literal["template", "group", "dtype", "suite", "outcome"]
) -> list[CountRow]:
    """Return the run's tests counted by one property, by key; a test without that property has the key ""."""
    planned: dict[str, dict[Outcome, int]] = {}
    fallback: dict[str, int] = {}
    for key, outcome, tests, fell_back in db.query(
        f"""SELECT coalesce({_COUNT_KEYS[column]}, '') AS key, coalesce(result.outcome, 'not_run') AS outcome,
            count(*), count(*) FILTER (WHERE {FELL_BACK})
        FROM run JOIN plan ON plan.run_id = run.run_id JOIN test ON test.id = plan.test_ref LEFT JOIN {LAST_RESULT}
        WHERE run.run_id = ? GROUP BY 1, 2""",
        (run_id,),
    ):
        planned.setdefault(key, dict.fromkeys(Outcome, 0))[_OUTCOMES[outcome]] = tests
        fallback[key] = fallback.get(key, 0) + fell_back
    return [
        CountRow(key=key, planned=sum(counts.values()), counts=counts, fallback=fallback[key])
        for key, counts in sorted(planned.items())
    ]


def skips(db: Database, run_id: int) -> list[SkipRow]:
    """Return the reasons of the skipped tests, those of most tests first, then by entry and reason."""
    return [
        SkipRow(*row)
        for row in db.query(
            """SELECT reason, iif(expect = 'skip', entry, '') AS entry, count(*) AS tests, min(test_id)
            FROM test_results WHERE run_id = ? AND outcome = 'skipped'
            GROUP BY 1, 2 ORDER BY tests DESC, 2, 1""",
            (run_id,),
        )
    ]


def operators(db: Database, run_id: int) -> list[OperatorInfo]:
    """Return the operators of the run's inventory, by name."""
    dtypes = _declared_dtypes(db, run_id, "operator", "op_id")
    return [
        OperatorInfo(name, aten_name, group, dtypes.get(op_id, ()), bool(autograd), bool(out))
        for op_id, name, aten_name, group, autograd, out in db.query(
            """SELECT operator.op_id, op.name, operator.aten_name, family.name, supports_autograd, supports_out
            FROM run JOIN inventory_operator AS operator ON operator.inventory_id = run.inventory_id
            JOIN name AS op ON op.id = operator.op_id JOIN name AS family ON family.id = operator.group_id
            WHERE run.run_id = ? ORDER BY op.name""",
            (run_id,),
        )
    ]


def modules(db: Database, run_id: int) -> list[ModuleInventory]:
    """Return the modules of the run's inventory, by name."""
    dtypes = _declared_dtypes(db, run_id, "module", "module_id")
    return [
        ModuleInventory(name, dtypes.get(module_id, ()))
        for module_id, name in db.query(
            """SELECT module_id, name.name
            FROM run JOIN inventory_module AS module ON module.inventory_id = run.inventory_id
            JOIN name ON name.id = module.module_id
            WHERE run.run_id = ? ORDER BY name.name""",
            (run_id,),
        )
    ]


def operator_statuses(db: Database, run_id: int) -> list[OperatorStatusRow]:
    """Return the status of every operator that the run planned or its inventory declares, and of each of its dtypes.

    Sorted by operator; the row over all dtypes comes first, then one for each dtype by name.
    """
    overloads = _overloads_by_subject(db, run_id, "op_id")
    groups = {operator.name: operator.group for operator in operators(db, run_id)}
    return [
        OperatorStatusRow(
            *(op, dtype, groups.get(op, ""), OperatorStatus(status), *counts, overloads.get((op, dtype), ()))
        )
        for op, dtype, status, *counts in db.query(
            """SELECT op, dtype, status, planned, passed, failed, skipped, xfailed, crashed, not_run, flaky,
                fallback
            FROM operator_status WHERE run_id = ? ORDER BY op, dtype""",
            (run_id,),
        )
    ]


def listed_entries(db: Database, run_id: int) -> list[EntryRow]:
    """Return the entries of the skiplists in force in a run, those that spoke of no test too, by their id."""
    counts: dict[int, dict[Outcome, int]] = {}
    for ref, outcome, tests in db.query(
        f"""SELECT plan.entry_ref, coalesce(result.outcome, 'not_run'), count(*)
        FROM plan LEFT JOIN {LAST_RESULT} WHERE plan.run_id = ? AND plan.entry_ref IS NOT NULL GROUP BY 1, 2""",
        (run_id,),
    ):
        counts.setdefault(ref, {})[_OUTCOMES[outcome]] = tests
    return [
        EntryRow(
            ListedEntry(*listed[:9], *map(bool, listed[9:])), sum(counts.get(ref, {}).values()), counts.get(ref, {})
        )
        for ref, *listed in db.query(
            """SELECT entry.id, entry, expect, category, reason, link, owner, added, expires, message, guess
            FROM run_skiplist_entry AS force JOIN skiplist_entry AS entry ON entry.id = force.entry_ref
            WHERE force.run_id = ? ORDER BY entry.entry, entry.id""",
            (run_id,),
        )
    ]


def registrations(db: Database, run_id: int) -> list[Registration]:
    """Return what the backend had registered for every ATen overload, by overload; empty where nobody looked."""
    return [
        Registration(overload, RegistrationKind(kind))
        for overload, kind in db.query(
            """SELECT overload.overload, registration.kind
            FROM run JOIN registration ON registration.registration_set_id = run.registration_set_id
            JOIN overload ON overload.id = registration.overload_id
            WHERE run.run_id = ? ORDER BY overload.overload""",
            (run_id,),
        )
    ]


def module_statuses(db: Database, run_id: int) -> list[ModuleStatusRow]:
    """Return the same as operator_statuses for modules."""
    overloads = _overloads_by_subject(db, run_id, "module_id")
    return [
        ModuleStatusRow(*(module, dtype, OperatorStatus(status), *counts, overloads.get((module, dtype), ())))
        for module, dtype, status, *counts in db.query(
            """SELECT module, dtype, status, planned, passed, failed, skipped, xfailed, crashed, not_run, flaky,
                fallback
            FROM module_status WHERE run_id = ? ORDER BY module, dtype""",
            (run_id,),
        )
    ]


def compile_statuses(db: Database, run_id: int) -> list[CompileStatusRow]:
    """Return what the run says of each operator and module under torch.compile: operators first, by name and mode.

    What the run has no compiling test of has no row.
    """
    if not _knows_compiling_tests(db):
        return []
    return [
        CompileStatusRow(op, module, CompileMode(mode), OperatorStatus(status), *numbers)
        for op, module, mode, status, *numbers in db.query(
            """SELECT op, module, mode, status, planned, passed, failed, skipped, xfailed, crashed, not_run, flaky,
                fallback, compile_s, graphs, breaks, recompilations, peak_bytes
            FROM compile_status WHERE run_id = ? ORDER BY op IS NULL, op, module, mode""",
            (run_id,),
        )
    ]


def compile_results(db: Database, run_id: int) -> list[CompileRow]:
    """Return what torch.compile did in each planned test that uses it, by test id."""
    if not _knows_compiling_tests(db):
        return []
    return [
        CompileRow(
            *(test_id, suite, op, module, dtype, CompileMode(mode), _OUTCOMES[outcome], backend or ""),
            *numbers,
        )
        for test_id, suite, op, module, dtype, mode, outcome, backend, *numbers in db.query(
            """SELECT test_id, suite, op, module, dtype, mode, outcome, backend, compile_s, graphs, breaks,
                recompilations, peak_bytes
            FROM compile_results WHERE run_id = ? ORDER BY test_id""",
            (run_id,),
        )
    ]


def compiles_only(db: Database, run_id: int) -> bool:
    """Tell whether every test that the run planned uses torch.compile, so that it says nothing of eager mode."""
    if not _knows_compiling_tests(db):
        return False
    planned = "SELECT 1 FROM plan JOIN test ON test.id = plan.test_ref WHERE plan.run_id = :run"
    answer: tuple[int] = next(
        db.query(f"SELECT EXISTS ({planned} AND {COMPILES}) AND NOT EXISTS ({planned} AND {EAGER})", {"run": run_id})
    )
    return bool(answer[0])


def _knows_compiling_tests(db: Database) -> bool:
    """Tell whether any run may have tests that use torch.compile, without a look at the tests of any."""
    names = ", ".join("?" * len(COMPILE_TEMPLATES))
    found: int = next(db.query(f"SELECT EXISTS (SELECT 1 FROM name WHERE name IN ({names}))", [*COMPILE_TEMPLATES]))[0]
    return bool(found)


def fallback_operators(db: Database, run_id: int) -> list[FallbackRow]:
    """Return the overloads that ran on the CPU inside the window, those seen in most tests first, then by name.

    ``operators`` names the operators, or modules, under test that they were seen in.
    """
    tests: dict[str, int] = {}
    subjects: dict[str, set[str]] = {}
    for overload, subject, count in db.query(
        f"""SELECT overload.overload, subject.name, counted.tests
        FROM (
            SELECT result.fallback_set_id, coalesce(test.op_id, test.module_id) AS subject_id, count(*) AS tests
            FROM plan JOIN test ON test.id = plan.test_ref JOIN {LAST_RESULT}
            WHERE plan.run_id = ? AND {FELL_BACK}
            GROUP BY 1, 2
        ) AS counted
        JOIN fallback_set_overload AS member ON member.fallback_set_id = counted.fallback_set_id
        JOIN overload ON overload.id = member.overload_id
        LEFT JOIN name AS subject ON subject.id = counted.subject_id""",
        (run_id,),
    ):
        tests[overload] = tests.get(overload, 0) + count
        subjects.setdefault(overload, set()).update(() if subject is None else (subject,))
    return [
        FallbackRow(overload, count, tuple(sorted(subjects[overload])))
        for overload, count in sorted(tests.items(), key=lambda item: (-item[1], item[0]))
    ]


def _overloads_by_subject(db: Database, run_id: int, column: str) -> dict[tuple[str, str | None], tuple[str, ...]]:
    """Return the overloads that fell back, sorted, by (operator or module, dtype), and by (…, None) over all dtypes."""
    seen: dict[tuple[str, str | None], set[str]] = {}
    for subject, dtype, overloads in db.query(
        f"""SELECT subject.name, dtype.name, fallback_set.overloads
        FROM (
            SELECT DISTINCT test.{column} AS subject_id, test.dtype_id, result.fallback_set_id
            FROM plan JOIN test ON test.id = plan.test_ref JOIN {LAST_RESULT}
            WHERE plan.run_id = ? AND test.{column} IS NOT NULL AND {FELL_BACK}
        ) AS seen
        JOIN name AS subject ON subject.id = seen.subject_id
        LEFT JOIN name AS dtype ON dtype.id = seen.dtype_id
        JOIN fallback_set ON fallback_set.id = seen.fallback_set_id""",
        (run_id,),
    ):
        for key in {(subject, dtype), (subject, None)}:
            seen.setdefault(key, set()).update(overloads.split(","))
    return {key: tuple(sorted(overloads)) for key, overloads in seen.items()}


def _declared_dtypes(db: Database, run_id: int, noun: str, column: str) -> dict[int, tuple[str, ...]]:
    dtypes: dict[int, tuple[str, ...]] = {}
    for subject_id, dtype in db.query(
        f"""SELECT declared.{column}, name.name
        FROM run JOIN inventory_{noun}_dtype AS declared ON declared.inventory_id = run.inventory_id
        JOIN name ON name.id = declared.dtype_id
        WHERE run.run_id = ? ORDER BY declared.{column}, declared.position""",
        (run_id,),
    ):
        dtypes[subject_id] = (*dtypes.get(subject_id, ()), dtype)
    return dtypes


def _run_row(row: tuple[Any, ...], recorded: dict[Outcome, int]) -> RunRow:
    values = dict(zip(_RUN_COLUMNS.replace(",", "").split(), row, strict=True))
    values["id"] = values.pop("run_id")
    values["suites"] = tuple(json.loads(values["suites"]))
    values["environment"] = json.loads(values["environment"])
    values["emulated"] = bool(values["emulated"])
    values["run_skipped"] = bool(values["run_skipped"])
    values["versions"] = tuple((name, version) for name, version in json.loads(values["versions"]))
    values["state"] = RunState(values["state"])
    counts = dict.fromkeys(Outcome, 0) | recorded
    counts[Outcome.NOT_RUN] = values["planned"] - sum(counts.values()) + counts[Outcome.NOT_RUN]
    return RunRow(**values, counts=counts)


def _result_row(row: tuple[Any, ...]) -> ResultRow:
    _, *identity, outcome, fallback, test_fallback, samples, samples_passed, failing_sample = row[:16]
    duration_s, reason, message, _, signature, attempt, worker, details, *listed, inside, tolerance = row[16:]
    values = (
        *identity,
        _OUTCOMES[outcome],
        _split(fallback),
        _split(test_fallback),
        samples,
        samples_passed,
        failing_sample,
        duration_s,
        reason,
        message,
        details,
        signature,
        attempt,
        worker,
        *listed,
        _split(inside),
        tolerance,
    )
    return ResultRow(*values)


def _split(overloads: str | None) -> tuple[str, ...] | None:
    if overloads is None:
        return None
    return tuple(overloads.split(",")) if overloads else ()
