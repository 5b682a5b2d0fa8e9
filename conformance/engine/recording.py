"""Record what pytest reports: in its own process, or in xdist's controller."""

from __future__ import annotations

import dataclasses
import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.devices import DeviceAdapter
from conformance.engine.bridge import bridge_of, clear
from conformance.engine.facts import command_line
from conformance.engine.handover import broken_files, handover_of
from conformance.engine.recorder import Recorder
from conformance.engine.resume import left_to_run
from conformance.model.identity import PlannedTest
from conformance.model.run import RunState
from conformance.suites.selection import Selection


class Recording:
    """Record in the process that collects: plain pytest, and the parent of our own workers."""

    def __init__(self, config: pytest.Config, adapter: DeviceAdapter, selection: Selection, recorder: Recorder) -> None:
        self.config = config
        self.adapter = adapter
        self.selection = selection
        self.recorder = recorder
        self.broken: list[pytest.CollectReport] = []
        self.identities: dict[str, Any] = {}
        self.interrupted = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember a file that could not be collected: it is one recorded error."""
        if report.failed:
            self.broken.append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Store the plan before the first test runs; pytest gets here only when it means to run tests."""
        if session.config.option.collectonly or not (session.items or self.broken):
            return
        watcher: Any = self.config.pluginmanager.get_plugin("conformance-watcher")
        with clear(self.config):
            handover = handover_of(session, self.adapter, self.selection, watcher.cut, watcher.listing)
            left = self.store_plan(handover)
        if left is not None:
            done = [item for item in session.items if item.nodeid not in left]
            session.items[:] = [item for item in session.items if item.nodeid in left]
            if done:
                self.config.hook.pytest_deselected(items=done)

    def store_plan(self, handover: Any) -> set[str] | None:
        """Store what was collected as the plan of a new run, or take up the one that is to be resumed.

        Returns the node ids that are left to run of a resumed run, None for a new one.
        """
        cut = handover.cut
        failures = [
            (planned, result)
            for planned, result in broken_files(self.broken, self.config.rootpath)
            if cut is None or planned.identity.test_id in cut.files
        ]
        tests: list[PlannedTest] = [*handover.tests, *(planned for planned, _ in failures)]
        scope = cut.scope if cut is not None else None
        bridge = bridge_of(self.config)
        # The process that collected may be an xdist worker, which knows nothing of how it was started.
        run = dataclasses.replace(handover.run, command=bridge.command if bridge is not None else command_line())
        self.identities = {test.identity.test_id: test.identity for test in tests}
        known = None
        if self.config.option.conformance_resume:
            known = self.recorder.take_up(run, tests, scope=scope)
        if known is None:
            run_id = self.recorder.plan(
                run,
                tests,
                operators=handover.operators,
                modules=handover.modules,
                scope=scope,
                entries=handover.entries,
                registrations=handover.registrations,
            )
            left = {test.identity.test_id for test in tests}
        else:
            run_id = self.recorder.run_id or 0
            left = left_to_run(known, retries=run.retries)
        if bridge is not None:
            bridge.planned(run_id, run, len(left))
            if known is not None:
                bridge.resumed(run_id, len(left), len(known))
        for _, result in failures:
            if result.test_id in left:
                self.recorder.add(result)
                if bridge is not None:
                    bridge.result(result, self.identities[result.test_id])
        return {test.node_id for test in tests if test.identity.test_id in left} if known is not None else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report; a report without a phase is xdist's word that the worker died, and the last one."""
        self.recorder.report(report)
        if report.when not in ("setup", "call", "teardown"):
            self._ended(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Record the test."""
        self._ended(nodeid)

    def _ended(self, nodeid: str) -> None:
        with clear(self.config):
            result = self.recorder.ended(nodeid)
        bridge = bridge_of(self.config)
        if result is not None and bridge is not None:
            bridge.result(result, self.identities[result.test_id])

    def tick(self) -> None:
        """Let results that wait for company be written."""
        with clear(self.config):
            self.recorder.tick()

    def earlier(self, node_id: str, reports: Sequence[pytest.TestReport]) -> None:
        """Record an attempt that will be followed by another."""
        with clear(self.config):
            self.recorder.earlier(node_id, reports)

    def attempts(self, node_id: str) -> int:
        """Return how many attempts at a test have been recorded."""
        return self.recorder.attempts(node_id)

    def expected(self) -> Mapping[str, float]:
        """Return how many seconds the tests are expected to take that took long before, by node id."""
        with clear(self.config):
            return self.recorder.expected()

    def pytest_keyboard_interrupt(self) -> None:
        """Remember that the run was ended, by Ctrl-C or by a test that called pytest.exit(), whatever its exit code."""
        self.interrupted = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the run; a lost test makes it fail."""
        if self.recorder.run_id is None:
            return
        ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        whole = ended and not session.shouldfail and not self.interrupted
        with clear(self.config):
            lost = self.recorder.finish(RunState.COMPLETE if whole else RunState.INTERRUPTED)
        bridge = bridge_of(self.config)
        if bridge is not None:
            bridge.finished(lost)
        if (lost or self.recorder.failed_before) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say where the results are."""
        if self.recorder.run_id is not None:
            terminalreporter.write_line(
                f"conformance: {self.recorder.planned} planned tests recorded as run {self.recorder.run_id} "
                f"in {self.recorder.path}" + (f", {self.recorder.lost} of them lost" if self.recorder.lost else "")
            )


class XdistRecording(Recording):
    """Record in xdist's controller, which collects nothing itself: the first worker hands its plan over."""

    def __init__(self, config: pytest.Config, adapter: DeviceAdapter, selection: Selection, recorder: Recorder) -> None:
        super().__init__(config, adapter, selection, recorder)
        descriptor, name = tempfile.mkstemp(prefix="conformance-plan-")
        os.close(descriptor)
        self._path = Path(name)

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Do nothing: the controller has no items."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell each worker where the plan goes."""
        node.workerinput["conformance_plan"] = str(self._path)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        """Store the plan as soon as the first worker has collected, before any test is sent out."""
        if node.gateway.id != "gw0" or self.recorder.run_id is not None:
            return
        with clear(self.config):
            self.store_plan(pickle.loads(self._path.read_bytes()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the run and remove the plan's file."""
        self._path.unlink(missing_ok=True)
        super().pytest_sessionfinish(session, exitstatus)
