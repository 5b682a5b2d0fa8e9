"""Write a run: its plan before the first test, then every result as it arrives."""

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from conformance.engine.facts import utc_now
from conformance.engine.outcomes import result_of
from conformance.engine.resume import left_to_run, unfinished_run
from conformance.errors import UsageError
from conformance.model.identity import PlannedTest
from conformance.model.listed import ListedEntry
from conformance.model.operator import ModuleInventory, OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.registration import Registration
from conformance.model.result import Result
from conformance.model.run import PlanScope, RunInfo, RunState
from conformance.store import Database, LastAttempt, RunRow, RunWriter, plan_digest, runs
from conformance.store.durations import long_tests

_LONG_S = 0.5  # shorter tests need no place of their own in the order


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
        self.resumed: RunRow | None = None
        self.failed_before = False  # a test of the resumed run that is not run again
        self._device = ""
        self._attempts: dict[str, int] = {}
        self._bad: set[str] = set()  # tests with an attempt that ended badly
        self._test_ids: dict[str, str] = {}
        self._reports: dict[str, list[pytest.TestReport]] = {}

    def plan(
        self,
        run: RunInfo,
        tests: Sequence[PlannedTest],
        *,
        operators: Iterable[OperatorInfo] = (),
        modules: Iterable[ModuleInventory] = (),
        scope: PlanScope | None = None,
        entries: Sequence[ListedEntry] = (),
        registrations: Sequence[Registration] = (),
    ) -> int:
        """Store the run, its denominators and its plan; return the run's id. Nothing has been run yet."""
        _refuse_duplicates(tests)
        self._device = run.device
        self.run_id = self.writer.begin(run)
        self.writer.write_inventory(operators=operators, modules=modules)
        self.writer.write_skiplist(entries)
        if registrations:
            self.writer.write_registrations(registrations)
        self.planned = self.writer.write_plan(tests, scope)
        self._test_ids = {test.node_id: test.identity.test_id for test in tests}
        self.writer.start()
        return self.run_id

    def take_up(
        self, run: RunInfo, tests: Sequence[PlannedTest], *, scope: PlanScope | None = None
    ) -> Mapping[str, LastAttempt] | None:
        """Continue the unfinished run that planned these tests; return what is known of each, by test id.

        None where there is no such run. Raises ``UsageError`` where there is one that cannot be continued.
        """
        _refuse_duplicates(tests)
        digest = scope.digest if scope is not None else plan_digest(test.identity.test_id for test in tests)
        shard, shards = (scope.shard, scope.shards) if scope is not None else (None, None)
        row = unfinished_run(runs(self.database), run, digest=digest, shard=shard, shards=shards)
        if row is None:
            return None
        known = self.writer.resume(row.id)
        if not known:  # it was killed before its plan was stored
            self.writer.write_plan(tests, scope)
            known = {test.identity.test_id: LastAttempt(test.node_id) for test in tests}
        self._device = run.device
        self.run_id = row.id
        self.resumed = row
        self.planned = len(known)
        self._test_ids = {test.node_id: test.identity.test_id for test in tests}
        self._attempts = {test_id: last.attempt for test_id, last in known.items()}
        self._bad = {test_id for test_id, last in known.items() if any(outcome.is_bad for _, outcome in last.outcomes)}
        left = left_to_run(known, retries=run.retries)
        self.failed_before = any(
            last.outcome is not None and last.outcome.is_bad and test_id not in left for test_id, last in known.items()
        )
        return known

    def report(self, report: pytest.TestReport) -> None:
        """Keep a report until its test has ended."""
        if os.getpid() != self._owner:
            return  # a child that a test forked came out of its test: the database is not its own
        if getattr(report, "conformance", {}).get("earlier"):
            return  # stands for an attempt that was recorded by ``earlier``
        self._reports.setdefault(report.nodeid, []).append(report)

    def ended(self, node_id: str) -> Result | None:
        """Record the test whose last report has arrived; None if it is not one of the plan's."""
        if os.getpid() != self._owner:
            return None
        reports = self._reports.pop(node_id, None)
        if not reports:
            return None
        *earlier, last = _attempts_in(reports)
        for attempt in earlier:
            self._attempt(node_id, attempt)
        return self._attempt(node_id, last)

    def earlier(self, node_id: str, reports: Sequence[pytest.TestReport]) -> None:
        """Record an attempt that will be followed by another."""
        self._attempt(node_id, reports)

    def attempts(self, node_id: str) -> int:
        """Return how many attempts at the test have been recorded."""
        return self._attempts.get(self._test_ids.get(node_id, ""), 0)

    def expected(self) -> Mapping[str, float]:
        """Return how many seconds the tests of the plan are expected to take that took long before, by node id."""
        long = long_tests(self.database, device=self._device, at_least_s=_LONG_S)
        if not long:
            return {}
        return {node_id: long[test_id] for node_id, test_id in self._test_ids.items() if test_id in long}

    def _attempt(self, node_id: str, reports: Sequence[pytest.TestReport]) -> Result | None:
        test_id = self._test_ids.get(node_id)
        if test_id is None:
            return None
        attempt = self._attempts.get(test_id, 0) + 1
        self._attempts[test_id] = attempt
        result = result_of(test_id, reports, attempt=attempt)
        if result.outcome.is_bad:
            self._bad.add(test_id)
        elif result.outcome is Outcome.PASSED and test_id in self._bad:
            result = dataclasses.replace(result, outcome=Outcome.FLAKY)
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


def _refuse_duplicates(tests: Sequence[PlannedTest]) -> None:
    seen: dict[str, str] = {}
    for test in tests:
        first = seen.setdefault(test.identity.test_id, test.node_id)
        if first != test.node_id:
            raise UsageError(
                "duplicate-test-id",
                f"two collected tests have the id {test.identity.test_id}: {first} and {test.node_id}; "
                "run the files of one folder at a time, or rename one",
            )


def _attempts_in(reports: Sequence[pytest.TestReport]) -> list[list[pytest.TestReport]]:
    """Return the reports of each attempt; pytest-rerunfailures ends all but the last with the outcome ``rerun``."""
    attempts: list[list[pytest.TestReport]] = [[]]
    for index, report in enumerate(reports):
        if str(report.outcome) != "rerun":
            attempts[-1].append(report)
            continue
        failed = copy.copy(report)
        failed.outcome = "failed"
        attempts[-1].append(failed)
        if index + 1 < len(reports):
            attempts.append([])
    return attempts
