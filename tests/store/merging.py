"""Make the databases that tests of merging start from, and read back what a run says."""

from __future__ import annotations

import dataclasses
import subprocess
from typing import TYPE_CHECKING, Any

from conformance.model.compilation import CompileAccount
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.listed import ListedEntry
from conformance.model.operator import ModuleInventory, OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.registration import Registration, RegistrationKind
from conformance.model.result import FallbackAccount, Result, SampleAccount
from conformance.model.run import PlanScope, RunState
from conformance.store import (
    Database,
    RunWriter,
    counts_by,
    fallback_operators,
    listed_entries,
    module_statuses,
    modules,
    operator_statuses,
    operators,
    plan_digest,
    registrations,
    resolve_run,
)
from conformance.store.merge import MergedRun, merge
from tests.store.building import assert_sound, run_info

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from conformance.store import RunRow

DAY = "2026-11-01"
INVENTORY = [OperatorInfo(f"op.{number}", f"op_{number}", "pointwise", ("float32", "int64")) for number in range(12)]
MODULES = [ModuleInventory("nn.Linear", ("float32",)), ModuleInventory("nn.GELU", ("float32",))]

ENTRIES = [
    ListedEntry(f"entry-{number}", "fail", "precision", f"Reason {number}.", "link", added=DAY) for number in range(4)
]
REGISTRATIONS = [
    Registration(f"aten::op_{number}", list(RegistrationKind)[number % len(RegistrationKind)]) for number in range(9)
]


def plan(count: int) -> list[PlannedTest]:
    """Return tests of operators, and every seventh one of a module."""
    return [_planned(number) for number in range(count)]


def _planned(number: int) -> PlannedTest:
    dtype = ("float32", "int64")[number % 2]
    if number % 7 == 3:
        name = f"test_forward_nn_Linear_mode_{number}_{dtype}"
        identity = Identity("modules", "TestModules", name, Suite.MODULES, "test_forward", None, "nn.Linear", dtype)
    else:
        op = f"op.{number % 11}"
        name = f"test_x{number}_op_{number % 11}_{dtype}"
        identity = Identity("opinfo", "TestOperators", name, Suite.OPINFO, f"test_x{number}", op, None, dtype)
    node = f"{identity.file}.py::{identity.class_name}NEURON::{name.removesuffix('_' + dtype)}_neuron_{dtype}"
    return PlannedTest(node, identity)


def _listed(test: PlannedTest) -> PlannedTest:
    """Let an entry of the skiplist speak of some tests."""
    number = sum(test.identity.test_id.encode())
    return dataclasses.replace(test, entry_id=ENTRIES[number % 3].entry_id) if number % 5 == 0 else test


def outcome_of(test: PlannedTest) -> list[Result]:
    """Return what always becomes of a test: one attempt or more, with or without texts and fallbacks."""
    number = sum(test.identity.test_id.encode())
    test_id = test.identity.test_id
    account = FallbackAccount(("aten::sin.out",), ("aten::equal", "aten::sin.out")) if number % 3 else FallbackAccount()
    options: dict[str, Any] = {"worker": f"w{number % 4}", "duration_s": number / 1e6}
    if number % 4 == 1:
        options["compilation"] = CompileAccount(f"backend-{number % 3}", number / 1e6, number % 5, 1, None, number)
    match number % 10:
        case 0:
            return [Result(test_id, Outcome.SKIPPED, reason=f"reason {number % 5}", **options)]
        case 1 | 2:
            message = f"AssertionError: {number % 13}"
            samples = SampleAccount(5, 2, f"sample {number % 17}")
            return [
                Result(
                    *(test_id, Outcome.FAILED), message=message, details=f"trace {number}", signature=message[:14],
                    samples=samples, fallback=account, **options,
                )
            ]  # fmt: skip
        case 3:
            return [
                Result(test_id, Outcome.CRASHED, message="died with SIGSEGV", details="stack", **options),
                Result(test_id, Outcome.FLAKY, attempt=2, fallback=account, **options),
            ]
        case _:
            return [Result(test_id, Outcome.PASSED, samples=SampleAccount(3, 3), fallback=account, **options)]


def write(
    path: Path,
    tests: Sequence[PlannedTest],
    *,
    scope: PlanScope | None = None,
    done: int | None = None,
    state: RunState | None = RunState.COMPLETE,
    finished_at: str = f"{DAY}T02:00:00Z",
    started_at: str = f"{DAY}T00:00:01Z",
    **info: Any,
) -> str:
    """Write a run with the results of its first ``done`` tests; without a state it stays as a kill leaves it."""
    run = run_info(**info)
    with Database.create_or_open(path) as database:
        writer = RunWriter(database, flush_interval_s=3600)
        writer.begin(run)
        writer.write_inventory(operators=INVENTORY, modules=MODULES)
        writer.write_registrations(REGISTRATIONS)
        writer.write_skiplist(ENTRIES)
        writer.write_plan(map(_listed, tests), scope)
        writer.start(started_at=started_at)
        _carry_out(writer, tests[:done], state, finished_at)
        _disown(database, run.key)
    return run.key


def go_on(path: Path, key: str, *, done: int | None = None, state: RunState | None = RunState.COMPLETE) -> None:
    """Take a run up again and write the results of its first ``done`` tests that it lacks."""
    with Database.create_or_open(path) as database:
        run_id = resolve_run(database, key).id
        writer = RunWriter(database, flush_interval_s=3600)
        known = writer.resume(run_id)
        lacking = [test for test in plan(2_000) if test.identity.test_id in known]
        lacking = [test for test in lacking[:done] if not known[test.identity.test_id].outcomes]
        _carry_out(writer, lacking, state, f"{DAY}T05:00:00Z")
        _disown(database, key)


def _carry_out(writer: RunWriter, tests: Iterable[PlannedTest], state: RunState | None, finished_at: str) -> None:
    for test in tests:
        for result in outcome_of(test):
            writer.add(result)
    writer.flush()
    if state is not None:
        writer.finish(state, finished_at=finished_at)


def _disown(database: Database, key: str) -> None:
    """Let the run look as if another process had written it: one that has ended."""
    with database.transaction():
        database.connection.execute("UPDATE run SET owner = '' WHERE key = ?", (key,))


def cut(tests: Sequence[PlannedTest], number: int, count: int, *, split: str = "count") -> PlanScope:
    digest = plan_digest(test.identity.test_id for test in tests)
    return PlanScope(digest, len(tests), number, count, split)


def write_shard(
    path: Path, tests: Sequence[PlannedTest], number: int, count: int, *, split: str = "count", **options: Any
) -> str:
    """Write the run of one shard of the tests: every ``count``-th, from the ``number``-th."""
    options.setdefault("host", f"host-{number}")
    options.setdefault("command", f"conformance run --device neuron --shard {number}/{count} --db {path.name}")
    options.setdefault("created_at", f"{DAY}T00:00:0{number % 10}Z")
    return write(path, tests[number - 1 :: count], scope=cut(tests, number, count, split=split), **options)


def merged(target: Path, *paths: Path, **options: Any) -> list[MergedRun]:
    """Merge, check the target, and return what was done."""
    done = list(merge(target, paths, **options))
    for one in done:
        if one.error is not None:
            raise one.error
    with Database.open_existing(target) as database:
        assert_sound(database)
        assert (
            list(
                database.query(
                    "SELECT run_id FROM run WHERE planned <> (SELECT count(*) FROM plan WHERE plan.run_id = run.run_id)"
                )
            )
            == []
        )
    return done


def actions(done: Iterable[MergedRun]) -> list[str]:
    return [one.action.value for one in done]


_ATTEMPTS = """SELECT test.test_id, test.suite, test.revision >= 0, result.attempt, result.outcome, result.duration_us,
    worker.name, fallback.overloads, test_fallback.overloads, samples, samples_passed, sample.text, reason.text,
    message.text, details.text, signature.signature, backend.name, compile_us, graphs, breaks,
    recompilations, peak_bytes
FROM result JOIN test ON test.id = result.test_ref LEFT JOIN name AS worker ON worker.id = result.worker_id
LEFT JOIN compilation ON (compilation.run_id, compilation.test_ref, compilation.attempt)
    = (result.run_id, result.test_ref, result.attempt)
LEFT JOIN name AS backend ON backend.id = backend_id
LEFT JOIN fallback_set AS fallback ON fallback.id = fallback_set_id
LEFT JOIN fallback_set AS test_fallback ON test_fallback.id = test_fallback_set_id
LEFT JOIN text AS sample ON sample.id = failing_sample_id LEFT JOIN text AS reason ON reason.id = reason_id
LEFT JOIN text AS message ON message.id = message_id LEFT JOIN text AS details ON details.id = details_id
LEFT JOIN signature ON signature.id = signature_id
WHERE result.run_id = ? ORDER BY test.test_id, result.attempt"""

_RESULTS = """SELECT test_id, node_id, suite, file, class, template, op, module, dtype, outcome, fallback_ops,
    test_fallback_ops, samples, samples_passed, failing_sample, duration_s, reason, message, signature, attempt, worker,
    details, architecture, entry, expect FROM test_results WHERE run_id = ? ORDER BY test_id"""


def contents(path: Path, selector: str = "latest") -> dict[str, object]:
    """Return all that a run says about its tests, free of any number that only its database knows."""
    with Database.open_existing(path) as database:
        run_id = resolve_run(database, selector).id
        found: dict[str, object] = {
            "attempts": list(database.query(_ATTEMPTS, (run_id,))),
            "results": list(database.query(_RESULTS, (run_id,))),
            "operators": operators(database, run_id),
            "modules": modules(database, run_id),
            "operator statuses": operator_statuses(database, run_id),
            "module statuses": module_statuses(database, run_id),
            "fallbacks": fallback_operators(database, run_id),
            "dtypes": counts_by(database, run_id, "dtype"),
            "groups": counts_by(database, run_id, "group"),
            "entries": listed_entries(database, run_id),
            "registrations": registrations(database, run_id),
            "counts": resolve_run(database, str(run_id)).counts,
        }
    assert found["results"]
    return found


def run_of(path: Path, selector: str = "latest") -> RunRow:
    with Database.open_existing(path) as database:
        return resolve_run(database, selector)


def content_of_tables(path: Path) -> str:
    """Return every row of every table, as SQL."""
    from sqlite3 import connect

    connection = connect(path)
    try:
        return "\n".join(connection.iterdump())
    finally:
        connection.close()


def finish_all(processes: Sequence[subprocess.Popen[str]], timeout_s: float = 120) -> list[str]:
    """Wait for each process and return what it wrote; fail with its errors."""
    texts = []
    for process in processes:
        output, errors = process.communicate(timeout=timeout_s)
        assert process.returncode == 0, errors
        texts.append(output)
    return texts
