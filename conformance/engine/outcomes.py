"""Turn the reports that pytest gives for one test into one outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.analysis.signature import signature
from conformance.model.compilation import CompileAccount
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result, SampleAccount

_UNEXPECTED_SUCCESS = "Unexpected success"
_STRICT_XPASS = "[XPASS(strict)]"
# PyTorch ends its failure texts with advice on re-running; the harness gives its own command.
# The suites' own exception says nothing that its text does not say.
_SAMPLE_FAILURE = "conformance.suites.account.SampleFailure: "
REPEAT_ADVICE = "\nTo execute this test, run the following"


@dataclass(frozen=True, slots=True)
class Observed:
    """An outcome with the texts that explain it."""

    outcome: Outcome
    reason: str = ""
    message: str = ""
    details: str = ""


def observe(reports: Sequence[pytest.TestReport]) -> Observed:
    """Return what the reports of one test, in the order they arrived, say together.

    A report counts as a failure even when a later one passed: a failing ``subTest`` of unittest is followed by the
    passing report of its test. Reports without a phase (``when == "???"``) come from pytest-xdist for a dead worker.
    """
    dead = [report for report in reports if report.when not in ("setup", "call", "teardown")]
    if dead:
        message, details = _texts(dead[0])
        return Observed(Outcome.CRASHED, message=message, details=details)
    setups = [report for report in reports if report.when == "setup"]
    calls = [report for report in reports if report.when == "call"]
    teardowns = [report for report in reports if report.when == "teardown"]
    for report in setups:
        if report.failed:
            return _failed(Outcome.ERROR, report)
        if report.skipped:
            return _skipped(report)
    for report in calls:
        if report.failed:
            text = str(report.longrepr or "")
            if text.startswith((_UNEXPECTED_SUCCESS, _STRICT_XPASS)) and not hasattr(report, "wasxfail"):
                return Observed(Outcome.XPASSED, reason=text.splitlines()[0])
            return _failed(Outcome.FAILED, report)
    for report in teardowns:
        if report.failed:
            return _failed(Outcome.ERROR, report)
    own = [report for report in calls if not _is_subtest(report)]
    if not own:
        return Observed(Outcome.NOT_RUN, message="pytest gave no report for the test's call")
    last = own[-1]
    if last.skipped:
        return _skipped(last)
    if hasattr(last, "wasxfail"):
        return Observed(Outcome.XPASSED, reason=str(last.wasxfail))
    return Observed(Outcome.PASSED)


def result_of(test_id: str, reports: Sequence[pytest.TestReport], *, attempt: int = 1) -> Result:
    """Return the record of one attempt from its reports and from what the worker attached to them."""
    seen = observe(reports)
    extra: dict[str, Any] = {}
    for report in reports:
        extra.update(getattr(report, "conformance", {}))
    death = extra.get("death")
    if death:
        seen = Observed(Outcome(death), message=extra.get("message", ""), details=extra.get("output", ""))
    samples, fallback = extra.get("samples"), extra.get("fallback")
    details = seen.details
    if "set_aside" in extra:
        count, first = extra["set_aside"]
        note = f"{count} samples set aside, for which the CPU gives no answer to compare with; the first: {first}"
        details = f"{details}\n{note}" if details else note
    return Result(
        test_id=test_id,
        outcome=seen.outcome,
        duration_s=sum(report.duration for report in reports if not _is_subtest(report)),
        attempt=attempt,
        reason=seen.reason,
        message=seen.message,
        details=details,
        signature=signature(seen.message) if seen.message else "",
        samples=SampleAccount(ran=samples[0], passed=samples[1], first_failure=samples[2]) if samples else None,
        fallback=_account(fallback) if fallback else None,
        worker=str(extra.get("worker", "")),
        compilation=CompileAccount(**extra["compilation"]) if "compilation" in extra else None,
        tolerance="rtol {:g}, atol {:g}".format(*extra["tolerance"]) if "tolerance" in extra else "",
    )


def _account(sets: Sequence[Sequence[str] | None]) -> FallbackAccount:
    operator, test, *more = sets
    inside = more[0] if more else None
    return FallbackAccount(
        operator=tuple(operator or ()), test=tuple(test or ()), inside=None if inside is None else tuple(inside)
    )


def _is_subtest(report: pytest.TestReport) -> bool:
    return type(report) is not pytest.TestReport and type(report).__name__ == "SubtestReport"


def _failed(outcome: Outcome, report: pytest.TestReport) -> Observed:
    message, details = _texts(report)
    return Observed(outcome, message=message, details=details)


def _skipped(report: pytest.TestReport) -> Observed:
    if hasattr(report, "wasxfail"):
        message, details = _texts(report)
        if message.startswith("_pytest.outcomes.XFailed"):
            message = ""  # pytest's own exception for an expected failure: the reason says more
        return Observed(Outcome.XFAILED, reason=str(report.wasxfail), message=message, details=details)
    longrepr = report.longrepr
    reason = str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr or "")
    return Observed(Outcome.SKIPPED, reason=reason.removeprefix("Skipped: "))


def _texts(report: pytest.TestReport) -> tuple[str, str]:
    """Return the message of a failed report (the exception with its text) and its traceback."""
    longrepr: Any = report.longrepr
    details = getattr(report, "longreprtext", str(longrepr or ""))
    crash = getattr(longrepr, "reprcrash", None)
    message = str(crash.message) if crash is not None else str(longrepr or "")
    message = message.partition(REPEAT_ADVICE)[0].strip()
    return message.removeprefix(_SAMPLE_FAILURE), details
