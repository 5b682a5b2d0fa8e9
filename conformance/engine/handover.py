"""What the process that collected tells the process that records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.analysis.signature import signature
from conformance.devices import DeviceAdapter
from conformance.engine.cut import Cut
from conformance.engine.facts import run_info
from conformance.engine.identify import plan_of, suite_and_file
from conformance.engine.listed import Listing
from conformance.errors import ConformanceError
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.listed import ListedEntry
from conformance.model.operator import ModuleInventory, OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.registration import Registration
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
    cut: Cut | None = None
    entries: tuple[ListedEntry, ...] = ()
    registrations: tuple[Registration, ...] = ()


def handover_of(
    session: pytest.Session,
    adapter: DeviceAdapter,
    selection: Selection,
    cut: Cut | None = None,
    listing: Listing | None = None,
) -> Handover:
    """Return the run and plan of what this session has collected."""
    from conformance.suites import inventory

    listing = listing or Listing()
    tests = tuple(
        plan_of(item, entry_id=entry.entry_id if (entry := listing.entry_of(item.nodeid)) else "")
        for item in session.items
    )
    suites = {str(test.identity.suite) for test in tests}
    # The denominators cost an import of op_db: only where tests of operators are run, which have imported it.
    counted = bool(suites & {"opinfo", "modules", "upstream"})
    words = selection.describe()
    keyword = session.config.option.keyword
    if keyword:
        words = f"{words} -k '{keyword}'".strip()
    if session.config.option.conformance_listed_only:
        words = f"{words} --listed-only".strip()
    return Handover(
        run=run_info(
            adapter,
            suites=suites,
            selection=words,
            probe=current_probe().name,
            seed=SEED,
            retries=session.config.option.conformance_retries,
            skiplist=listing.label,
            run_skipped=session.config.option.conformance_run_skipped,
        ),
        tests=tests,
        operators=tuple(inventory.operators(adapter.device)) if counted else (),
        modules=tuple(inventory.modules(adapter.device)) if counted else (),
        cut=cut,
        entries=listing.entries,
        registrations=_registrations(adapter.device),
    )


def _registrations(device: str) -> tuple[Registration, ...]:
    """Return what the backend has registered; nothing for the CPU, whose kernels the others fall back to."""
    if device == "cpu":
        return ()
    from conformance.probes.registrations import registrations

    try:
        return registrations(device)
    except ConformanceError:
        return ()  # this torch does not tell, or knows no dispatch key of that name: no data, which is not "none"


def broken_files(reports: Sequence[pytest.CollectReport], root: Path) -> list[tuple[PlannedTest, Result]]:
    """Return a plan entry and its result for each file that could not be collected; ``root`` is pytest's root folder.

    xdist reports a file once for each worker; a file given by name may be reported as the session's.
    """
    found: dict[str, tuple[PlannedTest, Result]] = {}
    texts: set[tuple[str, str]] = set()
    for report in reports:
        message, details = _collection_message(report)
        file = report.nodeid or "(session)"
        if (file, message) in texts or (report.nodeid and file in found):
            continue
        texts.add((file, message))
        number = sum(name.startswith("(session)") for name in found) + 1
        if file == "(session)" and number > 1:
            file = f"(session) {number}"
        path, marker, inside = report.nodeid.partition("::")
        suite, name = suite_and_file(root / path, root) if path else (Suite.LOCAL, file)
        identity = Identity(
            file=f"{name}{marker}{inside}", class_name="", name=_NO_TEMPLATE, suite=suite, template=_NO_TEMPLATE
        )
        planned = PlannedTest(node_id=f"{file}::{_NO_TEMPLATE}", identity=identity)
        found[file] = (
            planned,
            Result(identity.test_id, Outcome.ERROR, message=message, details=details, signature=signature(message)),
        )
    return list(found.values())


def _collection_message(report: pytest.CollectReport) -> tuple[str, str]:
    """Return the line that says why, and the whole text."""
    text = report.longreprtext
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message), text
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    return (marked or lines or [""])[-1 if marked else 0], text
