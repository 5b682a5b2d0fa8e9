"""Canaries that end the process they run in."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from conformance.model.outcome import Outcome
from conformance.suites.canaries import canary, is_armed

pytestmark = pytest.mark.skipif(not is_armed(), reason="a canary: only `conformance selftest` runs it")


@canary(Outcome.CRASHED, says="SIGSEGV", keeps=("Segmentation fault", "in test_segfault"))
def test_segfault() -> None:
    """Die of a segmentation fault."""
    ctypes.string_at(0)


@canary(Outcome.CRASHED, says="SIGSEGV", keeps="in _read_nothing")
def test_segfault_in_a_thread() -> None:
    """Die of a segmentation fault in a thread."""
    thread = threading.Thread(target=_read_nothing)
    thread.start()
    thread.join()


def _read_nothing() -> None:
    ctypes.string_at(0)


@canary(Outcome.CRASHED, says="SIGABRT", keeps=("Aborted", "in test_abort"))
def test_abort() -> None:
    """Abort."""
    os.abort()


@canary(Outcome.CRASHED, says="SIGKILL")
def test_is_killed() -> None:
    """Be killed by SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)


@canary(Outcome.CRASHED, says="SIGTERM")
def test_kills_its_group() -> None:
    """Kill its process group."""
    os.killpg(0, signal.SIGTERM)


@canary(Outcome.CRASHED, says="exited with code 7")
def test_exits() -> None:
    """Exit with code 7."""
    os._exit(7)


@canary(Outcome.CRASHED, says="exited with code 0")
def test_exits_without_an_error() -> None:
    """Exit with code 0."""
    os._exit(0)


@pytest.fixture
def exiting_setup() -> None:
    """Exit before the test."""
    os._exit(8)


@canary(Outcome.CRASHED, says="exited with code 8")
@pytest.mark.usefixtures("exiting_setup")
def test_exits_in_setup() -> None:
    """Exit while being set up."""


@pytest.fixture
def exiting_teardown() -> Iterator[None]:
    """Exit after the test."""
    yield
    os._exit(9)


@canary(Outcome.CRASHED, says="exited with code 9")
@pytest.mark.usefixtures("exiting_teardown")
def test_exits_in_teardown() -> None:
    """Exit while being torn down."""


@canary(Outcome.CRASHED, says="SIGABRT", keeps=("these were the last words", "Aborted"))
def test_aborts_after_last_words() -> None:
    """Print 4 MiB and abort."""
    for _ in range(64):
        sys.stderr.write("x" * 65535 + "\n")
    sys.stderr.write("these were the last words\n")
    sys.stderr.flush()
    os.abort()
