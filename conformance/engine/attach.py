"""Attach to pytest's report what the test and the probe observed."""

from __future__ import annotations

import os
from typing import Any

import pytest

from conformance.probes import current_probe
from conformance.suites import account


def begin_test() -> None:
    """Forget what an earlier test of this process left behind."""
    account.ACTIVE.account = None
    current_probe().begin_test()


def fail_for_fallback(report: pytest.TestReport, *, expected: bool) -> None:
    """Turn a pass during which the operator under test ran on the CPU into a failure, unless a skiplist expects it."""
    operator = getattr(report, "conformance", {}).get("fallback", [(), ()])[0]
    if report.passed and operator and not expected and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"the operator under test ran on the CPU: {', '.join(operator)}"


def attach_observations(report: pytest.TestReport) -> None:
    """Give the report of a test's call the attribute ``conformance``: plain lists and texts, which xdist can carry."""
    extra: dict[str, Any] = {}
    counted = account.ACTIVE.account
    if counted is not None:
        samples = counted.frozen()
        extra["samples"] = [samples.ran, samples.passed, samples.first_failure]
        if counted.set_aside:
            extra["set_aside"] = [len(counted.set_aside), counted.set_aside[0]]
    seen = current_probe().end_test()
    if seen is not None:
        extra["fallback"] = [list(seen.operator), list(seen.test)]
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        extra["worker"] = worker
    if extra:
        report.conformance = extra  # type: ignore[attr-defined]
