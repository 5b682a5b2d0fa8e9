"""Databases of runs that had a skiplist in force."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.listed import ListedEntry
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import PlanScope, RunInfo, RunState
from conformance.store import Database, RunWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

OPERATORS = ("add", "sub", "sin", "cos", "linalg.det")
DTYPES = ("float32", "int8")


def plan() -> list[Identity]:
    """Return one test of each operator and dtype, and one without an operator."""
    made = [
        Identity("opinfo", "TestX", f"test_{op.replace('.', '_')}_{dtype}", Suite.OPINFO, "test", op, None, dtype)
        for op in OPERATORS
        for dtype in DTYPES
    ]
    return [*made, Identity("local.py", "", "test_local", Suite.LOCAL, "test_local")]


def id_of(op: str, dtype: str) -> str:
    return f"opinfo::TestX::test_{op.replace('.', '_')}_{dtype}"


def listed_entry(entry_id: str, **values: Any) -> ListedEntry:
    given = {"category": "unsupported-op", "reason": "because", "added": "2026-10-02", **values}
    return ListedEntry(entry_id, given.pop("expect", "fail"), **given)


def write_listed_run(
    path: Path,
    day: str,
    listed: Mapping[str, str],
    *,
    entries: Sequence[ListedEntry] = (),
    ends: Mapping[str, Result] | None = None,
    without: Sequence[str] = (),
    state: RunState = RunState.COMPLETE,
    scope: PlanScope | None = None,
    **changes: Any,
) -> Path:
    """Write a run in which entries speak of the tests in ``listed`` (test id to entry id): those fail, the others pass.

    ``ends`` has other ends, by test id; the tests ``without`` are not planned.
    """
    info = {
        "key": uuid.uuid4().hex,
        "created_at": f"{day}T02:00:00Z",
        "suites": ("local", "opinfo"),
        "device": "neuron",
        "device_name": "Trainium2",
        "emulated": False,
        "torch_version": "2.13.0",
        "backend": "torch-neuronx",
        "backend_version": "2.13.3.1",
        "harness_version": "0.1.0",
        "python_version": "3.11.7",
        "host": "host",
        "operating_system": "Linux",
        "command": "conformance run",
        "probe": "observer",
        "skiplist": "skiplists/neuron",
        **changes,
    }
    planned = [test for test in plan() if test.test_id not in without]
    known = {entry.entry_id: entry for entry in entries}
    force = [known.get(name, listed_entry(name)) for name in sorted({*listed.values(), *known})]
    with Database.create_or_open(path) as database:
        writer = RunWriter(database)
        writer.begin(RunInfo(**info))
        writer.write_skiplist(force)
        writer.write_plan([PlannedTest(test.test_id, test, listed.get(test.test_id, "")) for test in planned], scope)
        writer.start(started_at=f"{day}T02:00:01Z")
        for test in planned:
            end = Result(test.test_id, Outcome.PASSED, 0.25, fallback=FallbackAccount())
            if test.test_id in listed:
                text = f"no kernel for {test.op}"
                end = Result(test.test_id, Outcome.FAILED, 0.25, message=text, signature="no kernel for OP")
            writer.add((ends or {}).get(test.test_id, end))
        writer.finish(state, finished_at=f"{day}T03:00:00Z")
    return path
