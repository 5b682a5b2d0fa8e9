"""The parent's side: start workers, hand out tests, enforce time limits, notice deaths."""

from __future__ import annotations

import contextlib
import mmap
import os
import selectors
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance.engine.channel import Channel
from conformance.engine.launch import Launcher
from conformance.engine.orphans import children_of, end_children
from conformance.engine.remains import describe, last_words, oom_kills
from conformance.engine.worker import DRAIN, STOP, can_recall
from conformance.errors import InfrastructureError
from conformance.model.outcome import Outcome

_LARGEST_BATCH = 64
_HEALTH_CHECK_S = 30.0
_STACK_WAIT_S = 0.5
_GRACE_S = 3.0
_LONGEST_WAIT_S = 0.5
_REST_S = 0.01
_STALL_S = 1.0
_FAIR_SHARE = 3
_IDLE_DEATHS_ALLOWED = 5


@dataclass(frozen=True, slots=True)
class Started:
    """A worker began a test."""

    index: int
    worker: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A worker finished a test; ``reports`` is what ``unpack_reports`` takes."""

    index: int
    worker: int
    reports: Any


@dataclass(frozen=True, slots=True)
class Died:
    """The worker that ran a test died or was killed; ``output`` is the stack and the last lines it wrote."""

    index: int
    worker: int
    outcome: Outcome
    message: str
    output: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning was recorded in a worker; ``content`` is what ``ReportBuffer`` kept of it."""

    content: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Sick:
    """The device was unfit for use after this test had ended; its worker is being replaced."""

    index: int
    worker: int
    problem: str


@dataclass(frozen=True, slots=True)
class Exit:
    """A test asked for the end of the whole run, as ``pytest.exit`` does."""

    index: int
    message: str
    code: int | None


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing happened for a while, or a round of events is over."""


@dataclass(slots=True, eq=False)
class _Worker:
    number: int
    pid: int
    channel: Channel
    log: int
    watch: int | None
    deadline: float  # of its start, then of the test it runs
    ready: bool = False
    stderr: int | None = None
    queue: deque[int] = field(default_factory=deque)
    running: int | None = None
    began: float = 0.0
    checked: int | None = None  # the test after which it is looking at its device
    killing: int = 0  # 0 no, 1 asked for its stack, 2 SIGTERM sent, 3 SIGKILL sent
    generation: int = 0
    stopped: bool = False
    draining: bool = False
    condemned: bool = False
    reaped: bool = False
    deaf: bool = False  # it has closed its channel
    retired: bool = False  # it ends of itself: its device is sick
    elsewhere: bool = False  # it runs a test that was taken back and handed to another
    oom_kills: int = 0


class Supervisor:
    """Run collected tests in workers; a death costs the test that ran, nothing else.

    ``order`` lists the indexes into ``session.items`` to run. ``timeout_of`` gives the seconds that an item may take
    (0: no limit). ``launch`` starts worker N.
    """

    def __init__(
        self,
        session: pytest.Session,
        order: Sequence[int],
        *,
        workers: int,
        timeout_of: Callable[[pytest.Item], float],
        launch: Launcher,
    ) -> None:
        self._session = session
        self._pending = deque(order)
        self._count = max(1, min(workers, len(order)))
        self._timeout_of = timeout_of
        self._launch = launch
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        self._idle_deaths = 0
        self._recall = mmap.mmap(-1, self._count)  # a byte a worker, shared with it
        self._can_recall = launch.shares_memory and can_recall(session)
        self._strangers: set[int] = set()  # children of this process that are none of ours

    def events(self) -> Iterator[Started | Ended | Died | Warned | Sick | Exit | Idle]:
        """Run everything and yield what happens; closing the iterator ends all workers."""
        self._strangers = children_of(os.getpid())
        try:
            for number in range(self._count):
                if self._pending:
                    self._start(number)
            while self._workers:
                yield from self._step()
                yield Idle()
        finally:
            self.kill_all()
            self._selector.close()

    def requeue(self, index: int) -> None:
        """Run a test that has ended once more, after those that wait."""
        self._pending.append(index)

    def kill_all(self) -> None:
        """End every worker and whatever its test started, at once."""
        for worker in list(self._workers):
            self._kill_group(worker, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(worker.pid, 0)
            self._forget(worker)
        self._end_orphans()

    def _start(self, number: int) -> None:
        self._recall[number] = 0
        started = self._launch(
            number,
            others=[worker.channel.socket for worker in self._workers],
            recall=memoryview(self._recall)[number : number + 1],
        )
        with contextlib.suppress(OSError):
            os.setpgid(started.pid, started.pid)
        watch = os.pidfd_open(started.pid) if hasattr(os, "pidfd_open") else None
        worker = _Worker(
            number,
            started.pid,
            Channel(started.connection),
            started.log,
            watch,
            deadline=time.monotonic() + self._launch.ready_within_s,
            oom_kills=oom_kills(),
        )
        self._workers.append(worker)
        self._selector.register(worker.channel, selectors.EVENT_READ, worker)
        if watch is not None:
            self._selector.register(watch, selectors.EVENT_READ, worker)

    def _welcome(self, worker: _Worker) -> bool:
        """Take the descriptor by which a worker says that it is ready; tell whether it was there."""
        try:
            data, descriptors, _, _ = socket.recv_fds(worker.channel.socket, 1, 1)
        except OSError:
            return False
        if not data:
            return False
        worker.stderr = descriptors[0] if descriptors else None
        worker.ready = True
        worker.deadline = float("inf")
        self._feed(worker)
        return True

    def _feed(self, worker: _Worker) -> None:
        """Keep two tests or more in the worker's hands, so that it always knows which one follows."""
        if not worker.ready or worker.retired or worker.deaf:
            return
        batch: list[int] = []
        size = max(1, min(_LARGEST_BATCH, len(self._pending) // (4 * self._count)))
        while self._pending and len(worker.queue) + len(batch) < 3 and len(batch) < size + 2:
            batch.extend(self._pending.popleft() for _ in range(min(size, len(self._pending))))
        try:
            if batch:
                worker.queue.extend(batch)
                worker.draining = False
                worker.channel.send((worker.generation, batch))
            if not self._pending and not worker.draining:
                worker.draining = True
                worker.channel.send(DRAIN)
        except OSError:
            return  # it is dead: the selector tells, and what it had is handed out again

    def _rebalance(self) -> None:
        """Take back from a busy worker what it has not begun, for those that are idle; stop all at the end."""
        for worker in self._workers:
            if len(worker.queue) < 2 and not worker.stopped:
                self._feed(worker)
        if self._pending:
            return
        idle = [
            worker
            for worker in self._workers
            if worker.ready and worker.running is None and worker.checked is None and not worker.queue
        ]
        if len(idle) == len(self._workers):
            for worker in idle:
                self._stop(worker)
            return
        if not idle or not self._can_recall:
            return
        now = time.monotonic()
        for worker in self._workers:
            stalled = worker.running is not None and now - worker.began > _STALL_S
            if worker.queue and (stalled or len(worker.queue) > _FAIR_SHARE):
                # What was sent under an earlier generation is not begun any more.
                worker.generation = (worker.generation + 1) % 256
                self._recall[worker.number] = worker.generation
                self._pending.extend(worker.queue)
                worker.queue.clear()
        for worker in idle:
            self._feed(worker)

    def _stop(self, worker: _Worker) -> None:
        if not worker.stopped:
            worker.stopped = True
            with contextlib.suppress(OSError):
                worker.channel.send(STOP)

    def _step(self) -> Iterator[Started | Ended | Died | Warned | Sick | Exit]:
        ready = self._selector.select(self._time_to_wait())
        crowded = False
        woken = {id(key.data): key.data for key, _ in ready}
        dead = {id(key.data) for key, _ in ready if key.fileobj is not key.data.channel}
        for worker in woken.values():
            if id(worker) in dead:
                for batch in worker.channel.drain() if worker.ready else ():
                    for message in batch:
                        yield from self._take(worker, message)
                yield from self._bury(worker)
                continue
            if not worker.ready:
                if not self._welcome(worker):
                    yield from self._lose_touch(worker)
                continue
            messages = worker.channel.receive()
            if messages is None:
                yield from self._lose_touch(worker)
                continue
            for batch in messages:
                for message in batch:
                    yield from self._take(worker, message)
            crowded = crowded or len(messages) > 1
        self._enforce_limits()
        self._rebalance()
        if crowded:
            time.sleep(_REST_S)  # short tests: let news gather, or each would take the processor from its worker

    def _lose_touch(self, worker: _Worker) -> Iterator[Died | Sick]:
        """Wait no longer for word from a worker that has closed its channel: it may go on, as another program."""
        if worker.watch is None:  # then there is no telling a worker that lives from one that has died
            yield from self._bury(worker)
            return
        self._selector.unregister(worker.channel)
        worker.deaf = True
        if worker.running is None:
            worker.deadline = min(worker.deadline, time.monotonic() + _GRACE_S)

    def _take(
        self, worker: _Worker, message: tuple[Any, ...]
    ) -> Iterator[Started | Ended | Died | Warned | Sick | Exit]:
        kind, index = message[0], message[1]
        if kind == "warning":
            yield Warned(message[2])
            return
        if kind == "exit":
            yield Exit(index, *message[2])
            return
        if kind == "check":
            worker.checked = index
            worker.deadline = time.monotonic() + _HEALTH_CHECK_S
            return
        if kind == "well":
            worker.checked = None
            worker.deadline = float("inf")
            return
        if kind == "sick":
            worker.checked = None
            worker.retired = True
            worker.deadline = time.monotonic() + _GRACE_S
            yield Sick(index, worker.number, message[2])
            return
        if worker.condemned or not 0 <= index < len(self._session.items):
            return  # we killed it when its test came back too late: what it began since is run again elsewhere
        if kind == "start":
            self._idle_deaths = 0
            worker.checked = None
            worker.running = index
            worker.began = time.monotonic()
            limit = self._timeout_of(self._session.items[index])
            worker.deadline = worker.began + limit if limit > 0 else float("inf")
            worker.elsewhere = False
            if index in worker.queue:
                worker.queue.remove(index)
            elif index in self._pending:
                self._pending.remove(index)  # it began the moment it was taken back: then it keeps it
            else:
                worker.elsewhere = True  # another worker has it already, and that one counts
            if not worker.elsewhere:
                yield Started(index, worker.number)
            return
        worker.running = None
        if worker.killing:
            # It came back after its limit, while it was being ended: the signals may have changed what it did.
            self._kill_group(worker, signal.SIGKILL)
            worker.condemned = True
            if not worker.elsewhere:
                yield self._death(worker, index, status=None)
            return
        worker.deadline = float("inf")
        if not worker.elsewhere:
            yield Ended(index, worker.number, message[2])

    def _time_to_wait(self) -> float:
        earliest = min((worker.deadline for worker in self._workers), default=float("inf"))
        return min(_LONGEST_WAIT_S, max(0.0, earliest - time.monotonic()))

    def _enforce_limits(self) -> None:
        """Ask an overdue worker for its stack, then to end, then end it; never wait for one while others run."""
        now = time.monotonic()
        if not any(now >= worker.deadline for worker in self._workers):
            return
        # The parent may have been held up, by a locked database say: what has arrived meanwhile is read first.
        unread = {id(key.data) for key, _ in self._selector.select(0)}
        for worker in self._workers:
            if now < worker.deadline or id(worker) in unread:
                continue
            worker.killing += 1
            if worker.killing == 1:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGUSR1)
                worker.deadline = now + _STACK_WAIT_S
            elif worker.killing == 2:
                self._kill_group(worker, signal.SIGTERM)
                worker.deadline = now + _GRACE_S
            else:
                self._kill_group(worker, signal.SIGKILL)
                worker.deadline = float("inf")

    def _bury(self, worker: _Worker) -> Iterator[Died | Sick]:
        """Take in what a dead worker leaves: the test it ran, the tests it had, and its place."""
        _, status = os.waitpid(worker.pid, 0)
        worker.reaped = True
        self._kill_group(worker, signal.SIGKILL)  # children that its test left behind
        self._end_orphans()
        # Tests that were handed to it but never began go back to the front, in their order.
        self._pending.extendleft(reversed(worker.queue))
        worker.queue.clear()
        if worker.running is not None:
            if not worker.elsewhere:
                yield self._death(worker, worker.running, status=status)
        elif worker.checked is not None:
            problem = "did not come back from its health check" if worker.killing else "died in its health check"
            yield Sick(worker.checked, worker.number, f"the worker {problem}")
        elif not worker.condemned and not worker.retired and not (worker.stopped and status == 0):
            self._idle_deaths += 1
            if self._idle_deaths > _IDLE_DEATHS_ALLOWED:
                written = last_words(worker.log, worker.stderr).strip().splitlines()
                raise InfrastructureError(
                    "workers-die",
                    f"{self._idle_deaths} workers in a row died before they began a test ({describe(status)}); "
                    f"the last wrote: {written[-1] if written else 'nothing'}",
                )
        self._forget(worker)
        if self._pending:
            self._start(worker.number)

    def _end_orphans(self) -> None:
        """End what dead workers left in sessions of their own: it has become this process's child."""
        end_children(spare=self._strangers | {worker.pid for worker in self._workers})

    def _death(self, worker: _Worker, index: int, *, status: int | None) -> Died:
        outcome, message = self._cause(worker, index, status)
        return Died(
            index=index,
            worker=worker.number,
            outcome=outcome,
            message=message,
            output=last_words(worker.log, worker.stderr),
            duration_s=time.monotonic() - worker.began,
        )

    def _cause(self, worker: _Worker, index: int, status: int | None) -> tuple[Outcome, str]:
        if worker.killing or status is None:
            limit = self._timeout_of(self._session.items[index])
            return Outcome.TIMED_OUT, f"exceeded its time limit of {limit:g} s and was killed"
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if killed and oom_kills() > worker.oom_kills:
            return Outcome.OUT_OF_MEMORY, "killed by the operating system for lack of memory"
        return Outcome.CRASHED, f"the worker process died: {describe(status)}"

    def _kill_group(self, worker: _Worker, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.pid, number)
        if not worker.reaped:  # its test may have moved it to another group
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, number)

    def _forget(self, worker: _Worker) -> None:
        if not worker.deaf:
            self._selector.unregister(worker.channel)
        worker.channel.close()
        if worker.watch is not None:
            self._selector.unregister(worker.watch)
            os.close(worker.watch)
        os.close(worker.log)
        if worker.stderr is not None:
            os.close(worker.stderr)
        self._workers.remove(worker)
