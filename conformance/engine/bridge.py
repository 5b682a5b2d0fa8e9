"""What the command line hears of a run that pytest carries out for it."""

from __future__ import annotations

import pytest

from conformance.errors import ConformanceError
from conformance.model.identity import Identity
from conformance.model.result import Result
from conformance.model.run import RunInfo


def silence_reporter(config: pytest.Config) -> None:
    """Take pytest's own reporter away, since somebody else speaks; its options stay."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        config.pluginmanager.unregister(reporter)


class Bridge:
    """Passed to ``pytest.main`` as a plugin; the conformance plugin finds it and calls it.

    ``command`` is recorded as the run's command. ``error`` is the error that ended the run, for the exit code.
    """

    def __init__(self, command: str) -> None:
        self.command = command
        self.error: ConformanceError | None = None
        self.run_id: int | None = None
        self.lost = 0

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Let the command line speak alone."""
        silence_reporter(config)

    def planned(self, run_id: int, run: RunInfo, total: int) -> None:  # noqa: ARG002 - for those who listen
        """Hear that the plan is stored and the first test is about to run."""
        self.run_id = run_id

    def resumed(self, run_id: int, left: int, total: int) -> None:
        """Hear that an earlier run is being continued, of which ``left`` tests are still to be run."""

    def result(self, result: Result, identity: Identity) -> None:
        """Hear of one result."""

    def finished(self, lost: int) -> None:
        """Hear that the run is closed; ``lost`` planned tests have no result."""
        self.lost = lost
