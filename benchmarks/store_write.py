"""Measure how fast runs are written and read, and how large the database gets.

``python benchmarks/store_write.py`` writes one run of 150,000 results into a fresh database, then a second one, and
times the queries. ``--runs 30`` fills the database up first, ``--db PATH`` keeps it, ``--tests N`` makes runs smaller.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.operator import OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result, SampleAccount
from conformance.model.run import RunInfo, RunState
from conformance.store import (
    Database,
    RunWriter,
    counts_by,
    fallback_operators,
    module_statuses,
    operator_statuses,
    results,
    runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OPERATORS = 702
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64")
TRACE = "".join(
    f'  File "/usr/lib/python3/site-packages/torch/testing/_internal/common_utils.py", line {line}, in wrapper\n'
    "    method(*args, **kwargs)\n"
    for line in range(3000, 3009)
)


def plan(tests: int) -> list[PlannedTest]:
    planned = []
    templates = -(-tests // (OPERATORS * len(DTYPES)))
    for template in range(templates):
        for operator in range(OPERATORS):
            for dtype in DTYPES:
                method = f"test_property_{template}"
                name = f"{method}_nn_functional_op{operator}_{dtype}"
                identity = Identity(
                    "test_ops.py",
                    "TestCommon",
                    name,
                    Suite.UPSTREAM,
                    method,
                    f"nn.functional.op{operator}",
                    None,
                    dtype,
                )
                node_id = f"test/test_ops.py::TestCommonNEURON::{method}_nn_functional_op{operator}_neuron_{dtype}"
                planned.append(PlannedTest(node_id, identity))
    return planned[:tests]


def observe(planned: list[PlannedTest], seed: int) -> Iterator[Result]:
    """Yield 80 % passes, 12 % skips, 5 % failures with their own tracebacks of 1.2 KB, 3 % others."""
    chance = random.Random(seed)
    quiet, passed = FallbackAccount(), SampleAccount(8, 8)
    for test in planned:
        identity = test.identity
        draw, duration_s, worker = chance.random(), chance.uniform(0.001, 0.3), f"w{chance.randrange(16)}"
        fallback = quiet
        if identity.op is not None and identity.op.endswith(("3", "7")):
            overload = (f"aten::{identity.op}.out",)
            fallback = FallbackAccount(overload, (*overload, "aten::equal"))
        if draw < 0.80:
            yield Result(identity.test_id, Outcome.PASSED, duration_s, samples=passed, fallback=fallback, worker=worker)
        elif draw < 0.92:
            reason = f"Skipped! reason {chance.randrange(300)} of the decorator"
            yield Result(identity.test_id, Outcome.SKIPPED, duration_s, reason=reason, fallback=quiet, worker=worker)
        elif draw < 0.97:
            message = f"Tensor-likes are not close! Mismatched elements: {chance.randrange(999)} / 1000"
            yield Result(
                identity.test_id,
                Outcome.FAILED,
                duration_s,
                message=message,
                details=f"{TRACE}{identity.name}: {message}",
                signature=f"Tensor-likes are not close! {chance.randrange(200)}",
                samples=SampleAccount(8, 3, f"sample {chance.randrange(8)}: Tensor[(5, 5), {identity.dtype}]"),
                fallback=fallback,
                worker=worker,
            )
        else:
            outcome = chance.choice((Outcome.XFAILED, Outcome.CRASHED, Outcome.TIMED_OUT))
            yield Result(identity.test_id, outcome, duration_s, message=f"signal {chance.randrange(3)}", worker=worker)


def write_run(path: Path, planned: list[PlannedTest], seed: int, *, show: bool) -> None:
    observed = list(observe(planned, seed))
    size = path.stat().st_size if path.exists() else 0
    info = RunInfo(
        uuid.uuid4().hex,
        "2026-11-01T00:00:00Z",
        ("upstream",),
        "neuron",
        "benchmark",
        True,
        "2.13.0",
        "none",
        "0",
        "0",
        "3",
        "host",
        "Linux",
        "benchmarks/store_write.py",
    )
    inventory = [
        OperatorInfo(f"nn.functional.op{number}", f"op{number}", f"group {number % 12}", (*DTYPES, "complex128"))
        for number in range(OPERATORS + 20)
    ]
    with Database.create_or_open(path) as database:
        writer = RunWriter(database)
        writer.begin(info)
        writer.write_inventory(operators=inventory, modules=[])
        start = time.perf_counter()
        writer.write_plan(planned)
        plan_s = time.perf_counter() - start
        writer.start()
        start = time.perf_counter()
        slowest = 0.0
        for result in observed:
            before = time.perf_counter()
            writer.add(result)
            slowest = max(slowest, time.perf_counter() - before)
        writer.flush()
        results_s = time.perf_counter() - start
        start = time.perf_counter()
        writer.finish(RunState.COMPLETE, finished_at="2026-11-01T01:00:00Z")
        finish_s = time.perf_counter() - start
    if show:
        grown = path.stat().st_size - size
        count = len(planned)
        print(
            f"run {seed}: plan {count / plan_s:,.0f} rows/s, results {count / results_s:,.0f} rows/s"
            f" (slowest add {slowest * 1e3:.1f} ms), finish {finish_s:.2f} s,"
            f" file +{grown / 1e6:.1f} MB ({grown / count:.0f} bytes a test)"
        )


def time_queries(path: Path) -> None:
    def timed(name: str, query: Callable[[Database], int]) -> None:
        with Database.open_existing(path) as database:
            start = time.perf_counter()
            rows = query(database)
            print(f"  {name}: {time.perf_counter() - start:.3f} s ({rows:,} rows)")

    print(f"queries, {path.stat().st_size / 1e6:.0f} MB:")
    with Database.open_existing(path) as database:
        run_id = runs(database)[-1].id
    bad = [outcome for outcome in Outcome if outcome.is_bad]
    view = "SELECT count(*) FROM test_results WHERE test_id = (SELECT test_id FROM test WHERE id = 4711)"
    timed("runs", lambda db: len(runs(db)))
    timed("operator_statuses", lambda db: len(operator_statuses(db, run_id)))
    timed("module_statuses", lambda db: len(module_statuses(db, run_id)))
    for column in ("template", "group", "dtype", "suite", "outcome"):
        timed(f"counts_by {column}", lambda db, column=column: len(counts_by(db, run_id, column)))  # type: ignore[misc]
    timed("fallback_operators", lambda db: len(fallback_operators(db, run_id)))
    timed("results of one operator", lambda db: sum(1 for _ in results(db, run_id, op="nn.functional.op7")))
    timed("results that are bad", lambda db: sum(1 for _ in results(db, run_id, outcomes=bad)))
    timed("all results", lambda db: sum(1 for _ in results(db, run_id)))
    timed("history of one test (view)", lambda db: next(db.query(view))[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=150_000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--db", type=Path, help="keep the database here; a temporary folder otherwise")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.db or Path(folder) / "benchmark.sqlite"
        planned = plan(arguments.tests)
        for seed in range(arguments.runs):
            write_run(path, planned, seed, show=seed in (0, 1, arguments.runs - 1))
        time_queries(path)


if __name__ == "__main__":
    main()
