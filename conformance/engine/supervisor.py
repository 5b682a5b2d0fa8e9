"""The parent's side: fork workers, hand out tests, enforce time limits, notice deaths."""

from __future__ import annotations

import contextlib
import mmap
import os
import selectors
import signal
import socket
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.channel import Channel
from conformance.engine.worker import DRAIN, STOP, can_recall, serve
from conformance.errors import InfrastructureError
from conformance.model.outcome import Outcome

_LARGEST_BATCH = 64
_TAIL_BYTES = 8192
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
class Idle:
    """Nothing happened for a while, or a round of events is over."""


@dataclass(slots=True, eq=False)
class _Worker:
    number: int
    pid: int
    channel: Channel
    log: int
    stderr: int | None
    watch: int | None
    queue: deque[int] = field(default_factory=deque)
    running: int | None = None
    began: float = 0.0
    deadline: float = float("inf")
    killing: int = 0  # 0 no, 1 asked for its stack, 2 SIGTERM sent, 3 SIGKILL sent
    generation: int = 0
    stopped: bool = False
    draining: bool = False
    condemned: bool = False
    reaped: bool = False
    elsewhere: bool = False  # it runs a test that was taken back and handed to another
    oom_kills: int = 0


class Supervisor:
    """Run collected tests in forked workers; a death costs the test that ran, nothing else.

    ``order`` lists the indexes into ``session.items`` to run. ``timeout_of`` gives the seconds that an item may take
    (0: no limit). ``environment`` gives the variables of worker N.
    """

    def __init__(
        self,
        session: pytest.Session,
        order: Sequence[int],
        *,
        workers: int,
        timeout_of: Callable[[pytest.Item], float],
        environment: Callable[[int], Mapping[str, str]],
    ) -> None:
        self._session = session
        self._pending = deque(order)
        self._count = max(1, min(workers, len(order)))
        self._timeout_of = timeout_of
        self._environment = environment
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        self._idle_deaths = 0
        self._recall = mmap.mmap(-1, self._count)  # a byte a worker, shared with it

    def events(self) -> Iterator[Started | Ended | Died | Warned | Idle]:
        """Run everything and yield what happens; closing the iterator ends all workers."""
        try:
            for number in range(self._count):
                if self._pending:
                    self._fork(number)
            while self._workers:
                yield from self._step()
                yield Idle()
        finally:
            self.kill_all()
            self._selector.close()

    def kill_all(self) -> None:
        """End every worker and whatever its test started, at once."""
        for worker in list(self._workers):
            self._kill_group(worker, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(worker.pid, 0)
            self._forget(worker)

    def _fork(self, number: int) -> None:
        mine, theirs = socket.socketpair()
        log = _temporary_file()
        parent = os.getpid()
        environment = self._environment(number)
        capture: Any = self._session.config.pluginmanager.getplugin("capturemanager")
        self._recall[number] = 0
        quiet = capture.global_and_fixture_disabled() if capture is not None else contextlib.nullcontext()
        with quiet:
            pid = os.fork()
            if pid == 0:
                mine.close()
                for other in self._workers:
                    other.channel.close()
                recall = memoryview(self._recall)[number : number + 1]
                serve(self._session, theirs, log=log, parent=parent, environment=environment, recall=recall)
        theirs.close()
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        stderr = _receive_descriptor(mine)
        watch = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
        worker = _Worker(number, pid, Channel(mine), log, stderr, watch, oom_kills=_oom_kills())
        self._workers.append(worker)
        self._selector.register(worker.channel, selectors.EVENT_READ, worker)
        if watch is not None:
            self._selector.register(watch, selectors.EVENT_READ, worker)
        self._feed(worker)

    def _feed(self, worker: _Worker) -> None:
        """Keep two tests or more in the worker's hands, so that it always knows which one follows."""
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
        idle = [worker for worker in self._workers if worker.running is None and not worker.queue]
        if len(idle) == len(self._workers):
            for worker in idle:
                self._stop(worker)
            return
        if not idle or not can_recall(self._session):
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

    def _step(self) -> Iterator[Started | Ended | Died | Warned]:
        ready = self._selector.select(self._time_to_wait())
        crowded = False
        woken = {id(key.data): key.data for key, _ in ready}
        dead = {id(key.data) for key, _ in ready if key.fileobj is not key.data.channel}
        for worker in woken.values():
            if id(worker) in dead:
                for batch in worker.channel.drain():
                    for message in batch:
                        yield from self._take(worker, message)
                yield from self._bury(worker)
                continue
            messages = worker.channel.receive()
            if messages is None:
                yield from self._bury(worker)
                continue
            for batch in messages:
                for message in batch:
                    yield from self._take(worker, message)
            crowded = crowded or len(messages) > 1
        self._enforce_limits()
        self._rebalance()
        if crowded:
            time.sleep(_REST_S)  # short tests: let news gather, or each would take the processor from its worker

    def _take(self, worker: _Worker, message: tuple[Any, ...]) -> Iterator[Started | Ended | Died | Warned]:
        kind, index = message[0], message[1]
        if kind == "warning":
            yield Warned(message[2])
            return
        if worker.condemned or not 0 <= index < len(self._session.items):
            return  # we killed it when its test came back too late: what it began since is run again elsewhere
        if kind == "start":
            self._idle_deaths = 0
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

    def _bury(self, worker: _Worker) -> Iterator[Died]:
        """Take in what a dead worker leaves: the test it ran, the tests it had, and its place."""
        _, status = os.waitpid(worker.pid, 0)
        worker.reaped = True
        self._kill_group(worker, signal.SIGKILL)  # children that its test left behind
        # Tests that were handed to it but never began go back to the front, in their order.
        self._pending.extendleft(reversed(worker.queue))
        unfinished = bool(self._pending)
        if worker.running is not None:
            if not worker.elsewhere:
                yield self._death(worker, worker.running, status=status)
        elif not worker.killing and not (worker.stopped and status == 0):
            self._idle_deaths += 1
            if self._idle_deaths > _IDLE_DEATHS_ALLOWED:
                last_words = _tail(worker).strip().splitlines()
                raise InfrastructureError(
                    "workers-die",
                    f"{self._idle_deaths} workers in a row died before they began a test ({_describe(status)}); "
                    f"the last wrote: {last_words[-1] if last_words else 'nothing'}",
                )
        self._forget(worker)
        if unfinished:
            self._fork(worker.number)

    def _death(self, worker: _Worker, index: int, *, status: int | None) -> Died:
        outcome, message = self._cause(worker, index, status)
        return Died(
            index=index,
            worker=worker.number,
            outcome=outcome,
            message=message,
            output=_tail(worker),
            duration_s=time.monotonic() - worker.began,
        )

    def _cause(self, worker: _Worker, index: int, status: int | None) -> tuple[Outcome, str]:
        if worker.killing or status is None:
            limit = self._timeout_of(self._session.items[index])
            return Outcome.TIMED_OUT, f"exceeded its time limit of {limit:g} s and was killed"
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if killed and _oom_kills() > worker.oom_kills:
            return Outcome.OUT_OF_MEMORY, "killed by the operating system for lack of memory"
        return Outcome.CRASHED, f"the worker process died: {_describe(status)}"

    def _kill_group(self, worker: _Worker, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.pid, number)
        if not worker.reaped:  # its test may have moved it to another group
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, number)

    def _forget(self, worker: _Worker) -> None:
        self._selector.unregister(worker.channel)
        worker.channel.close()
        if worker.watch is not None:
            self._selector.unregister(worker.watch)
            os.close(worker.watch)
        os.close(worker.log)
        if worker.stderr is not None:
            os.close(worker.stderr)
        self._workers.remove(worker)


def _describe(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return f"{signal.Signals(number).name} (signal {number})"
        except ValueError:
            return f"signal {number}"
    return f"it exited with code {os.waitstatus_to_exitcode(status)} in the middle of the test"


def _temporary_file() -> int:
    """Open an unnamed file: nothing is left behind however the run ends."""
    descriptor, name = tempfile.mkstemp(prefix="conformance-worker-")
    os.unlink(name)  # noqa: PTH108
    return descriptor


def _receive_descriptor(connection: socket.socket) -> int | None:
    """Take the descriptor of the file that the worker's capture writes stderr to, so that it outlives the worker."""
    connection.settimeout(30)
    try:
        _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    except OSError:
        return None
    finally:
        connection.settimeout(None)
    return descriptors[0] if descriptors else None


def _tail(worker: _Worker) -> str:
    """Return the faulthandler stack and the last lines that the dead worker wrote to stderr."""
    parts = []
    for descriptor in dict.fromkeys((worker.log, worker.stderr)):
        if descriptor is None:
            continue
        size = os.fstat(descriptor).st_size
        start = max(0, size - _TAIL_BYTES)
        text = os.pread(descriptor, _TAIL_BYTES, start).decode("utf-8", errors="replace").strip("\0\n")
        if text:
            parts.append(text)
    return "\n".join(parts)


def _oom_kills() -> int:
    """Return how often the kernel has killed a process of this control group for lack of memory."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
        group = next(line.split("::", 1)[1] for line in lines if "::" in line)
        events = Path("/sys/fs/cgroup") / group.lstrip("/") / "memory.events"
        for line in events.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    except (OSError, StopIteration, ValueError):
        pass
    return 0
