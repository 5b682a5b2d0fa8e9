"""Canaries that never come back; their time limit is a second each."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from conformance.model.outcome import Outcome
from conformance.suites.canaries import canary, is_armed, note_process

pytestmark = [
    pytest.mark.skipif(not is_armed(), reason="a canary: only `conformance selftest` runs it"),
    pytest.mark.conformance_timeout(1),
]
_LIMIT = "exceeded its time limit of 1 s"
_LONG_S = 6  # for what an engine may wait for in vain: well over the limit, but not for ever


@canary(Outcome.TIMED_OUT, says=_LIMIT, keeps="in test_hangs_in_python")
def test_hangs_in_python() -> None:
    """Hang in Python."""
    while True:
        pass


@canary(Outcome.TIMED_OUT, says=_LIMIT, keeps="in test_hangs_in_native_code")
def test_hangs_in_native_code() -> None:
    """Hang in native code while holding the GIL."""
    # A mutex that is locked twice: the second call waits for ever, and PyDLL does not release the GIL for it.
    library = ctypes.PyDLL(None)
    mutex = ctypes.create_string_buffer(256)
    while True:
        library.pthread_mutex_lock(mutex)


@canary(Outcome.TIMED_OUT, says=_LIMIT, keeps="in test_ignores_sigterm")
def test_ignores_sigterm() -> None:
    """Ignore SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(60)


@pytest.fixture
def hanging_setup() -> None:
    """Never let the test begin."""
    time.sleep(3600)


@canary(Outcome.TIMED_OUT, says=_LIMIT, keeps="in hanging_setup")
@pytest.mark.usefixtures("hanging_setup")
def test_hangs_in_setup() -> None:
    """Hang while being set up."""


@pytest.fixture
def hanging_teardown() -> Iterator[None]:
    """Never let the test end."""
    yield
    time.sleep(3600)


@canary(Outcome.TIMED_OUT, says=_LIMIT, keeps="in hanging_teardown")
@pytest.mark.usefixtures("hanging_teardown")
def test_hangs_in_teardown() -> None:
    """Hang while being torn down."""


@canary(Outcome.TIMED_OUT, says=_LIMIT, keeps="in test_waits_for_a_child")
def test_waits_for_a_child() -> None:
    """Wait for a child that never ends."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
    note_process(child.pid, "test_waits_for_a_child")
    child.wait()


@canary(Outcome.TIMED_OUT, says=_LIMIT)
def test_becomes_another_program() -> None:
    """Replace the process by a program that goes on."""
    os.execv(sys.executable, [sys.executable, "-S", "-c", f"import time; time.sleep({_LONG_S})"])


@canary(Outcome.TIMED_OUT, says=_LIMIT)
def test_closes_everything_and_hangs() -> None:
    """Close every descriptor, as daemons do, and go on."""
    os.closerange(3, 4096)
    time.sleep(_LONG_S)
