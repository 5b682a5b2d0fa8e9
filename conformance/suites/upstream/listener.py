"""Tell another process what pytest collected: a pytest plugin that is named on the command line.

It writes ``{"tests": int or null, "error": text}`` to the file that the variable names; null where the file of tests
did not import.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

ANSWER = "CONFORMANCE_UPSTREAM_ANSWER"


class _Listener:
    def __init__(self, answer: Path) -> None:
        self._answer = answer
        self._error = ""
        self._failed = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the last line of the first failure, or the reason why a file skips itself as a whole."""
        if report.failed and not self._failed:
            lines = [line for line in report.longreprtext.splitlines() if line.strip()]
            self._error = lines[-1].removeprefix("E").strip() if lines else "unknown"
            self._failed = True
        elif report.skipped and not self._error and isinstance(report.longrepr, tuple):
            self._error = str(report.longrepr[2])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write the answer."""
        told = {"tests": None if self._failed else len(session.items), "error": self._error}
        self._answer.write_text(json.dumps(told), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Listen if somebody waits for the answer."""
    answer = os.environ.get(ANSWER)
    if answer:
        config.pluginmanager.register(_Listener(Path(answer)), "conformance-upstream-listener")
