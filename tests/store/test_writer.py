from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from conformance.errors import ConformanceError, InfrastructureError, UsageError
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.operator import ModuleInventory, OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result, SampleAccount
from conformance.model.run import RunState
from conformance.store import Database, RunWriter, modules, operators, resolve_run, results, runs
from tests.store.building import INFO, assert_sound, id_of, nonzero, planned, run_info, writer_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FINISHED_AT = "2026-11-01T01:00:00Z"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.create_or_open(tmp_path / "a.sqlite") as database:
        yield database
        assert_sound(database)


def committed(database: Database) -> int:
    """Count the results that another process sees."""
    other = sqlite3.connect(database.path)
    (count,) = other.execute("SELECT count(*) FROM result").fetchone()
    other.close()
    return int(count)


def test_a_run_keeps_everything_that_was_known_about_it(database: Database) -> None:
    writer = RunWriter(database)
    run_id = writer.begin(INFO)
    row = resolve_run(database, str(run_id))
    for name in INFO.__slots__:
        assert getattr(row, name) == getattr(INFO, name), name
    assert (row.id, row.state, row.started_at, row.finished_at, row.planned) == (1, RunState.PLANNED, None, None, 0)


def test_the_state_of_a_run_follows_its_life(database: Database) -> None:
    writer = writer_of(database, [planned("test_a")])
    row = resolve_run(database)
    assert (row.state, row.started_at, row.planned) == (RunState.RUNNING, "2026-11-01T00:00:01Z", 1)
    writer.finish(RunState.INTERRUPTED, finished_at=FINISHED_AT)
    row = resolve_run(database)
    assert (row.state, row.finished_at) == (RunState.INTERRUPTED, FINISHED_AT)


def test_start_takes_the_time_when_none_is_given(database: Database) -> None:
    writer = RunWriter(database)
    writer.begin(run_info())
    writer.start()
    started_at = resolve_run(database).started_at
    assert started_at is not None
    assert started_at[4] == "-"
    assert started_at[10] == "T"
    assert started_at.endswith("Z")


def test_a_result_comes_back_as_it_was(database: Database) -> None:
    identity = Identity(
        "nn/test_a.py", "TestA", "test_out_div_floor_rounding_float32", Suite.UPSTREAM, "test_out",
        op="div.floor_rounding", module="nn.Linear", dtype="float32",
    )  # fmt: skip
    node_id = "test/nn/test_a.py::TestANEURON::test_out_div_floor_rounding_neuron_float32"
    writer = writer_of(database, [PlannedTest(node_id, identity)])
    result = Result(
        identity.test_id,
        Outcome.FAILED,
        duration_s=1.234567,
        attempt=3,
        reason="reason",
        message="message\nof two lines",
        details="details",
        signature="signature",
        samples=SampleAccount(5, 2, "sample 2"),
        fallback=FallbackAccount(("aten::div.out",), ("aten::div.out", "aten::equal")),
        worker="w1",
    )
    writer.add(result)
    writer.flush()
    (row,) = results(database, writer.run_id)
    assert (row.test_id, row.node_id, row.suite, row.file) == (identity.test_id, node_id, "upstream", identity.file)
    assert (row.class_name, row.template) == ("TestA", "test_out")
    assert (row.op, row.module, row.dtype) == ("div.floor_rounding", "nn.Linear", "float32")
    assert (row.outcome, row.attempt, row.duration_s, row.worker) == (Outcome.FAILED, 3, 1.234567, "w1")
    assert (row.reason, row.message, row.details) == ("reason", "message\nof two lines", "details")
    assert (row.signature, row.failing_sample) == ("signature", "sample 2")
    assert (row.samples, row.samples_passed) == (5, 2)
    assert row.fallback_ops == ("aten::div.out",)
    assert row.test_fallback_ops == ("aten::div.out", "aten::equal")


def test_nothing_seen_and_not_looked_are_two_things(database: Database) -> None:
    writer = writer_of(database, [planned("test_a"), planned("test_b")])
    writer.add(Result(id_of("test_a"), Outcome.PASSED, fallback=FallbackAccount()))
    writer.add(Result(id_of("test_b"), Outcome.PASSED))
    writer.flush()
    looked, did_not = results(database, writer.run_id)
    assert (looked.fallback_ops, looked.test_fallback_ops) == ((), ())
    assert (did_not.fallback_ops, did_not.test_fallback_ops) == (None, None)
    assert (did_not.samples, did_not.samples_passed, did_not.failing_sample) == (None, None, "")


def test_overloads_are_stored_sorted_and_once(database: Database) -> None:
    writer = writer_of(database, [planned("test_a")])
    account = FallbackAccount(("aten::b", "aten::a", "aten::b"), ("aten::c,d", "aten::b", "aten::a"))
    writer.add(Result(id_of("test_a"), Outcome.PASSED, fallback=account))
    writer.flush()
    (row,) = results(database, writer.run_id)
    assert row.fallback_ops == ("aten::a", "aten::b")
    assert row.test_fallback_ops == ("aten::a", "aten::b", "aten::c;d")


def test_a_second_attempt_replaces_the_first_in_what_counts(database: Database) -> None:
    writer = writer_of(database, [planned("test_a"), planned("test_b")])
    writer.add(Result(id_of("test_a"), Outcome.CRASHED, attempt=1))
    writer.flush()
    writer.add(Result(id_of("test_a"), Outcome.PASSED, attempt=2))
    writer.add(Result(id_of("test_b"), Outcome.PASSED, attempt=2))
    writer.add(Result(id_of("test_b"), Outcome.FAILED, attempt=1))
    writer.flush()
    assert [(row.outcome, row.attempt) for row in results(database, 1)] == [(Outcome.PASSED, 2)] * 2
    assert nonzero(resolve_run(database).counts) == {Outcome.PASSED: 2}
    assert list(database.query("SELECT count(*) FROM result")) == [(4,)]


@pytest.mark.parametrize("attempt", [1, 2])
def test_an_attempt_has_one_result(attempt: int, database: Database) -> None:
    writer = writer_of(database, [planned("test_a")])
    writer.add(Result(id_of("test_a"), Outcome.FAILED, attempt=1))
    writer.add(Result(id_of("test_a"), Outcome.FAILED, attempt=2))
    with pytest.raises(ConformanceError, match="has a result already") as caught:
        writer.add(Result(id_of("test_a"), Outcome.PASSED, attempt=attempt))
    assert caught.value.slug == "duplicate-result"
    writer.flush()
    assert nonzero(resolve_run(database).counts) == {Outcome.FAILED: 1}


def test_a_result_outside_the_plan_is_an_error(database: Database) -> None:
    writer = writer_of(database, [planned("test_a")])
    with pytest.raises(ConformanceError, match="not in the plan of run 1") as caught:
        writer.add(Result("elsewhere", Outcome.PASSED))
    assert caught.value.slug == "unplanned-test"


def test_attempts_count_from_one(database: Database) -> None:
    writer = writer_of(database, [planned("test_a")])
    with pytest.raises(ConformanceError, match="count from 1") as caught:
        writer.add(Result(id_of("test_a"), Outcome.PASSED, attempt=0))
    assert caught.value.slug == "invalid-attempt"


def test_a_plan_with_one_test_id_twice_is_refused_whole(database: Database) -> None:
    writer = RunWriter(database)
    writer.begin(run_info())
    with pytest.raises(ConformanceError, match="two tests of the plan") as caught:
        writer.write_plan([planned("test_a"), planned("test_b"), planned("test_a", dtype="float32")])
    assert caught.value.slug == "duplicate-test-id"
    assert list(results(database, 1)) == []
    assert writer.write_plan([planned("test_a")]) == 1
    with pytest.raises(ConformanceError, match="an earlier"):
        writer.write_plan([planned("test_a")])
    assert writer.write_plan([planned("test_b")]) == 1
    assert resolve_run(database).planned == 2
    assert list(database.query("SELECT position FROM plan ORDER BY position")) == [(0,), (1,)]


def test_an_empty_plan_is_a_run_of_nothing(database: Database) -> None:
    writer = writer_of(database, [])
    assert writer.finish(RunState.COMPLETE, finished_at=FINISHED_AT) == 0
    assert nonzero(resolve_run(database).counts) == {}


@pytest.mark.parametrize("state", [RunState.COMPLETE, RunState.INTERRUPTED])
def test_finish_gives_every_planned_test_a_row(state: RunState, database: Database) -> None:
    writer = writer_of(database, [planned(f"test_{number}") for number in range(5)])
    writer.add(Result(id_of("test_3"), Outcome.PASSED))
    assert writer.finish(state, finished_at=FINISHED_AT) == 4
    assert [(row.outcome, row.attempt) for row in results(database, 1, outcomes=[Outcome.NOT_RUN])] == [
        (Outcome.NOT_RUN, 1)
    ] * 4
    assert nonzero(resolve_run(database).counts) == {Outcome.PASSED: 1, Outcome.NOT_RUN: 4}
    assert committed(database) == 5


def test_a_run_under_way_counts_what_has_not_come_back(database: Database) -> None:
    writer = writer_of(database, [planned(f"test_{number}") for number in range(3)])
    writer.add(Result(id_of("test_0"), Outcome.PASSED))
    writer.flush()
    assert nonzero(resolve_run(database).counts) == {Outcome.PASSED: 1, Outcome.NOT_RUN: 2}
    assert [(row.outcome, row.attempt) for row in results(database, 1)] == [
        (Outcome.PASSED, 1),
        (Outcome.NOT_RUN, 0),
        (Outcome.NOT_RUN, 0),
    ]


def test_a_run_finishes_only_in_a_final_state(database: Database) -> None:
    writer = writer_of(database, [])
    with pytest.raises(ConformanceError, match="cannot finish in the state 'running'"):
        writer.finish(RunState.RUNNING, finished_at=FINISHED_AT)


def test_a_finished_run_takes_no_more_results(database: Database) -> None:
    writer = writer_of(database, [planned("test_a")])
    writer.finish(RunState.COMPLETE, finished_at=FINISHED_AT)
    with pytest.raises(ConformanceError, match="after run 1 was finished"):
        writer.add(Result(id_of("test_a"), Outcome.PASSED))


def test_the_order_of_calls_is_told(database: Database) -> None:
    writer = RunWriter(database)
    with pytest.raises(ConformanceError, match=r"call RunWriter\.begin first"):
        writer.start()
    writer.begin(run_info())
    with pytest.raises(ConformanceError, match="has begun run 1 already"):
        writer.begin(run_info())


def test_one_key_is_one_run(database: Database) -> None:
    RunWriter(database).begin(INFO)
    with pytest.raises(UsageError, match="has a run with the key"):
        RunWriter(database).begin(INFO)
    with pytest.raises(UsageError, match="does not fit in 64 bits"):
        RunWriter(database).begin(run_info(seed=2**63))
    assert len(runs(database)) == 1


def test_results_are_committed_by_number_and_by_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("conformance.store.writer.time.monotonic", lambda: now[0])
    writer = writer_of(database, [planned(f"test_{number}") for number in range(9)], batch_rows=3)
    names = iter(range(9))

    def add() -> int:
        writer.add(Result(id_of(f"test_{next(names)}"), Outcome.PASSED))
        return committed(database)

    assert [add(), add(), add()] == [0, 0, 3]
    now[0] += 0.6
    assert [add(), add()] == [4, 4]
    writer.tick()
    assert committed(database) == 4
    now[0] += 0.6
    writer.tick()
    assert committed(database) == 5
    add()
    writer.flush()
    assert committed(database) == 6


def test_odd_names_and_texts_never_break_a_write(database: Database) -> None:
    odd = [
        "'; DROP TABLE run; --",
        '"quoted"',
        "two\nlines",
        "<script>alert(1)</script>",
        "nul\0nul",
        "\ud800",
        "",
        "🎉",
    ]
    tests = [
        PlannedTest(f"node {name}", Identity("f.py", "C", f"test[{name}]", Suite.LOCAL, name, name, name, name))
        for name in odd
    ]
    writer = RunWriter(database)
    writer.begin(run_info(host="\ud800", environment={"\0": "\ud800"}, suites=("\0",)))
    writer.write_inventory(
        operators=[OperatorInfo(name, name, name, (name,)) for name in odd],
        modules=[ModuleInventory(name, (name,)) for name in odd],
    )
    writer.write_plan(tests)
    writer.start(started_at=FINISHED_AT)
    for name, test in zip(odd, tests, strict=True):
        writer.add(
            Result(
                test.identity.test_id,
                Outcome.FAILED,
                reason=name,
                message=name,
                details=name,
                signature=name,
                samples=SampleAccount(1, 0, name),
                fallback=FallbackAccount((name,), (name,)),
                worker=name,
            )
        )
    writer.finish(RunState.COMPLETE, finished_at=FINISHED_AT)
    rows = {row.template: row for row in results(database, 1)}
    assert set(rows) == {*odd[:4], "nul\\x00nul", "\\ud800", "", "🎉"}
    for name, row in rows.items():
        assert {row.op, row.module, row.dtype, row.reason, row.message, row.details, row.signature} == {name}
        assert (row.test_id, row.node_id, row.failing_sample, row.worker) == (
            f"f.py::C::test[{name}]",
            f"node {name}",
            name,
            name,
        )
    assert [row.template for row in results(database, 1, op="nul\0nul", module="nul\0nul")] == ["nul\\x00nul"]
    assert [operator.name for operator in operators(database, 1)] == sorted(rows)
    assert [module.name for module in modules(database, 1)] == sorted(rows)
    assert dict(resolve_run(database).environment) == {"\\x00": "\\ud800"}


@pytest.mark.parametrize("duration_s", [-1.0, float("nan"), float("inf")])
def test_an_impossible_duration_is_stored_as_none_at_all(duration_s: float, database: Database) -> None:
    writer = writer_of(database, [planned("test_a")])
    writer.add(Result(id_of("test_a"), Outcome.PASSED, duration_s=duration_s))
    writer.flush()
    assert [row.duration_s for row in results(database, 1)] == [0.0]


def test_long_texts_are_cut_visibly(database: Database) -> None:
    writer = writer_of(database, [planned("test_a")])
    writer.add(Result(id_of("test_a"), Outcome.FAILED, message="m" * 5000, details="d" * 20000))
    writer.flush()
    (row,) = results(database, 1)
    assert row.message == "m" * 2048 + "... (2952 characters cut)"
    assert row.details == "d" * 16384 + "... (3616 characters cut)"


def test_repeated_texts_are_stored_once(database: Database) -> None:
    for _ in range(2):
        writer = writer_of(database, [planned("test_a"), planned("test_b")])
        for name in ("test_a", "test_b"):
            writer.add(Result(id_of(name), Outcome.FAILED, message="same", details="trace", signature="s", worker="w"))
        writer.finish(RunState.COMPLETE, finished_at=FINISHED_AT)
    for table, count in (("text", 2), ("signature", 1), ("test", 2), ("spelling", 1), ("plan", 4)):
        assert list(database.query(f"SELECT count(*) FROM {table}")) == [(count,)], table


def test_a_test_that_is_described_anew_leaves_old_runs_as_they_were(database: Database) -> None:
    for op in ("add", "sub", "add", None):
        writer = writer_of(database, [planned("test_a", op=op)])
        writer.finish(RunState.COMPLETE, finished_at=FINISHED_AT)
    assert [row.op for run in (1, 2, 3, 4) for row in results(database, run)] == ["add", "sub", "add", None]
    assert list(database.query("SELECT revision FROM test ORDER BY id")) == [(0,), (1,), (2,)]


def test_equal_inventories_are_stored_once(database: Database) -> None:
    add = OperatorInfo("add", "add", "pointwise", ("int64", "float32"), supports_out=False)
    sub = OperatorInfo("sub", "sub", "pointwise", ("float32",), supports_autograd=False)
    linear = ModuleInventory("nn.Linear", ("float64", "float32"))

    def write(device: str, items: list[OperatorInfo]) -> int:
        writer = RunWriter(database)
        run_id = writer.begin(run_info(device=device))
        writer.write_inventory(operators=items, modules=[linear])
        return run_id

    first, same, other, smaller = (
        write("a", [add, sub]),
        write("a", [sub, add]),
        write("b", [add, sub]),
        write("a", [add]),
    )
    assert operators(database, first) == operators(database, same) == operators(database, other) == [add, sub]
    assert operators(database, smaller) == [add]
    assert modules(database, first) == [linear]
    assert list(database.query("SELECT count(*) FROM inventory")) == [(3,)]
    with pytest.raises(ConformanceError, match="'add' twice"):
        write("a", [add, add])


def limit_pages(database: Database, more: int) -> None:
    """Let the file grow by so many pages and no further, as a full disk would."""
    ((pages,),) = database.query("PRAGMA page_count")
    database.connection.execute(f"PRAGMA max_page_count = {pages + more}")


def test_a_full_disk_keeps_earlier_results_and_the_later_ones_can_follow(database: Database) -> None:
    writer = writer_of(database, [planned(f"test_{number}") for number in range(300)], batch_rows=100)
    for number in range(100):
        writer.add(Result(id_of(f"test_{number}"), Outcome.FAILED, message=f"early {number}"))
    assert committed(database) == 100
    limit_pages(database, 2)

    def add_large_ones() -> None:
        for number in range(100, 200):
            writer.add(Result(id_of(f"test_{number}"), Outcome.FAILED, details=f"{number} " * 3000))

    with pytest.raises(InfrastructureError, match="the disk is full") as caught:
        add_large_ones()
    assert caught.value.slug == "database-unwritable"
    assert committed(database) == 100
    assert_sound(database)
    with pytest.raises(InfrastructureError, match="the disk is full"):
        writer.finish(RunState.COMPLETE, finished_at=FINISHED_AT)
    limit_pages(database, 100_000)
    assert writer.finish(RunState.COMPLETE, finished_at=FINISHED_AT) == 100
    assert nonzero(resolve_run(database).counts) == {Outcome.FAILED: 200, Outcome.NOT_RUN: 100}
    assert {row.details[:4] for row in results(database, 1) if row.details} == {f"{n} " for n in range(100, 200)}


def test_a_disk_that_is_full_before_the_plan_says_so(database: Database) -> None:
    writer = RunWriter(database)
    writer.begin(run_info())
    limit_pages(database, 2)
    with pytest.raises(InfrastructureError, match="the disk is full"):
        writer.write_plan([planned(f"test_{number}") for number in range(20_000)])
    with pytest.raises(InfrastructureError, match="the disk is full"):
        writer.write_inventory(
            operators=[OperatorInfo(f"operator {number}" * 9, "a", "g", ("d",)) for number in range(5000)], modules=[]
        )
    assert list(results(database, 1)) == []
    limit_pages(database, 100_000)
    assert writer.write_plan([planned(f"test_{number}") for number in range(20)]) == 20


def test_an_interrupt_right_after_a_commit_loses_and_doubles_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = writer_of(database, [planned(f"test_{number}") for number in range(3)])
    writer.add(Result(id_of("test_0"), Outcome.FAILED, message="one"))
    with monkeypatch.context() as patch:
        patch.setattr("conformance.store.interning.Interning.commit", interrupt)
        with pytest.raises(KeyboardInterrupt):
            writer.flush()
    assert committed(database) == 1
    writer.add(Result(id_of("test_1"), Outcome.FAILED, message="one"))
    writer.finish(RunState.INTERRUPTED, finished_at=FINISHED_AT)
    assert nonzero(resolve_run(database).counts) == {Outcome.FAILED: 2, Outcome.NOT_RUN: 1}


def test_an_interrupt_inside_a_transaction_undoes_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = writer_of(database, [planned(f"test_{number}") for number in range(3)])
    writer.add(Result(id_of("test_0"), Outcome.FAILED, message="one", signature="two"))
    with monkeypatch.context() as patch:
        patch.setattr("conformance.store.interning.Interning.signature", interrupt)
        with pytest.raises(KeyboardInterrupt):
            writer.flush()
    assert committed(database) == 0
    writer.flush()
    assert [row.message for row in results(database, 1)] == ["one", "", ""]


def test_counts_that_an_interrupt_left_behind_are_set_right_at_the_end(database: Database) -> None:
    writer = writer_of(database, [planned("test_0"), planned("test_1")])
    writer.add(Result(id_of("test_0"), Outcome.PASSED))
    writer._buffer.clear()
    writer.add(Result(id_of("test_1"), Outcome.PASSED))
    writer.finish(RunState.INTERRUPTED, finished_at=FINISHED_AT)
    assert nonzero(resolve_run(database).counts) == {Outcome.PASSED: 1, Outcome.NOT_RUN: 1}


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt
