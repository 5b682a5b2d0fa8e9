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


class clear:  # noqa: N801 - reads as a statement: with clear(config)
    """Turn an error that a user can act on into pytest's one line, and tell the command line about it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ConformanceError):
            bridge = bridge_of(self._config)
            if bridge is not None:
                bridge.error = error
                raise pytest.UsageError from None  # the command line prints it
            raise pytest.UsageError(f"conformance: {error} [{error.slug}]") from None


def bridge_of(config: pytest.Config) -> Bridge | None:
    """Return the command line's ear, if ``conformance run`` started this pytest."""
    for plugin in config.invocation_params.plugins or ():
        if isinstance(plugin, Bridge):
            return plugin
    return None
