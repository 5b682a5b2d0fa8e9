"""End the processes that tests left behind, also those in a session of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Let the orphans among this process's descendants become its children (Linux), so that they can be found."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Ask Linux to kill this process when its parent dies; elsewhere a closed channel ends it between tests."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(70)


def children_of(pid: int) -> set[int]:
    """Return the children of a process, of all its threads; none where the system does not tell."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found.update(map(int, (task / "children").read_text(encoding="ascii").split()))
    return found


def has_children() -> bool:
    """Tell whether this process has any child, dead or alive, without reaping one."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def end_children(spare: set[int]) -> None:
    """Kill the children of this process that are not in ``spare``, and theirs, and reap them."""
    me = os.getpid()
    for pid in children_of(me) - spare:
        _kill_tree(pid)
    # Killing a child hands its own children to this process: go on until none is left.
    for _ in range(100):
        left = children_of(me) - spare
        if not left:
            return
        for pid in left:
            _kill_tree(pid)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _kill_tree(pid: int) -> None:
    for child in children_of(pid):
        _kill_tree(child)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
