"""Databases for the tests of the reports: the sample, and runs with one trait each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.operator import OperatorInfo
from conformance.model.run import RunInfo, RunState
from conformance.store import Database, RunWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from conformance.model.result import Result


def id_of(name: str) -> str:
    return f"opinfo::TestX::{name}"


def suite_of(test_id: str) -> Suite:
    return Suite.OPINFO if test_id.startswith("opinfo::") else Suite.LOCAL


def _identity(test_id: str) -> Identity:
    file, _, name = test_id.rpartition("::")
    if suite_of(test_id) is Suite.LOCAL:
        return Identity(file, "", name, Suite.LOCAL, name)
    dtype = "float64" if name.endswith("_float64") else "float32"
    op = name.removeprefix("test_").removesuffix("_float64")
    return Identity("opinfo", "TestX", name, Suite.OPINFO, "test", op=op, dtype=dtype)


def write_run(
    path: Path,
    results: Sequence[Result],
    *,
    planned: Sequence[str] = (),
    state: RunState | None = RunState.COMPLETE,
    probe: str = "observer",
    inventory: Sequence[str] = (),
    key: str = "ab12cd34" * 4,
    device: str = "neuron",
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Write one run whose tests are named ``test_<op>`` or ``test_<op>_float64``; no state leaves it running.

    Results with the id of a file make tests without an operator.
    """
    info = RunInfo(
        key=key,
        created_at="2026-10-01T00:00:00Z",
        suites=tuple(sorted({suite_of(result.test_id).value for result in results})) or ("opinfo",),
        device=device,
        device_name="Trainium2",
        emulated=False,
        torch_version="2.13.0",
        backend="torch-neuronx",
        backend_version="2.13.3.1",
        harness_version="0.1.0",
        python_version="3.11.7",
        host="host",
        operating_system="Linux",
        command="conformance run opinfo --device neuron",
        probe=probe,
        environment=environment or {},
    )
    ids = dict.fromkeys([result.test_id for result in results] + [id_of(name) for name in planned])
    tests = [_identity(test_id) for test_id in ids]
    with Database.create_or_open(path) as database:
        writer = RunWriter(database)
        writer.begin(info)
        writer.write_inventory(
            operators=[OperatorInfo(name, name, "pointwise", ("float32",)) for name in inventory], modules=[]
        )
        writer.write_plan([PlannedTest(identity.test_id, identity) for identity in tests])
        writer.start(started_at="2026-10-01T00:00:01Z")
        for result in results:
            writer.add(result)
        writer.flush()
        if state is not None:
            writer.finish(state, finished_at="2026-10-01T00:01:00Z")
    return path
