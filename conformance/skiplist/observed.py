"""Hold what runs observed against what entries expect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from conformance.model.outcome import Outcome
from conformance.skiplist.vocabulary import Expectation

_GOOD = (Outcome.PASSED, Outcome.XPASSED, Outcome.XFAILED)
_FAILED = (Outcome.FAILED, Outcome.ERROR)
# A test that was skipped, by a list or by itself, or that was lost, has not shown what it does.
_UNSEEN = (Outcome.SKIPPED, Outcome.NOT_RUN)


@dataclass(frozen=True, slots=True)
class Observed:
    """What one run saw of one test: the last attempt.

    ``fell_back`` tells whether the operator under test ran on the CPU, None where no probe looked.
    """

    outcome: Outcome
    fell_back: bool | None = None
    message: str = ""
    signature: str = ""

    @property
    def was_seen(self) -> bool:
        """Tell whether the test was run, so that its outcome says something."""
        return self.outcome not in _UNSEEN

    @property
    def passed(self) -> bool:
        """Tell whether it passed, or failed as PyTorch's own mark says: either needs no entry."""
        return self.outcome in _GOOD


class Evidence(str, Enum):
    """What the runs say about an entry and one of its tests."""

    PASSES = "passes"
    IMPROVED = "improved"
    HOLDS = "holds"
    UNSEEN = "unseen"

    def __str__(self) -> str:
        return self.value


def evidence(expect: Expectation, seen: Sequence[Observed]) -> Evidence:
    """Return what the observations of one test, of several runs, say about an expectation.

    ``passes``: in every run that ran the test it did not do what is expected, but pass. ``improved``: it does not do
    what is expected in any of them, and does not always pass either: a crash that is a failure now, a failure that is
    flaky. ``holds``: in one of them it does what is expected, or worse. ``unseen``: none of them ran it, or looked.
    """
    ran = [one for one in seen if one.was_seen]
    if expect is Expectation.FALLBACK:
        return _fallback(ran)
    if not ran:
        return Evidence.UNSEEN
    if all(one.passed for one in ran):
        return Evidence.PASSES
    if all(_is_better(expect, one) for one in ran):
        return Evidence.IMPROVED
    return Evidence.HOLDS


def _fallback(ran: Sequence[Observed]) -> Evidence:
    looked = [one for one in ran if one.fell_back is not None]
    if any(one.fell_back or not one.passed for one in ran):
        return Evidence.HOLDS
    return Evidence.PASSES if looked else Evidence.UNSEEN


def _is_better(expect: Expectation, one: Observed) -> bool:
    if one.passed:
        return True
    match expect:
        case Expectation.SKIP | Expectation.CRASH | Expectation.TIMEOUT:
            return one.outcome in _FAILED or one.outcome is Outcome.FLAKY
        case Expectation.FAIL:
            return one.outcome is Outcome.FLAKY
        case Expectation.FLAKY | Expectation.FALLBACK:
            return False


def expectation_of(one: Observed) -> Expectation | None:
    """Return what an entry for this observation would expect; None where it needs none, or nothing was seen.

    Memory that runs out endangers what else runs on the machine, so such a test is not to be run.
    """
    match one.outcome:
        case Outcome.FAILED | Outcome.ERROR:
            return Expectation.FAIL
        case Outcome.CRASHED:
            return Expectation.CRASH
        case Outcome.TIMED_OUT:
            return Expectation.TIMEOUT
        case Outcome.OUT_OF_MEMORY:
            return Expectation.SKIP
        case Outcome.FLAKY:
            return Expectation.FLAKY
        case _:
            return Expectation.FALLBACK if one.passed and one.fell_back else None


def as_expected(expect: Expectation, one: Observed) -> bool:
    """Tell whether one observation is what the expectation says; a test that was not seen says nothing against it."""
    if not one.was_seen:
        return True
    if expect is Expectation.SKIP:
        return not one.passed
    if expect is Expectation.FLAKY:
        return True  # one run sees one side of it: that it passes, or that it fails in some way
    if expect is Expectation.FALLBACK:
        return one.passed and one.fell_back is not False
    return expectation_of(one) is expect
