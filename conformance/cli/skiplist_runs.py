"""Read from the database of runs what skiplists are held against."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from conformance.model.identity import Identity, Suite
from conformance.model.outcome import Outcome
from conformance.skiplist.conditions import Context
from conformance.skiplist.known import Known, known_tests
from conformance.skiplist.observed import Observed
from conformance.store import Database, modules, operators, resolve_run, results, runs

if TYPE_CHECKING:
    from datetime import date

    from conformance.store import RunRow

_TESTS = """SELECT test.test_id, test.suite, file.name, class.name, template.name, op.name, module.name, dtype.name
    FROM plan
    JOIN test ON test.id = plan.test_ref
    JOIN name AS file ON file.id = test.file_id
    JOIN name AS class ON class.id = test.class_id
    JOIN name AS template ON template.id = test.template_id
    LEFT JOIN name AS op ON op.id = test.op_id
    LEFT JOIN name AS module ON module.id = test.module_id
    LEFT JOIN name AS dtype ON dtype.id = test.dtype_id
    WHERE plan.run_id = ?
    ORDER BY plan.position"""


def known_of(db: Path, selector: str) -> tuple[Known, RunRow]:
    """Return what a run knows, and the run; raises what opening a database and naming a run may raise."""
    with Database.open_existing(db) as database:
        run = resolve_run(database, selector)
        source = f"run {run.id}"
        return (
            known_tests(
                source,
                planned(database, run.id).values(),
                complete=not run.selection and run.shard is None,
                ops=[operator.name for operator in operators(database, run.id)],
                modules=[module.name for module in modules(database, run.id)],
            ),
            run,
        )


def planned(database: Database, run_id: int) -> dict[str, Identity]:
    """Return the planned tests of a run by their ids, in the order in which they were collected."""
    tests = {}
    for test_id, suite, file, class_name, template, op, module, dtype in database.query(_TESTS, (run_id,)):
        start = len(file) + 2 + (len(class_name) + 2 if class_name else 0)
        tests[test_id] = Identity(file, class_name, test_id[start:], Suite(suite), template, op, module, dtype)
    return tests


def context_of(run: RunRow | None, today: date) -> Context:
    """Return the conditions of a run, or without one the day alone."""
    if run is None:
        return Context(today=today)
    return Context(run.torch_version, run.backend_version, run.device_name, run.emulated, today)


def node_ids_of(db: Path, selector: str) -> dict[str, str]:
    """Return what pytest called each planned test of a run, by test id."""
    with Database.open_existing(db) as database:
        run = resolve_run(database, selector)
        return dict(database.query("SELECT test_id, node_id FROM test_results WHERE run_id = ?", (run.id,)))


def last_runs(db: Path, selector: str, count: int) -> list[RunRow]:
    """Return a run and those before it on the same device, emulated or not as it was, the newest first."""
    with Database.open_existing(db) as database:
        newest = resolve_run(database, selector)
        earlier = [run for run in runs(database) if run.id <= newest.id]
    alike = [run for run in earlier if (run.device, run.emulated) == (newest.device, newest.emulated)]
    return alike[::-1][:count]


def observations_of(db: Path, run: RunRow) -> dict[str, Observed]:
    """Return what a run saw of each of its tests, without texts."""
    sql = "SELECT test_id, outcome, fallback_ops FROM test_results WHERE run_id = ?"
    with Database.open_existing(db) as database:
        return {
            test_id: Observed(Outcome(outcome), None if fallback is None else bool(fallback))
            for test_id, outcome, fallback in database.query(sql, (run.id,))
        }


def told_observations_of(db: Path, run: RunRow) -> dict[str, Observed]:
    """Return the same with the messages and signatures of tests that did not pass."""
    observed = observations_of(db, run)
    with Database.open_existing(db) as database:
        for row in results(database, run.id, outcomes=[outcome for outcome in Outcome if outcome.is_bad]):
            seen = observed[row.test_id]
            observed[row.test_id] = Observed(seen.outcome, seen.fell_back, row.message, row.signature)
    return observed
