"""Leave behind where the process is, so that its parent can tell when it dies or hangs."""

from __future__ import annotations

import mmap
from pathlib import Path

_SIZE = 4096


class Crumb:
    """A small file, mapped into memory: writing to it costs less than a microsecond and outlives the process."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            file.truncate(_SIZE)
            self._memory = mmap.mmap(file.fileno(), _SIZE)
        self._phase = b""

    def enter(self, phase: str) -> None:
        """Begin a phase; no operator is running yet."""
        self._phase = phase.encode("utf-8", "replace")[:200]
        self._write(b"")

    def operator(self, overload: str) -> None:
        """Say that an operator is running; empty when it has ended."""
        self._write(overload.encode("utf-8", "replace")[:1000])

    def _write(self, overload: bytes) -> None:
        text = self._phase + b"\n" + overload + b"\n"
        self._memory[: len(text)] = text


def read_crumb(path: Path) -> tuple[str, str]:
    """Return the phase and the overload that were running, each empty where none was."""
    lines = path.read_bytes().split(b"\n")
    if len(lines) < 3:
        return "", ""
    phase, overload = (line.decode("utf-8", "replace").strip("\0") for line in lines[:2])
    return phase, overload
