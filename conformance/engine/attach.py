"""Attach to pytest's report what the test and the probe observed."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from conformance.engine.identify import identity_of
from conformance.engine.outcomes import REPEAT_ADVICE
from conformance.model.identity import Suite
from conformance.probes import current_probe
from conformance.suites import account

# torch/testing/_internal/common_device_type.py and common_modules.py raise it from what the sample raised.
_SAMPLE = re.compile(r"(?:^|\n)Caused by \w+ input at index \d+: ")
_OPINFO = "torch.testing._internal.opinfo.core"


def open_windows(items: Sequence[pytest.Item], device: str) -> None:
    """Let the operator-under-test window open in test files that use PyTorch's tables of operators and modules.

    The built-in suites open theirs by themselves; from the CPU nothing falls back.
    """
    if device == "cpu" or _OPINFO not in sys.modules:
        return
    if any(identity_of(item).suite in (Suite.UPSTREAM, Suite.LOCAL) for item in items):
        from conformance.probes import upstream_window

        upstream_window.install()


def begin_test(item: pytest.Item) -> None:
    """Forget what an earlier test of this process left behind, and begin to look."""
    account.ACTIVE.account = None
    identity = identity_of(item)
    current_probe().begin_test(
        has_subject=bool(identity.op or identity.module), only_windows=identity.suite in (Suite.OPINFO, Suite.MODULES)
    )


def fail_for_fallback(report: pytest.TestReport, *, expected: bool) -> None:
    """Turn a pass during which the operator under test ran on the CPU into a failure, unless a skiplist expects it."""
    operator = getattr(report, "conformance", {}).get("fallback", [()])[0]
    if report.passed and operator and not expected and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"the operator under test ran on the CPU: {', '.join(operator)}"


def name_cause(report: pytest.TestReport, error: BaseException) -> None:
    """Let the message of a failure that PyTorch blames on a sample begin with what the sample raised.

    Up to torch 2.6 the message names nothing but the sample; later ones have the text of the cause, but not its type.
    """
    crash = getattr(report.longrepr, "reprcrash", None)
    cause = error.__cause__
    found = _SAMPLE.search(str(error)) if crash is not None and cause is not None and type(error) is Exception else None
    if crash is not None and cause is not None and found is not None:
        raised = pytest.ExceptionInfo.from_exception(cause).exconly(tryshort=True)
        crash.message = f"{raised.partition(REPEAT_ADVICE)[0].strip()}\n\n{str(error)[found.start() :].strip()}"


def attach_observations(report: pytest.TestReport) -> None:
    """Give the report of a test's call the attribute ``conformance``: plain lists and texts, which xdist can carry."""
    extra: dict[str, Any] = {}
    counted = account.ACTIVE.account
    if counted is not None:
        samples = counted.frozen()
        extra["samples"] = [samples.ran, samples.passed, samples.first_failure]
        if counted.set_aside:
            extra["set_aside"] = [len(counted.set_aside), counted.set_aside[0]]
        if counted.tolerance is not None:
            extra["tolerance"] = list(counted.tolerance)
        if counted.compilation is not None:
            extra["compilation"] = dataclasses.asdict(counted.compilation)
    probe = current_probe()
    seen = probe.end_test()
    if seen is not None:
        inside = probe.computed_inside
        extra["fallback"] = [list(seen.operator), list(seen.test), None if inside is None else list(inside.operator)]
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        extra["worker"] = worker
    if extra:
        report.conformance = extra  # type: ignore[attr-defined]
