"""What torch.compile did is stored beside the results, and stays out of the status in eager mode."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from conformance.model.compilation import CompileAccount, CompileMode
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.operator import ModuleInventory, OperatorInfo, OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import RunState
from conformance.store import (
    Database,
    RunWriter,
    compile_results,
    compile_statuses,
    compiles_only,
    history,
    module_statuses,
    operator_statuses,
    resolve_run,
    results,
    runs,
)
from conformance.store.doctor import examine
from conformance.store.merge import merge
from conformance.store.rescue import rescue
from conformance.store.schema import SCHEMA_VERSION
from tests.store.building import assert_sound, run_info

if TYPE_CHECKING:
    from pathlib import Path

DAY = "2026-11-01T00:00:00Z"


def _planned(template: str, *, op: str | None = None, module: str | None = None) -> PlannedTest:
    suite = Suite.OPINFO if op else Suite.MODULES
    name = f"{template}_{(op or module or '').replace('.', '_')}_float32"
    identity = Identity(suite.value, "Tests", name, suite, template, op=op, module=module, dtype="float32")
    return PlannedTest(f"{suite.value}.py::TestsNEURON::{name}", identity)


ADD = [_planned(template, op="add") for template in ("test_forward", "test_compile", "test_compile_dynamic")]
SIN = [_planned("test_compile", op="sin")]
LINEAR = [_planned("test_compile", module="nn.Linear")]
OPERATORS = [OperatorInfo(name, name, "pointwise", ("float32",)) for name in ("add", "sin", "cos")]

STATIC = CompileAccount("neuron", compile_s=0.25, graphs=3, breaks=1, recompilations=2, peak_bytes=4096)
REFUSED = CompileAccount("neuron", compile_s=0.5, graphs=0, breaks=0, recompilations=0, peak_bytes=512)
UNKNOWN = CompileAccount("openxla", graphs=1)


def _results() -> list[Result]:
    fell_back = FallbackAccount(("aten::add.out",), ("aten::add.out",))
    accounts = [
        (ADD[0], Outcome.PASSED, None, None),
        (ADD[1], Outcome.PASSED, STATIC, fell_back),
        (ADD[2], Outcome.FAILED, REFUSED, None),
        (SIN[0], Outcome.FAILED, UNKNOWN, None),
        (LINEAR[0], Outcome.SKIPPED, None, None),
    ]
    return [
        Result(test.identity.test_id, outcome, message="x", compilation=compilation, fallback=fallback)
        for test, outcome, compilation, fallback in accounts
    ]


def _write(path: Path, results: list[Result] | None = None, *, key: str = "a" * 32, finish: bool = True) -> Path:
    with Database.create_or_open(path) as database:
        writer = RunWriter(database)
        writer.begin(run_info(key=key))
        writer.write_inventory(operators=OPERATORS, modules=[ModuleInventory("nn.Linear", ("float32",))])
        writer.write_plan([*ADD, *SIN, *LINEAR])
        writer.start(started_at=DAY)
        for result in _results() if results is None else results:
            writer.add(result)
        writer.flush()
        if finish:
            writer.finish(RunState.COMPLETE, finished_at=DAY)
    return path


def _said(path: Path) -> list[object]:
    with Database.open_existing(path) as database:
        assert_sound(database)
        return [(compile_results(database, run.id), compile_statuses(database, run.id)) for run in runs(database)]


def test_numbers_of_static_and_dynamic_are_read_back_apart(tmp_path: Path) -> None:
    with Database.open_existing(_write(tmp_path / "a.sqlite")) as database:
        found = {row.test_id.rpartition("::")[2]: row for row in compile_results(database, 1)}
        assert [*found] == [
            "test_compile_nn_Linear_float32",
            "test_compile_add_float32",
            "test_compile_dynamic_add_float32",
            "test_compile_sin_float32",
        ]
        static, dynamic = found["test_compile_add_float32"], found["test_compile_dynamic_add_float32"]
        numbers = (static.backend, static.compile_s, static.graphs, static.breaks, static.recompilations)
        assert numbers == ("neuron", 0.25, 3, 1, 2)
        assert (static.mode, static.outcome, static.peak_bytes) == (CompileMode.STATIC, Outcome.PASSED, 4096)
        assert (dynamic.mode, dynamic.outcome, dynamic.graphs) == (CompileMode.DYNAMIC, Outcome.FAILED, 0)
        unknown = found["test_compile_sin_float32"]
        assert (unknown.compile_s, unknown.recompilations, unknown.peak_bytes) == (None, None, None)
        skipped = found["test_compile_nn_Linear_float32"]
        assert (skipped.backend, skipped.graphs) == ("", None)


def test_each_subject_has_a_status_for_each_mode(tmp_path: Path) -> None:
    with Database.open_existing(_write(tmp_path / "a.sqlite")) as database:
        rows = compile_statuses(database, 1)
        assert [(row.op, row.module, row.mode, row.status) for row in rows] == [
            ("add", None, CompileMode.STATIC, OperatorStatus.FALLBACK),
            ("add", None, CompileMode.DYNAMIC, OperatorStatus.FAILING),
            ("sin", None, CompileMode.STATIC, OperatorStatus.FAILING),
            (None, "nn.Linear", CompileMode.STATIC, OperatorStatus.SKIPPED),
        ]
        assert (rows[0].planned, rows[0].passed, rows[0].fallback, rows[0].graphs) == (1, 1, 1, 3)
        assert rows[3].graphs is None


def test_compiling_tests_change_no_eager_status(tmp_path: Path) -> None:
    with Database.open_existing(_write(tmp_path / "a.sqlite")) as database:
        statuses = {(row.op, row.dtype): (row.status, row.planned) for row in operator_statuses(database, 1)}
        for dtype in (None, "float32"):
            assert statuses["add", dtype] == (OperatorStatus.NATIVE, 1)
            assert statuses["sin", dtype] == (OperatorStatus.UNTESTED, 0)
            assert statuses["cos", dtype] == (OperatorStatus.UNTESTED, 0)
        (linear, *_) = module_statuses(database, 1)
        assert (linear.status, linear.planned) == (OperatorStatus.UNTESTED, 0)


def test_a_comparison_of_operators_is_one_of_eager_mode(tmp_path: Path) -> None:
    with Database.open_existing(_write(tmp_path / "a.sqlite")) as database:
        assert history.operator_outcomes(database, 1) == {"add": {(Outcome.PASSED, False): 1}}


def test_only_the_last_attempt_counts(tmp_path: Path) -> None:
    test_id = ADD[1].identity.test_id
    attempts = [
        Result(test_id, Outcome.FAILED, compilation=STATIC),
        Result(test_id, Outcome.FLAKY, attempt=2, compilation=UNKNOWN),
    ]
    with Database.open_existing(_write(tmp_path / "a.sqlite", attempts)) as database:
        (row,) = [row for row in compile_results(database, 1) if row.test_id == test_id]
        assert (row.outcome, row.backend, row.graphs) == (Outcome.FLAKY, "openxla", 1)
        assert next(iter(database.query("SELECT count(*) FROM compilation"))) == (2,)


def test_a_test_of_that_name_in_another_suite_is_no_compiling_one(tmp_path: Path) -> None:
    identity = Identity(
        "test_ops.py", "TestX", "test_compile_add_float32", Suite.UPSTREAM, "test_compile", op="add", dtype="float32"
    )
    with Database.create_or_open(tmp_path / "a.sqlite") as database:
        writer = RunWriter(database)
        writer.begin(run_info())
        writer.write_plan([PlannedTest("test_ops.py::TestXNEURON::test_compile_add", identity)])
        writer.start(started_at=DAY)
        writer.add(Result(identity.test_id, Outcome.PASSED))
        writer.finish(RunState.COMPLETE, finished_at=DAY)
        assert [row.status for row in operator_statuses(database, 1)] == [OperatorStatus.NATIVE] * 2
        assert compile_results(database, 1) == []
        assert compile_statuses(database, 1) == []


def test_compiling_tests_can_be_read_alone(tmp_path: Path) -> None:
    with Database.open_existing(_write(tmp_path / "db")) as database:
        every = [row.test_id for row in results(database, 1)]
        alone = [row.test_id for row in results(database, 1, compiling=True)]
        failed = [row.test_id for row in results(database, 1, compiling=True, outcomes=[Outcome.FAILED])]
    assert set(every) - set(alone) == {ADD[0].identity.test_id}
    assert set(failed) == {ADD[2].identity.test_id, SIN[0].identity.test_id}


def test_a_run_that_only_compiles_is_told_from_one_that_does_so_too(tmp_path: Path) -> None:
    with Database.open_existing(_write(tmp_path / "db")) as database:
        assert not compiles_only(database, 1)
    with Database.create_or_open(tmp_path / "db") as database:
        for number, plan in ((2, [*ADD[1:], *SIN]), (3, []), (4, ADD[:1])):
            writer = RunWriter(database)
            writer.begin(run_info(key=f"{number:032x}"))
            writer.write_plan(plan)
        assert [compiles_only(database, number) for number in (2, 3, 4)] == [True, False, False]


def test_a_run_that_compiles_nothing_writes_nothing_more(tmp_path: Path) -> None:
    statements: list[str] = []
    with Database.create_or_open(tmp_path / "a.sqlite") as database:
        writer = RunWriter(database)
        writer.begin(run_info())
        writer.write_plan(ADD)
        writer.start(started_at=DAY)
        database.connection.set_trace_callback(statements.append)
        writer.add(Result(ADD[0].identity.test_id, Outcome.PASSED))
        writer.flush()
        assert any("INTO result" in statement for statement in statements)
        assert not any("INTO compilation" in statement for statement in statements)


def test_a_database_that_knows_no_compiling_test_is_not_searched_for_them(tmp_path: Path) -> None:
    statements: list[str] = []
    with Database.create_or_open(tmp_path / "a.sqlite") as database:
        writer = RunWriter(database)
        writer.begin(run_info())
        writer.write_plan(ADD[:1])
        database.connection.set_trace_callback(statements.append)
        assert compile_statuses(database, 1) == []
        assert compile_results(database, 1) == []
        assert not any("plan" in statement for statement in statements)


def test_what_is_filled_in_as_not_run_has_no_numbers_and_can_be_taken_up(tmp_path: Path) -> None:
    test_id = ADD[1].identity.test_id
    path = _write(tmp_path / "a.sqlite", [Result(test_id, Outcome.NOT_RUN, compilation=STATIC)], finish=False)
    with Database.create_or_open(path) as database:
        assert list(database.query("SELECT * FROM compilation")) == []
        writer = RunWriter(database)
        writer.resume(1)
        writer.add(Result(test_id, Outcome.PASSED, compilation=STATIC))
        writer.finish(RunState.COMPLETE, finished_at=DAY)
        (row,) = [row for row in compile_results(database, 1) if row.test_id == test_id]
        assert row.graphs == 3


def _as_of_schema_4(path: Path) -> None:
    """Take from a file what schema 5 has brought."""
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        for (view,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            old.execute(f"DROP VIEW {view}")
        old.execute("DROP TABLE compilation")
        old.execute("DELETE FROM _sqlite_migrations WHERE name = 'm005_compilations'")
        old.execute("PRAGMA user_version = 4")


def test_a_file_of_schema_4_gets_the_table_and_keeps_its_rows(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.sqlite")
    _as_of_schema_4(path)
    with Database.create_or_open(path) as database:
        assert next(iter(database.query("PRAGMA user_version"))) == (SCHEMA_VERSION,)
        assert resolve_run(database).planned == 5
        assert {row.backend for row in compile_results(database, 1)} == {""}
        assert next(row.status for row in compile_statuses(database, 1)) is OperatorStatus.FALLBACK
        assert_sound(database)
    assert [finding.text for finding in examine(path).findings] == []


def test_a_merge_brings_the_numbers_along(tmp_path: Path) -> None:
    source = _write(tmp_path / "a.sqlite")
    target = _write(tmp_path / "b.sqlite", [], key="b" * 32)  # its numbers of tests and names are others
    want = _said(source)
    list(merge(target, [source]))
    assert want[0] in _said(target)
    list(merge(target, [source]))
    assert want[0] in _said(target)
    assert len(_said(target)) == 2


def test_a_merge_takes_a_file_of_schema_4_too(tmp_path: Path) -> None:
    source = _write(tmp_path / "a.sqlite")
    _as_of_schema_4(source)
    before = source.read_bytes()
    list(merge(tmp_path / "b.sqlite", [source]))
    assert source.read_bytes() == before
    with Database.open_existing(tmp_path / "b.sqlite") as database:
        assert next(row.status for row in compile_statuses(database, 1)) is OperatorStatus.FALLBACK


def test_a_further_version_of_a_run_replaces_the_numbers(tmp_path: Path) -> None:
    first, further = _results()[:2], _results()
    target = _write(tmp_path / "b.sqlite", first, finish=False)
    with Database.create_or_open(target) as database, database.transaction():
        database.connection.execute("UPDATE run SET owner = ''")
    source = _write(tmp_path / "a.sqlite", further)
    list(merge(target, [source]))
    assert _said(target) == _said(source)


def test_a_rescue_copies_the_numbers(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.sqlite")
    assert rescue(path, tmp_path / "new.sqlite").lost_nothing
    assert _said(tmp_path / "new.sqlite") == _said(path)


def test_numbers_of_an_attempt_that_was_lost_go_with_it(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM result WHERE outcome = 'failed'")
    assert [finding.table for finding in examine(path).findings if finding.kind == "references"] == ["compilation"]
    rescue(path, tmp_path / "new.sqlite")
    with Database.open_existing(tmp_path / "new.sqlite") as database:
        assert_sound(database)
        rows = {row.test_id: row for row in compile_results(database, 1)}
        assert rows[ADD[1].identity.test_id].graphs == 3
        lost = rows[ADD[2].identity.test_id]
        assert (lost.outcome, lost.graphs) == (Outcome.NOT_RUN, None)


@pytest.mark.parametrize("count", [0, 3])
def test_the_views_are_read_one_run_at_a_time(tmp_path: Path, count: int) -> None:
    path = tmp_path / "a.sqlite"
    for number in range(count + 1):
        _write(path, key=f"{number}" * 32)
    said = _said(path)
    assert all(one == said[0] for one in said)
