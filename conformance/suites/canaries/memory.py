"""Canaries that ask for more memory than there is."""

from __future__ import annotations

import mmap
import resource
from pathlib import Path

import pytest

from conformance.model.outcome import Outcome
from conformance.suites.canaries import NOT_TRIED, canary, is_armed

pytestmark = pytest.mark.skipif(not is_armed(), reason="a canary: only `conformance selftest` runs it")

_LARGEST_LIMIT = 4 << 30  # bytes: to fill more would take long and disturb others
_STEP = 16 << 20


@canary(Outcome.FAILED, says="MemoryError")
def test_asks_for_too_much() -> None:
    """Ask for more memory than allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    in_use = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (256 << 20), hard))
    try:
        bytearray(1 << 40)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@canary(Outcome.OUT_OF_MEMORY, says="killed by the operating system", untried=True)
def test_is_killed_for_memory() -> None:
    """Be killed by the kernel for the memory in use."""
    # Only where a small limit of a control group holds the kill inside it, and this process is the first to be chosen.
    limit = _memory_limit()
    if limit is None or limit > _LARGEST_LIMIT:
        pytest.skip(
            f"{NOT_TRIED}needs a control group (v2) with at most {_LARGEST_LIMIT >> 30} GiB: "
            "systemd-run --user --scope -p MemoryMax=2G -p MemorySwapMax=0 conformance selftest"
        )
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    kept = []
    for _ in range(0, limit + (1 << 30), _STEP):
        block = mmap.mmap(-1, _STEP)
        block.write(b"\1" * _STEP)
        kept.append(block)
    raise AssertionError(f"{len(kept) * _STEP >> 20} MiB were given, {limit >> 20} MiB is the limit")


def _memory_limit() -> int | None:
    """Return the limit of this process's own control group, None where there is none that the engine can watch."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
        group = next(line.split("::", 1)[1] for line in lines if "::" in line)
        folder = Path("/sys/fs/cgroup") / group.lstrip("/")
        (folder / "memory.events").read_text(encoding="ascii")
        text = (folder / "memory.max").read_text(encoding="ascii").strip()
    except (OSError, StopIteration):
        return None
    return int(text) if text.isdecimal() else None
