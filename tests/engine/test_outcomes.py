"""What a report says, and how it is worded."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.engine.outcomes import observe, result_of
from conformance.model.outcome import Outcome


def _report(when: str, outcome: str, longrepr: Any = None, **more: Any) -> pytest.TestReport:
    return pytest.TestReport("t.py::t", ("t.py", 0, "t"), {}, outcome, longrepr, when, duration=0.5, **more)  # type: ignore[arg-type]


def _passing(**more: Any) -> list[pytest.TestReport]:
    return [_report("setup", "passed"), _report("call", "passed", **more), _report("teardown", "passed")]


def test_a_report_without_a_phase_is_a_crash() -> None:
    seen = observe([_report("???", "failed", "worker 'gw0' crashed while running 't.py::t'")])
    assert seen.outcome is Outcome.CRASHED
    assert "crashed while running" in seen.message


def test_no_report_of_the_call_is_a_lost_test() -> None:
    assert observe([_report("setup", "passed")]).outcome is Outcome.NOT_RUN


def test_the_advice_of_pytorch_and_our_own_exception_are_cut() -> None:
    text = (
        "conformance.suites.account.SampleFailure: ValueError: no\n\n1 of 2 samples passed\n"
        "\nTo execute this test, run the following from the base repo dir:\n    python test.py\n"
    )
    seen = observe([_report("setup", "passed"), _report("call", "failed", text), _report("teardown", "passed")])
    assert seen.message == "ValueError: no\n\n1 of 2 samples passed"


def test_attached_observations_arrive_in_the_result() -> None:
    reports = _passing()
    reports[1].conformance = {  # type: ignore[attr-defined]
        "samples": [3, 2, "sample 1: float32[2]"],
        "tolerance": [1.3e-06, 1e-05],
        "fallback": [["aten::sin.out"], ["aten::add.out", "aten::sin.out"]],
    }
    reports[2].conformance = {"worker": "w1"}  # type: ignore[attr-defined]
    result = result_of("t.py::t", reports)
    assert result.outcome is Outcome.PASSED
    assert result.duration_s == 1.5
    assert result.samples is not None
    assert (result.samples.ran, result.samples.passed, result.samples.first_failure) == (3, 2, "sample 1: float32[2]")
    assert result.fallback is not None
    assert result.fallback.operator == ("aten::sin.out",)
    assert result.worker == "w1"
    assert result.tolerance == "rtol 1.3e-06, atol 1e-05"


def test_no_probe_is_not_no_fallback() -> None:
    assert result_of("t.py::t", _passing()).fallback is None


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY])
def test_a_death_is_what_the_supervisor_says(outcome: Outcome) -> None:
    report = _report("call", "failed", "text")
    report.conformance = {"death": str(outcome), "message": "SIGSEGV", "output": "stack"}  # type: ignore[attr-defined]
    result = result_of("t.py::t", [report])
    assert (result.outcome, result.message, result.details) == (outcome, "SIGSEGV", "stack")
