"""Make the values that tests of the store and of the analysis write."""

from __future__ import annotations

import dataclasses
import uuid
from typing import TYPE_CHECKING, Any

from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.run import RunInfo
from conformance.store import Database, RunWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.model.outcome import Outcome

INFO = RunInfo(
    key="0123456789abcdef0123456789abcdef",
    created_at="2026-11-01T00:00:00Z",
    suites=("opinfo", "modules"),
    device="neuron",
    device_name="Trainium2",
    emulated=False,
    torch_version="2.13.0",
    backend="torch-neuronx",
    backend_version="2.13.3.1",
    harness_version="0.1.0",
    python_version="3.11.7",
    host="host",
    operating_system="Linux",
    command="conformance run",
    selection="--ops add",
    probe="observer",
    seed=-7,
    environment={"OMP_NUM_THREADS": "1", "A": "ü"},
)


def run_info(**changes: Any) -> RunInfo:
    changes.setdefault("key", uuid.uuid4().hex)
    return dataclasses.replace(INFO, **changes)


def planned(
    name: str, *, op: str | None = None, module: str | None = None, dtype: str | None = None, template: str = "test_x"
) -> PlannedTest:
    identity = Identity("test_ops.py", "TestCommon", name, Suite.OPINFO, template, op=op, module=module, dtype=dtype)
    return PlannedTest(f"test/test_ops.py::TestCommonNEURON::{name}_neuron", identity)


def id_of(name: str) -> str:
    return f"test_ops.py::TestCommon::{name}"


def writer_of(database: Database, tests: Iterable[PlannedTest], **options: Any) -> RunWriter:
    """Begin a run with these tests and start it."""
    writer = RunWriter(database, **options)
    writer.begin(run_info())
    writer.write_plan(tests)
    writer.start(started_at="2026-11-01T00:00:01Z")
    return writer


def assert_sound(database: Database) -> None:
    """Check the file, its references, and that the counts kept beside the results are theirs."""
    assert list(database.query("PRAGMA integrity_check")) == [("ok",)]
    assert list(database.query("PRAGMA foreign_key_check")) == []
    recorded = set(database.query("SELECT run_id, outcome, tests FROM run_outcome WHERE tests > 0"))
    counted = set(
        database.query(
            "SELECT run_id, outcome, count(*) FROM test_results WHERE attempt > 0 GROUP BY run_id, outcome",
        )
    )
    assert recorded == counted


def nonzero(counts: Any) -> dict[Outcome, int]:
    return {outcome: count for outcome, count in counts.items() if count}
