"""Show a run while it goes on."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TextIO

from conformance.engine.bridge import Bridge
from conformance.model.identity import Identity
from conformance.model.result import Result
from conformance.model.run import RunInfo
from conformance.report.progress import Progress


class RunReporter(Bridge):
    """Stand in for pytest's terminal reporter: a header, the live line, nothing else."""

    def __init__(self, command: str, stream: TextIO, *, database: Path) -> None:
        super().__init__(command)
        self._stream = stream
        self._database = database
        self._progress: Progress | None = None

    def planned(self, run_id: int, run: RunInfo, total: int) -> None:
        """Print what is about to run, and where."""
        super().planned(run_id, run, total)
        device = f"EMULATED {run.device}" if run.emulated else run.device
        suites = f" of {', '.join(run.suites)}" if run.suites else ""
        with contextlib.suppress(OSError):  # a closed or full stderr is no reason not to run
            self._stream.write(
                f"run {run_id}: {total} tests{suites} on {device} ({run.device_name}), torch {run.torch_version}, "
                f"into {self._database}\n"
            )
        self._progress = Progress(total, stream=self._stream, is_terminal=self._stream.isatty())

    def resumed(self, run_id: int, left: int, total: int) -> None:  # noqa: ARG002
        """Say that an earlier run goes on."""
        with contextlib.suppress(OSError):
            self._stream.write(f"resumed: {total - left} of {total} tests have their result, {left} are left\n")

    def result(self, result: Result, identity: Identity) -> None:
        """Count one result."""
        if self._progress is not None:
            fell_back = result.fallback is not None and bool(result.fallback.operator)
            self._progress.add(result.outcome, fell_back, identity.op or identity.module, result.test_id)

    def finished(self, lost: int) -> None:
        """End the live line."""
        super().finished(lost)
        if self._progress is not None:
            self._progress.finish()
