"""What the process that collected tells the process that records."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from conformance.devices import DeviceAdapter
from conformance.engine.facts import run_info
from conformance.engine.identify import plan_of
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.operator import ModuleInventory, OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.model.run import RunInfo
from conformance.probes import current_probe
from conformance.suites.selection import SEED, Selection

_NO_TEMPLATE = "(collection)"


@dataclass(frozen=True, slots=True)
class Handover:
    """A run and its plan, in values that can be sent to another process."""

    run: RunInfo
    tests: tuple[PlannedTest, ...]
    operators: tuple[OperatorInfo, ...]
    modules: tuple[ModuleInventory, ...]


def handover_of(session: pytest.Session, adapter: DeviceAdapter, selection: Selection, command: str | None) -> Handover:
    """Return the run and plan of what this session has collected."""
    from conformance.suites import inventory

    tests = tuple(plan_of(item) for item in session.items)
    suites = {str(test.identity.suite) for test in tests}
    # The denominators cost an import of op_db: only where tests of operators are run, which have imported it.
    counted = bool(suites & {"opinfo", "modules", "upstream"})
    words = selection.describe()
    keyword = session.config.option.keyword
    if keyword:
        words = f"{words} -k '{keyword}'".strip()
    return Handover(
        run=run_info(adapter, suites=suites, selection=words, command=command, probe=current_probe().name, seed=SEED),
        tests=tests,
        operators=tuple(inventory.operators(adapter.device)) if counted else (),
        modules=tuple(inventory.modules(adapter.device)) if counted else (),
    )


def broken_file(report: pytest.CollectReport) -> tuple[PlannedTest, Result]:
    """Return a plan entry and its result for a file that could not be collected."""
    file = report.nodeid or "(session)"
    identity = Identity(file=file, class_name="", name=_NO_TEMPLATE, suite=Suite.LOCAL, template=_NO_TEMPLATE)
    text = report.longreprtext
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = [line for line in text.strip().splitlines() if line.strip()]
    message = str(crash.message) if crash is not None else (lines[-1].removeprefix("E").strip() if lines else "")
    return (
        PlannedTest(node_id=f"{file}::{_NO_TEMPLATE}", identity=identity),
        Result(test_id=identity.test_id, outcome=Outcome.ERROR, message=message, details=text),
    )
