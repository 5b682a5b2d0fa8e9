"""Write a run: its plan before the first test, then every result as it arrives."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from conformance.engine.facts import utc_now
from conformance.engine.outcomes import result_of
from conformance.errors import UsageError
from conformance.model.identity import PlannedTest
from conformance.model.operator import ModuleInventory, OperatorInfo
from conformance.model.result import Result
from conformance.model.run import RunInfo, RunState
from conformance.store import Database, RunWriter


class Recorder:
    """The one writer of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._owner = os.getpid()
        self.database = Database.create_or_open(path)
        self.writer = RunWriter(self.database)
        self.run_id: int | None = None
        self.planned = 0
        self.lost = 0
        self._attempts: dict[str, int] = {}
        self._test_ids: dict[str, str] = {}
        self._reports: dict[str, list[pytest.TestReport]] = {}

    def plan(
        self,
        run: RunInfo,
        tests: Sequence[PlannedTest],
        *,
        operators: Iterable[OperatorInfo] = (),
        modules: Iterable[ModuleInventory] = (),
    ) -> int:
        """Store the run, its denominators and its plan; return the run's id. Nothing has been run yet."""
        seen: dict[str, str] = {}
        for test in tests:
            first = seen.setdefault(test.identity.test_id, test.node_id)
            if first != test.node_id:
                raise UsageError(
                    "duplicate-test-id",
                    f"two collected tests have the id {test.identity.test_id}: {first} and {test.node_id}; "
                    "run the files of one folder at a time, or rename one",
                )
        self.run_id = self.writer.begin(run)
        self.writer.write_inventory(operators=operators, modules=modules)
        self.planned = self.writer.write_plan(tests)
        self._test_ids = {test.node_id: test.identity.test_id for test in tests}
        self.writer.start()
        return self.run_id

    def report(self, report: pytest.TestReport) -> None:
        """Keep a report until its test has ended."""
        if os.getpid() != self._owner:
            return  # a child that a test forked came out of its test: the database is not its own
        self._reports.setdefault(report.nodeid, []).append(report)

    def ended(self, node_id: str) -> Result | None:
        """Record the test whose last report has arrived; None if it is not one of the plan's."""
        if os.getpid() != self._owner:
            return None
        reports = self._reports.pop(node_id, None)
        test_id = self._test_ids.get(node_id)
        if not reports or test_id is None:
            return None
        attempt = self._attempts.get(test_id, 0) + 1  # another plugin may have run the test again
        self._attempts[test_id] = attempt
        result = result_of(test_id, reports, attempt=attempt)
        self.writer.add(result)
        return result

    def add(self, result: Result) -> None:
        """Record a result that has no reports."""
        self.writer.add(result)

    def tick(self) -> None:
        """Write results that have waited long enough."""
        self.writer.tick()

    def finish(self, state: RunState) -> int:
        """Close the run; return how many planned tests got no result (they are stored as ``not_run``)."""
        if os.getpid() != self._owner:
            return 0
        for node_id in list(self._reports):
            self.ended(node_id)
        self.lost = self.writer.finish(state, finished_at=utc_now())
        self.database.close()
        return self.lost
