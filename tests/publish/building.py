"""Write small databases with exactly the run that a test of the website needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.analysis.signature import signature
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.operator import ModuleInventory, OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import RunInfo, RunState
from conformance.publish.site_build import build_site
from conformance.store import Database, RunWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

DTYPES = ("float32", "int64")


def info(
    *,
    emulated: bool = True,
    probe: str = "observer",
    selection: str = "",
    key: str = "0123456789abcdef0123456789abcdef",
    device_name: str = "emulated neuron",
    suites: tuple[str, ...] = ("opinfo",),
    command: str = "conformance run opinfo --device neuron",
    environment: Mapping[str, str] | None = None,
    torch_version: str = "2.99.0",
) -> RunInfo:
    """Describe a run; no snapshot of its torch version comes with the harness, unless one is asked for."""
    return RunInfo(
        key=key,
        created_at="2026-11-01T00:00:00Z",
        suites=suites,
        device="neuron",
        device_name=device_name,
        emulated=emulated,
        torch_version=torch_version,
        backend="conformance-emulator",
        backend_version="0.1.0",
        harness_version="0.1.0",
        python_version="3.11.7",
        host="secret-host-name",
        operating_system="Linux",
        command=command,
        selection=selection,
        probe=probe,
        environment=environment or {},
    )


def write_run(
    path: Path,
    outcomes: Mapping[str, Outcome | None],
    *,
    run: RunInfo | None = None,
    state: RunState | None = RunState.COMPLETE,
    fallback: Sequence[str] = (),
    modules: Sequence[str] = ("nn.Linear",),
    message: str = "RuntimeError: no such kernel",
    details: str = "",
    declared: Mapping[str, Sequence[str]] | None = None,
) -> Path:
    """Write a run of one test for each operator and dtype; None plans none for an operator of the inventory.

    Operators named in ``fallback`` saw ``aten::x.out`` on the CPU. ``state`` None leaves the run planned, not started.
    ``declared`` has the dtypes of operators that declare others than they are tested in.
    """
    run = run or info()
    with Database.create_or_open(path) as database:
        writer = RunWriter(database, flush_interval_s=3600)
        writer.begin(run)
        writer.write_inventory(
            operators=[
                OperatorInfo(name, name.replace(".", "_"), "pointwise", tuple((declared or {}).get(name, DTYPES)))
                for name in outcomes
            ],
            modules=[ModuleInventory(name, DTYPES[:1]) for name in modules],
        )
        plan = [
            PlannedTest(identity.test_id, identity)
            for name, outcome in outcomes.items()
            if outcome
            for identity in (_identity(name, dtype) for dtype in DTYPES)
        ]
        writer.write_plan(plan)
        if state is None:
            return path
        writer.start(started_at="2026-11-01T00:00:01Z")
        for planned in plan:
            name = planned.identity.op or ""
            outcome = outcomes[name]
            if outcome is None or outcome is Outcome.NOT_RUN:
                continue
            inside = ("aten::x.out",) if name in fallback else ()
            writer.add(
                Result(
                    planned.identity.test_id,
                    outcome,
                    0.25,
                    reason="a reason" if outcome in (Outcome.SKIPPED, Outcome.XFAILED) else "",
                    message=message if outcome.is_bad else "",
                    details=details if outcome.is_bad else "",
                    signature=signature(message) if outcome.is_bad else "",
                    fallback=FallbackAccount(inside, (*inside, "aten::y")) if run.probe else None,
                )
            )
        writer.flush()
        if state is not RunState.RUNNING:
            writer.finish(state, finished_at="2026-11-01T01:00:00Z")
    return path


def write_files(path: Path, tests: Mapping[str, Outcome], *, run: RunInfo | None = None, details: str = "") -> Path:
    """Write a run of test files; the keys are ids such as ``mine/test_a.py::test_x``."""
    with Database.create_or_open(path) as database:
        writer = RunWriter(database, flush_interval_s=3600)
        writer.begin(run or info(suites=("local",), command="conformance run mine --device neuron"))
        plan = []
        for test_id in tests:
            file, name = test_id.split("::")
            plan.append(PlannedTest(test_id, Identity(file, "", name, Suite.LOCAL, name)))
        writer.write_plan(plan)
        writer.start(started_at="2026-11-01T00:00:01Z")
        for test_id, outcome in tests.items():
            if outcome is Outcome.NOT_RUN:
                continue
            message = f"AssertionError: {test_id} is wrong" if outcome.is_bad else ""
            writer.add(
                Result(
                    test_id,
                    outcome,
                    message=message,
                    signature=signature(message),
                    details=details if outcome.is_bad else "",
                )
            )
        writer.finish(RunState.COMPLETE, finished_at="2026-11-01T01:00:00Z")
    return path


def _identity(operator: str, dtype: str) -> Identity:
    return Identity(
        "opinfo",
        "TestOperators",
        f"test_forward_{operator}_{dtype}",
        Suite.OPINFO,
        "test_forward",
        op=operator,
        dtype=dtype,
    )


def built(path: Path, folder: Path, *, selector: str = "best") -> Path:
    """Build the site of a run and return its folder."""
    build_site(path, folder, selector=selector)
    return folder
