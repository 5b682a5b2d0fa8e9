"""Canaries that leave processes behind: none of them may be there when the run is over."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from conformance.model.outcome import Outcome
from conformance.suites.canaries import canary, is_armed, note_process

pytestmark = pytest.mark.skipif(not is_armed(), reason="a canary: only `conformance selftest` runs it")

_SLEEP = [sys.executable, "-S", "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(3600)"]
_DAEMON = (
    "import os, time\n"
    "if os.fork():\n    os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork():\n    os._exit(0)\n"
    "print(os.getpid(), flush=True)\n"
    "os.dup2(os.open(os.devnull, os.O_RDWR), 1)\n"
    "time.sleep(3600)\n"
)


@canary(Outcome.PASSED)
def test_leaves_a_child() -> None:
    """Leave a child."""
    note_process(subprocess.Popen(_SLEEP).pid, "test_leaves_a_child")


@canary(Outcome.PASSED)
def test_leaves_a_child_in_a_new_session() -> None:
    """Leave a child in a session of its own."""
    note_process(subprocess.Popen(_SLEEP, start_new_session=True).pid, "test_leaves_a_child_in_a_new_session")


@canary(Outcome.PASSED)
def test_leaves_a_daemon() -> None:
    """Leave a daemon whose parent has ended."""
    started = subprocess.run([sys.executable, "-S", "-c", _DAEMON], stdout=subprocess.PIPE, text=True, check=True)
    note_process(int(started.stdout), "test_leaves_a_daemon")


@canary(Outcome.CRASHED, says="exited with code 5")
def test_leaves_a_child_and_dies() -> None:
    """Leave a child and die."""
    note_process(subprocess.Popen(_SLEEP, start_new_session=True).pid, "test_leaves_a_child_and_dies")
    os._exit(5)


@canary(Outcome.PASSED)
def test_leaves_a_thread() -> None:
    """Leave a thread that never ends."""
    threading.Thread(target=time.sleep, args=(3600,)).start()


@canary(Outcome.PASSED)
def test_forks() -> None:
    """Fork a child that comes out of the test too."""
    pid = os.fork()
    if pid:
        note_process(pid, "test_forks")
        os.waitpid(pid, 0)
