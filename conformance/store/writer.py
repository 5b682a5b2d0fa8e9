"""Write one run: its description, inventory, plan and results."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from conformance.errors import ConformanceError, InfrastructureError, UsageError
from conformance.model.outcome import Outcome
from conformance.model.run import PlanScope, RunState
from conformance.store.interning import Interning
from conformance.store.inventory import write_inventory
from conformance.store.listing import write_entries, write_registrations
from conformance.store.plan import plan_digest, write_plan
from conformance.store.resuming import LastAttempt, take_up, this_process
from conformance.store.text import DETAILS_LIMIT, MESSAGE_LIMIT, capped, storable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator, Iterable

    from conformance.model.identity import PlannedTest
    from conformance.model.listed import ListedEntry
    from conformance.model.operator import ModuleInventory, OperatorInfo
    from conformance.model.registration import Registration
    from conformance.model.result import Result
    from conformance.model.run import RunInfo
    from conformance.store.connection import Database

_INSERT_RUN = """INSERT INTO run (
    key, created_at, state, suites, device, device_name, emulated, torch_version, backend, backend_version,
    harness_version, python_version, host, operating_system, command, selection, probe, seed, environment, launch,
    retries, owner, skiplist, run_skipped, versions
) VALUES (?, ?, 'planned', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

# An interrupt between a commit and its bookkeeping makes the next flush write the same rows again.
_INSERT_RESULT = """INSERT INTO result (
    run_id, test_ref, attempt, outcome, duration_us, worker_id, fallback_set_id, test_fallback_set_id, inside_set_id,
    samples, samples_passed, failing_sample_id, reason_id, message_id, details_id, signature_id,
    tolerance_id
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, test_ref, attempt) DO NOTHING"""

_INSERT_COMPILATION = """INSERT INTO compilation (
    run_id, test_ref, attempt, backend_id, compile_us, graphs, breaks, recompilations, peak_bytes
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, test_ref, attempt) DO NOTHING"""

_SET_COUNT = """INSERT INTO run_outcome (run_id, outcome, tests) VALUES (?, ?, ?)
    ON CONFLICT (run_id, outcome) DO UPDATE SET tests = excluded.tests"""

_FILL_NOT_RUN = """INSERT INTO result (run_id, test_ref, attempt, outcome, duration_us)
    SELECT plan.run_id, plan.test_ref, 1, 'not_run', 0 FROM plan
    WHERE plan.run_id = ? AND NOT EXISTS (
        SELECT 1 FROM result WHERE result.run_id = plan.run_id AND result.test_ref = plan.test_ref
    )"""


# What an interrupt may have left out of step between a row and its count is set right here.
_RECOUNT = """INSERT INTO run_outcome (run_id, outcome, tests)
    SELECT result.run_id, result.outcome, count(*) FROM result
    WHERE result.run_id = ? AND NOT EXISTS (
        SELECT 1 FROM result AS later
        WHERE later.run_id = result.run_id AND later.test_ref = result.test_ref AND later.attempt > result.attempt
    )
    GROUP BY result.outcome"""


class RunWriter:
    """The only writer of one run, one a process: begin, write_inventory, write_plan, start, add..., finish.

    ``add`` keeps results back until ``batch_rows`` are there or ``flush_interval_s`` seconds have passed since the last
    commit. Nothing commits while nobody calls: whoever waits for a slow test calls ``tick`` now and then, or passes
    ``flush_interval_s=0`` and pays about 0.1 ms a result. Each method raises InfrastructureError
    (``database-unwritable``) when the disk is full or the file cannot be written; earlier rows are intact then, and
    the results kept back are tried again by the next call.
    """

    def __init__(self, database: Database, *, flush_interval_s: float = 0.5, batch_rows: int = 500) -> None:
        self._database = database
        self._flush_interval_s = flush_interval_s
        self._batch_rows = batch_rows
        self._interning = Interning(database.connection)
        self._run_id: int | None = None
        self._tests: dict[str, int] = {}
        self._entries: dict[str, int] = {}
        self._buffer: list[tuple[int, Result]] = []
        self._flushed_at = time.monotonic()
        self._last: dict[int, tuple[int, Outcome]] = {}
        self._earlier: set[tuple[int, int]] = set()
        self._counts = dict.fromkeys(Outcome, 0)
        self._changed: set[Outcome] = set()
        self._finished = False

    @property
    def run_id(self) -> int:
        """Return the number of the run in this database; only after begin."""
        if self._run_id is None:
            raise ConformanceError("run-not-begun", "the run has no number yet: call RunWriter.begin first")
        return self._run_id

    def begin(self, run: RunInfo) -> int:
        """Write the run's description in state ``planned`` and return its number.

        Raises UsageError (``duplicate-run``) when the database has a run with this key.
        """
        if self._run_id is not None:
            raise ConformanceError("run-begun", f"this writer has begun run {self._run_id} already; make another one")
        if not -(2**63) <= run.seed < 2**63:
            raise UsageError("invalid-seed", f"the seed {run.seed} does not fit in 64 bits with a sign; give another")
        device = (run.device, run.device_name)
        versions = (run.torch_version, run.backend, run.backend_version, run.harness_version, run.python_version)
        circumstances = (run.host, run.operating_system, run.command, run.selection, run.probe)
        with self._transaction() as connection:
            if list(connection.execute("SELECT 1 FROM run WHERE key = ?", (storable(run.key),))):
                raise UsageError("duplicate-run", f"{self._database.path} has a run with the key {run.key} already")
            run_id = connection.execute(
                _INSERT_RUN,
                (
                    storable(run.key),
                    storable(run.created_at),
                    json.dumps([storable(str(suite)) for suite in run.suites], ensure_ascii=False),
                    *map(storable, device),
                    int(run.emulated),
                    *map(storable, versions),
                    *map(storable, circumstances),
                    run.seed,
                    json.dumps(
                        {storable(key): storable(value) for key, value in sorted(run.environment.items())},
                        ensure_ascii=False,
                    ),
                    storable(run.launch),
                    run.retries,
                    this_process(),
                    storable(run.skiplist),
                    int(run.run_skipped),
                    json.dumps([list(map(storable, pair)) for pair in run.versions], ensure_ascii=False),
                ),
            ).lastrowid
        self._run_id = run_id
        return self.run_id

    def write_inventory(self, *, operators: Iterable[OperatorInfo], modules: Iterable[ModuleInventory]) -> None:
        """Write what torch declares for the run's device: the denominators; equal inventories are stored once."""
        with self._transaction() as connection:
            write_inventory(connection, self._interning, self.run_id, operators, modules)

    def write_registrations(self, registrations: Iterable[Registration]) -> None:
        """Write what the backend has registered for every ATen overload; equal sets are stored once."""
        with self._transaction() as connection:
            write_registrations(connection, self._interning, self.run_id, registrations)

    def write_skiplist(self, entries: Iterable[ListedEntry]) -> None:
        """Write the entries in force; call it before write_plan, whose tests name them.

        Raises ConformanceError (``duplicate-entry``) when two have one id.
        """
        with self._transaction() as connection:
            self._entries = write_entries(connection, self.run_id, entries)

    def write_plan(self, tests: Iterable[PlannedTest], scope: PlanScope | None = None) -> int:
        """Write the tests the run undertakes to report on; return how many.

        ``scope`` says which part of the collected tests that is; without it, it is all of them. Raises ConformanceError
        (``duplicate-test-id``), and writes no plan then.
        """
        tests = list(tests)
        if scope is None:
            test_ids = [*self._tests, *(test.identity.test_id for test in tests)]
            scope = PlanScope(digest=plan_digest(test_ids), collected=len(test_ids))
        # First, so that a run that is killed while it writes its plan can be told from others.
        with self._transaction() as connection:
            connection.execute(
                "UPDATE run SET plan_digest = ?, collected = ?, shard = ?, shards = ?, split = ? WHERE run_id = ?",
                (scope.digest, scope.collected, scope.shard, scope.shards, scope.split, self.run_id),
            )
        refs = write_plan(self._database, self._interning, self.run_id, tests, self._tests.keys(), self._entries)
        self._tests.update(refs)
        return len(refs)

    def resume(self, run_id: int) -> dict[str, LastAttempt]:
        """Take up a run that has not finished; return what is known of each planned test, by its test id.

        The rows that an interruption filled with ``not_run`` go: these tests are still to be run. Raises UsageError
        (``run-in-use``) when the process that writes the run is still there.
        """
        if self._run_id is not None:
            raise ConformanceError("run-begun", f"this writer has begun run {self._run_id} already; make another one")
        with self._transaction() as connection:
            known, refs = take_up(self._database, run_id)
            connection.execute("UPDATE run SET owner = ? WHERE run_id = ?", (this_process(), run_id))
        self._run_id = run_id
        self._tests = refs
        self._earlier = set()
        for test_id, attempts in known.items():
            ref = refs[test_id]
            for attempt, outcome in attempts.outcomes:
                if ref in self._last:
                    self._counts[self._last[ref][1]] -= 1
                    self._earlier.add((ref, self._last[ref][0]))
                self._last[ref] = (attempt, outcome)
                self._counts[outcome] += 1
        self._changed = set(Outcome)
        return known

    def start(self, *, started_at: str | None = None) -> None:
        """Set the state ``running``; ``started_at`` is UTC in ISO 8601, now when None."""
        moment = started_at or datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with self._transaction() as connection:
            connection.execute(
                "UPDATE run SET state = 'running', started_at = ? WHERE run_id = ?", (storable(moment), self.run_id)
            )

    def add(self, result: Result) -> None:
        """Take one result, and commit when enough of them or enough time have come together.

        Raises ConformanceError (``unplanned-test``, ``duplicate-result``, ``invalid-attempt``, ``run-finished``).
        """
        if self._finished:
            raise ConformanceError(
                "run-finished", f"a result came for {result.test_id!r} after run {self.run_id} was finished"
            )
        ref = self._tests.get(storable(result.test_id))
        if ref is None:
            raise ConformanceError(
                "unplanned-test", f"a result came for {result.test_id!r}, which is not in the plan of run {self.run_id}"
            )
        if not 1 <= result.attempt < 2**31:
            raise ConformanceError(
                "invalid-attempt", f"attempt {result.attempt} at {result.test_id!r}: attempts count from 1"
            )
        self._count(ref, result)
        self._buffer.append((ref, result))
        if len(self._buffer) >= self._batch_rows:
            self.flush()
        else:
            self.tick()

    def tick(self) -> None:
        """Commit the results kept back if ``flush_interval_s`` has passed since the last commit; call it when idle."""
        if self._buffer and time.monotonic() - self._flushed_at >= self._flush_interval_s:
            self.flush()

    def flush(self) -> None:
        """Commit the results kept back."""
        if not self._buffer:
            return
        with self._transaction() as connection:
            connection.executemany(_INSERT_RESULT, [self._row(ref, result) for ref, result in self._buffer])
            compiled = [row for ref, result in self._buffer for row in self._compilation(ref, result)]
            if compiled:
                connection.executemany(_INSERT_COMPILATION, compiled)
            connection.executemany(
                _SET_COUNT, [(self.run_id, outcome.value, self._counts[outcome]) for outcome in self._changed]
            )
        self._changed.clear()
        self._buffer.clear()
        self._flushed_at = time.monotonic()

    def finish(self, state: RunState, *, finished_at: str) -> int:
        """Write what is kept back, a ``not_run`` row for each planned test without a result, and the final state.

        ``state`` is COMPLETE or INTERRUPTED. Returns the number of ``not_run`` rows written.
        """
        if state not in (RunState.COMPLETE, RunState.INTERRUPTED):
            raise ConformanceError("run-state", f"a run cannot finish in the state '{state}'")
        self.flush()
        with self._transaction() as connection:
            lost = connection.execute(_FILL_NOT_RUN, (self.run_id,)).rowcount
            connection.execute("DELETE FROM run_outcome WHERE run_id = ?", (self.run_id,))
            connection.execute(_RECOUNT, (self.run_id,))
            connection.execute(
                "UPDATE run SET state = ?, finished_at = ? WHERE run_id = ?",
                (state.value, storable(finished_at), self.run_id),
            )
        self._finished = True
        # The run is safe by now: statistics that find no room on the disk are not worth an error.
        with suppress(InfrastructureError), self._database.transaction():
            # With a few hundred samples of an index SQLite knows well enough which one to take.
            self._database.connection.execute("PRAGMA analysis_limit = 400")
            self._database.connection.execute("ANALYZE")
        return lost

    def _count(self, ref: int, result: Result) -> None:
        """Move the test's count to its new outcome, unless a later attempt is there already."""
        last = self._last.get(ref)
        outcome = result.outcome
        if last is None:
            self._last[ref] = (result.attempt, outcome)
            self._counts[outcome] += 1
            self._changed.add(outcome)
            return
        attempt, last_outcome = last
        if result.attempt == attempt or (ref, result.attempt) in self._earlier:
            raise ConformanceError(
                "duplicate-result", f"attempt {result.attempt} at {result.test_id!r} has a result already"
            )
        if result.attempt < attempt:
            self._earlier.add((ref, result.attempt))
            return
        self._earlier.add((ref, attempt))
        self._last[ref] = (result.attempt, outcome)
        self._counts[last_outcome] -= 1
        self._counts[outcome] += 1
        self._changed.update((last_outcome, outcome))

    def _row(self, ref: int, result: Result) -> tuple[object, ...]:
        interning = self._interning
        samples, fallback = result.samples, result.fallback
        duration_s = result.duration_s
        return (
            self._run_id,
            ref,
            result.attempt,
            result.outcome.value,
            round(duration_s * 1e6) if 0 <= duration_s < 1e12 else 0,
            interning.name(storable(result.worker)) if result.worker else None,
            interning.fallback_set(_overloads(fallback.operator)) if fallback else None,
            interning.fallback_set(_overloads(fallback.test)) if fallback else None,
            interning.fallback_set(_overloads(fallback.inside)) if fallback and fallback.inside is not None else None,
            samples.ran if samples else None,
            samples.passed if samples else None,
            interning.text(capped(samples.first_failure, MESSAGE_LIMIT)) if samples else None,
            interning.text(capped(result.reason, MESSAGE_LIMIT)),
            interning.text(capped(result.message, MESSAGE_LIMIT)),
            interning.text(capped(result.details, DETAILS_LIMIT)),
            interning.signature(capped(result.signature, MESSAGE_LIMIT)),
            interning.text(capped(result.tolerance, MESSAGE_LIMIT)),
        )

    def _compilation(self, ref: int, result: Result) -> list[tuple[object, ...]]:
        """Return the row of a test that used torch.compile; one that counts as not run has done nothing."""
        one = result.compilation
        if one is None or result.outcome is Outcome.NOT_RUN:
            return []
        return [
            (
                self._run_id,
                ref,
                result.attempt,
                self._interning.name(storable(one.backend)),
                None if one.compile_s is None else round(one.compile_s * 1e6),
                one.graphs,
                one.breaks,
                one.recompilations,
                one.peak_bytes,
            )
        ]

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        try:
            with self._database.transaction():
                yield self._database.connection
        except BaseException:
            self._interning.rollback()
            raise
        self._interning.commit()


def _overloads(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names as they are stored: sorted, each once, and without the comma that separates them."""
    if len(names) == 1 and "," not in names[0]:
        return (storable(names[0]),)
    return tuple(sorted({storable(name).replace(",", ";") for name in names}))
