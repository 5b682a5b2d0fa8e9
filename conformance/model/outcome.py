"""What was observed when a test ran."""

from __future__ import annotations

from enum import Enum


class Outcome(str, Enum):
    """The observed end of one attempt at a test."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    FLAKY = "flaky"
    NOT_RUN = "not_run"

    def __str__(self) -> str:
        return self.value

    @property
    def definition(self) -> str:
        """Return one sentence that says when a test has this outcome."""
        return _DEFINITIONS[self]

    @property
    def is_bad(self) -> bool:
        """Tell whether the outcome alone makes a run without expectations fail."""
        return self in _BAD

    @property
    def is_death(self) -> bool:
        """Tell whether the process that ran the test died or had to be killed."""
        return self in (Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY)


_BAD = frozenset(
    {
        Outcome.FAILED,
        Outcome.ERROR,
        Outcome.CRASHED,
        Outcome.TIMED_OUT,
        Outcome.OUT_OF_MEMORY,
        Outcome.NOT_RUN,
    }
)

_DEFINITIONS = {
    Outcome.PASSED: "The test ran to its end and every check held.",
    Outcome.FAILED: "A check in the test, or the operation under test, raised.",
    Outcome.ERROR: "Setting the test up or tearing it down raised.",
    Outcome.SKIPPED: "The test asked not to be run here; the reason is recorded.",
    Outcome.XFAILED: "The test failed as PyTorch's own expected-failure mark says it should.",
    Outcome.XPASSED: "The test passed although PyTorch's own mark says it should fail.",
    Outcome.CRASHED: "The process that ran the test died: a signal, or an exit in the middle of the test.",
    Outcome.TIMED_OUT: "The test exceeded its time limit and its process was killed.",
    Outcome.OUT_OF_MEMORY: "The operating system killed the process for the memory it used.",
    Outcome.FLAKY: "It passed only at a further attempt, after one that failed, crashed or exceeded its time limit.",
    Outcome.NOT_RUN: "The test was planned, but nothing came back for it: a lost test.",
}
