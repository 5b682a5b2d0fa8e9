"""Show how far the self-test is; its failures are meant to be, and are told by its table."""

from __future__ import annotations

import contextlib
from typing import TextIO

from conformance.engine.bridge import Bridge
from conformance.model.identity import Identity
from conformance.model.result import Result
from conformance.model.run import RunInfo


class SelftestReporter(Bridge):
    """Say what is about to run, then count on a terminal."""

    def __init__(self, command: str, stream: TextIO) -> None:
        super().__init__(command)
        self._stream = stream
        self._total = 0
        self._done = 0

    def planned(self, run_id: int, run: RunInfo, total: int) -> None:
        """Print what is about to run, and where."""
        super().planned(run_id, run, total)
        self._total = total
        device = f"EMULATED {run.device}" if run.emulated else run.device
        self._write(f"{total} canaries on {device} ({run.device_name}), torch {run.torch_version}, 2 workers\n")

    def result(self, result: Result, identity: Identity) -> None:  # noqa: ARG002 - the table tells
        """Count one result."""
        self._done += 1
        if self._stream.isatty():
            self._write(f"\r{self._done}/{self._total}")

    def finished(self, lost: int) -> None:
        """End the line."""
        super().finished(lost)
        if self._stream.isatty():
            self._write("\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # a closed or full stderr is no reason not to run
            self._stream.write(text)
            self._stream.flush()
