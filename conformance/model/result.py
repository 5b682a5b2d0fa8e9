"""The record of one attempt at one test."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.model.compilation import CompileAccount
from conformance.model.outcome import Outcome


@dataclass(frozen=True, slots=True)
class FallbackAccount:
    """The ATen overloads that ran on the CPU during one test, sorted, such as ``aten::sin.out``.

    ``operator`` holds those inside the operator-under-test window, ``test`` those anywhere in the test (a superset).
    ``inside`` are overloads with a kernel of the device that copied its inputs to the CPU and computed there, in the
    window; it is None where nobody could see that.
    """

    operator: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    inside: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SampleAccount:
    """How many sample inputs a test ran and passed, and the first that failed.

    ``first_failure`` names the sample with its index, shapes and dtypes; it is empty when none failed.
    """

    ran: int = 0
    passed: int = 0
    first_failure: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What was observed for one attempt at one planned test.

    ``duration_s`` is in seconds and covers setup, call and teardown. ``reason`` is why a test was skipped or expected
    to fail; ``message`` the line that says what went wrong; ``details`` the traceback or the dead process's stack;
    ``signature`` the normalised message. ``fallback`` is None where no probe looked: that is not "no fallback".
    ``samples`` is None for tests that do not count samples, ``compilation`` for those that compile nothing.
    ``tolerance`` is the widest by which numbers of the device could differ from the CPU's (``rtol 1.3e-06, atol
    1e-05``), empty where it is not known or none were compared.
    """

    test_id: str
    outcome: Outcome
    duration_s: float = 0.0
    attempt: int = 1
    reason: str = ""
    message: str = ""
    details: str = ""
    signature: str = ""
    samples: SampleAccount | None = None
    fallback: FallbackAccount | None = None
    worker: str = ""
    compilation: CompileAccount | None = None
    tolerance: str = ""
