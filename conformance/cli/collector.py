"""Listen to a collection."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.engine.bridge import Bridge
from conformance.engine.identify import plan_of
from conformance.model.identity import PlannedTest


class Collector(Bridge):
    """Keep what pytest collected and which files it could not."""

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self.tests: list[PlannedTest] = []
        self.broken: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember a file that could not be collected, with the last line of the reason."""
        if report.failed:
            lines = [line for line in report.longreprtext.strip().splitlines() if line.strip()]
            self.broken.append(f"{report.nodeid}: {lines[-1].removeprefix('E').strip() if lines else 'unknown'}")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep the collected tests in pytest's order."""
        self.tests = [plan_of(item) for item in session.items]

    def as_json(self, device: str) -> dict[str, Any]:
        """Return the collection as plain values; ``schema`` is raised when a field changes its meaning."""
        return {
            "schema": 1,
            "device": device,
            "tests": [
                {
                    "test_id": test.identity.test_id,
                    "node_id": test.node_id,
                    "suite": str(test.identity.suite),
                    "template": test.identity.template,
                    "op": test.identity.op,
                    "module": test.identity.module,
                    "dtype": test.identity.dtype,
                }
                for test in self.tests
            ],
            "broken": self.broken,
        }
