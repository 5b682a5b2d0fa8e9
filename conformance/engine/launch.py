"""Start a worker: a fork of the process that collected, or a new process that collects again."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from conformance.engine.remains import temporary_file
from conformance.engine.worker import Orders, serve

SPAWNED = "CONFORMANCE_SPAWNED_WORKER"


@dataclass(frozen=True, slots=True)
class Launched:
    """A process that will say that it is ready over ``connection``; ``log`` takes what it writes past the capture."""

    pid: int
    connection: socket.socket
    log: int


class Launcher(Protocol):
    """A way to start worker N."""

    @property
    def ready_within_s(self) -> float:
        """Return how long the worker may take to say that it is ready."""
        ...

    @property
    def shares_memory(self) -> bool:
        """Tell whether the worker sees the byte by which tests are taken back."""
        ...

    def __call__(self, number: int, *, others: list[socket.socket], recall: memoryview) -> Launched:
        """Start the worker; ``others`` are connections that are none of its business."""
        ...


@dataclass(frozen=True, slots=True)
class Fork:
    """Fork workers: they have all that was collected, for the price of the pages they write."""

    session: pytest.Session
    environment: Callable[[int], Mapping[str, str]]
    health: Callable[[], str | None] | None = None
    ready_within_s: float = 60.0
    shares_memory: bool = True

    def __call__(self, number: int, *, others: list[socket.socket], recall: memoryview) -> Launched:
        """Fork worker N."""
        mine, theirs = socket.socketpair()
        log = temporary_file()
        orders = Orders(log=log, parent=os.getpid(), environment=self.environment(number), health=self.health)
        capture: Any = self.session.config.pluginmanager.getplugin("capturemanager")
        quiet = capture.global_and_fixture_disabled() if capture is not None else contextlib.nullcontext()
        with quiet:
            pid = os.fork()
            if pid == 0:
                mine.close()
                for other in others:
                    other.close()
                serve(self.session, theirs, orders, recall=recall)
        theirs.close()
        return Launched(pid, mine, log)


@dataclass(frozen=True, slots=True)
class Spawn:
    """Start pytest anew for each worker, with the arguments of this one: it imports and collects for itself."""

    session: pytest.Session
    environment: Callable[[int], Mapping[str, str]]
    ready_within_s: float = 1800.0
    shares_memory: bool = False

    def __call__(self, number: int, *, others: list[socket.socket], recall: memoryview) -> Launched:
        """Spawn worker N."""
        del others, recall  # descriptors are not inherited unless we say so; memory is not shared
        mine, theirs = socket.socketpair()
        log = temporary_file()
        # The worker may collect more than is left to run, and must number the tests as this process does.
        tests = temporary_file()
        os.write(tests, json.dumps([item.nodeid for item in self.session.items]).encode())
        theirs.set_inheritable(True)
        os.set_inheritable(log, True)
        os.set_inheritable(tests, True)
        config = self.session.config
        orders = {
            "connection": theirs.fileno(),
            "log": log,
            "parent": os.getpid(),
            "folder": str(config.invocation_params.dir),
            "arguments": list(map(str, config.invocation_params.args)),
            "tests": tests,
        }
        # The slice of the device is set before the new process imports torch.
        environment = {**os.environ, **self.environment(number), SPAWNED: json.dumps(orders)}
        try:
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-m", "conformance.engine.spawned"],
                environment,
                file_actions=[(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)],
            )
        finally:
            theirs.close()
            os.close(tests)
            os.set_inheritable(log, False)
        return Launched(pid, mine, log)
