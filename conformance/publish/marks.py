"""How an operator status or a test outcome looks: a word and a letter beside every colour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.registration import RegistrationKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Mark:
    """Show one status or outcome without relying on colour.

    ``code`` is the value as stored, ``word`` what a page prints, ``letter`` the one or two characters of a table cell,
    ``shade`` the suffix of the CSS classes ``mark-*`` and ``bar-*``, ``definition`` one sentence.
    """

    code: str
    word: str
    letter: str
    shade: str
    definition: str


_STATUS_LOOK = {
    OperatorStatus.NATIVE: ("N", "native"),
    OperatorStatus.FALLBACK: ("F", "fallback"),
    OperatorStatus.PARTIAL: ("P", "partial"),
    OperatorStatus.FAILING: ("X", "failing"),
    OperatorStatus.CRASHING: ("C", "crashing"),
    OperatorStatus.SKIPPED: ("S", "skipped"),
    OperatorStatus.UNTESTED: ("?", "untested"),
}

# The order in which a test's outcome matters to a reader: the worst first.
_OUTCOME_LOOK = {
    Outcome.CRASHED: ("C", "crashing"),
    Outcome.TIMED_OUT: ("T", "crashing"),
    Outcome.OUT_OF_MEMORY: ("M", "crashing"),
    Outcome.ERROR: ("E", "failing"),
    Outcome.FAILED: ("X", "failing"),
    Outcome.NOT_RUN: ("?", "untested"),
    Outcome.FLAKY: ("fl", "partial"),
    Outcome.XPASSED: ("xp", "partial"),
    Outcome.PASSED: ("\u2713", "native"),
    Outcome.XFAILED: ("xf", "skipped"),
    Outcome.SKIPPED: ("S", "skipped"),
}

STATUS_ORDER: tuple[str, ...] = tuple(status.value for status in _STATUS_LOOK)
OUTCOME_ORDER: tuple[str, ...] = tuple(outcome.value for outcome in _OUTCOME_LOOK)

# Outcomes in the order of a summary: what went well first.
OUTCOME_SUMMARY_ORDER: tuple[str, ...] = tuple(
    outcome.value
    for outcome in (
        Outcome.PASSED,
        Outcome.XPASSED,
        Outcome.FLAKY,
        Outcome.FAILED,
        Outcome.ERROR,
        Outcome.CRASHED,
        Outcome.TIMED_OUT,
        Outcome.OUT_OF_MEMORY,
        Outcome.XFAILED,
        Outcome.SKIPPED,
        Outcome.NOT_RUN,
    )
)

STATUS_MARKS: Mapping[str, Mark] = {
    status.value: Mark(status.value, status.value, *look, status.definition) for status, look in _STATUS_LOOK.items()
}
OUTCOME_MARKS: Mapping[str, Mark] = {
    outcome.value: Mark(outcome.value, outcome.value.replace("_", " "), *look, outcome.definition)
    for outcome, look in _OUTCOME_LOOK.items()
}

FELL_BACK = Mark(
    "passed_on_cpu",
    "passed, fell back",
    "F",
    "fallback",
    "The test passed, but inside the operator-under-test window an overload ran on the CPU.",
)
UNDECLARED = Mark(
    "undeclared", "not declared", "\u00b7", "none", "PyTorch does not declare this dtype for it on this device type."
)
NO_TEST = Mark("no_test", "no such test", "\u00b7", "none", "The plan of this run holds no such test.")
NO_DATA = Mark("no_data", "no data", "\u00b7", "none", "The run has no such test of this architecture.")

_ARCHITECTURE_DEFINITIONS = {
    OperatorStatus.NATIVE: "Every test of the architecture passed, and none saw an overload run on the CPU.",
    OperatorStatus.FALLBACK: "Every test of the architecture passed; in one or more an overload ran on the CPU.",
    OperatorStatus.PARTIAL: (
        "Some tests of the architecture passed; others failed, were skipped, have no result, or passed only after an "
        "attempt that failed."
    ),
    OperatorStatus.FAILING: "Tests of the architecture failed and none passed.",
    OperatorStatus.CRASHING: "A test of the architecture crashed, exceeded its time limit or ran out of memory.",
    OperatorStatus.SKIPPED: "Every test of the architecture with a result was skipped; the reason stands beside it.",
    OperatorStatus.UNTESTED: "No test of the architecture has a result in the run.",
}
ARCHITECTURE_MARKS: Mapping[str, Mark] = {
    status.value: replace(STATUS_MARKS[status.value], definition=text)
    for status, text in _ARCHITECTURE_DEFINITIONS.items()
}

_REGISTRATION_LOOK = {
    RegistrationKind.KERNEL: ("K", "native"),
    RegistrationKind.COMPOSITE: ("C", "skipped"),
    RegistrationKind.FALLBACK: ("F", "fallback"),
    RegistrationKind.MISSING: ("M", "failing"),
}
REGISTRATION_MARKS: Mapping[str, Mark] = {
    kind.value: Mark(kind.value, kind.value, *look, kind.definition) for kind, look in _REGISTRATION_LOOK.items()
}
NOT_RECORDED = Mark(
    "not_recorded", "not recorded", "?", "untested", "This run did not record what the backend has registered for it."
)


def registration_mark(kind: str) -> Mark:
    """Return how a kind of registration looks; an empty one was not recorded, an unknown one is shown loudly."""
    if not kind:
        return NOT_RECORDED
    return REGISTRATION_MARKS.get(kind) or _unknown(kind, "registration")


# The same with the passes that needed the CPU set apart, as pages show them.
TEST_SUMMARY_ORDER: tuple[str, ...] = (OUTCOME_SUMMARY_ORDER[0], FELL_BACK.code, *OUTCOME_SUMMARY_ORDER[1:])


def status_mark(status: str, noun: str = "operator") -> Mark:
    """Return how the status of an operator or module looks; an unknown one is shown loudly as unknown."""
    mark = STATUS_MARKS.get(str(status)) or _unknown(str(status), "status")
    return mark if noun == "operator" else replace(mark, definition=mark.definition.replace("operator", noun))


def architecture_mark(status: str) -> Mark:
    """Return how the status of an architecture looks; an unknown one is shown loudly as unknown."""
    return ARCHITECTURE_MARKS.get(str(status)) or _unknown(str(status), "status")


@lru_cache(maxsize=256)
def outcome_mark(outcome: str, *, fell_back: bool = False) -> Mark:
    """Return how an outcome looks; a pass that needed the CPU never looks like a plain pass."""
    code = str(outcome)
    if code == FELL_BACK.code or (code == Outcome.PASSED.value and fell_back):
        return FELL_BACK
    return OUTCOME_MARKS.get(code) or _unknown(code, "outcome")


def _unknown(code: str, noun: str) -> Mark:
    return Mark(
        code,
        f"unknown: {code}",
        "!?",
        "unknown",
        f"This version of the harness does not know the {noun} '{code}'; build the site with a newer one.",
    )


def outcome_rank(code: str) -> int:
    """Return the place of an outcome among the worst first; unknown ones come before all others."""
    return _RANKS.get(code, -1)


_RANKS = {code: 2 * place for place, code in enumerate(OUTCOME_ORDER)}
_RANKS[FELL_BACK.code] = _RANKS[Outcome.PASSED.value] - 1
_RANKS[NO_TEST.code] = 2 * len(OUTCOME_ORDER)


def in_order(codes: Iterable[str], order: tuple[str, ...]) -> tuple[str, ...]:
    """Return the distinct codes in the given order, unknown ones last and sorted."""
    seen = {str(code) for code in codes}
    return tuple(code for code in order if code in seen) + tuple(sorted(seen - set(order)))
