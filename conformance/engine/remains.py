"""What a dead worker leaves: its exit status, what it wrote last, and whether the kernel killed it for memory."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

_TAIL_BYTES = 8192


def describe(status: int) -> str:
    """Return in words how a process ended whose wait status this is."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return f"{signal.Signals(number).name} (signal {number})"
        except ValueError:
            return f"signal {number}"
    return f"it exited with code {os.waitstatus_to_exitcode(status)} in the middle of the test"


def temporary_file() -> int:
    """Open an unnamed file: nothing is left behind however the run ends."""
    descriptor, name = tempfile.mkstemp(prefix="conformance-worker-")
    os.unlink(name)  # noqa: PTH108
    return descriptor


def last_words(*descriptors: int | None) -> str:
    """Return the end of what was written to these files: the faulthandler stack and the last lines of stderr."""
    parts = []
    for descriptor in dict.fromkeys(descriptors):
        if descriptor is None:
            continue
        size = os.fstat(descriptor).st_size
        start = max(0, size - _TAIL_BYTES)
        text = os.pread(descriptor, _TAIL_BYTES, start).decode("utf-8", errors="replace").strip("\0\n")
        if text:
            parts.append(text)
    return "\n".join(parts)


def oom_kills() -> int:
    """Return how often the kernel has killed a process of this control group, version 2 or 1, for lack of memory."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    root = Path("/sys/fs/cgroup")
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            found = _count_in(root / group.lstrip("/") / "memory.events")
        elif "memory" in controllers.split(","):
            found = _count_in(root / "memory" / group.lstrip("/") / "memory.oom_control")
        else:
            continue
        if found:
            return found
    return 0


def _count_in(file: Path) -> int:
    try:
        for line in file.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    except (OSError, ValueError):
        pass
    return 0
