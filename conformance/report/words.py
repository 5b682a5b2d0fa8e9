"""Numbers, shares, durations and enum members in words, the same in every report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.errors import ConformanceError
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.report.fallbacks import Fallbacks
    from conformance.report.statuses import SubjectStatus

NO_DATA = "no data"
NO_REASON = "(no reason given)"


def outcome_word(outcome: str) -> str:
    """Return an outcome as people read it, such as ``timed out``; an unknown one raises."""
    try:
        return Outcome(outcome).value.replace("_", " ")
    except ValueError:
        raise ConformanceError(
            "unknown-outcome",
            f"the results hold the outcome {str(outcome)!r}, which this harness does not know; "
            "read the database with the harness that wrote it, or a newer one",
        ) from None


def status_word(status: str) -> str:
    """Return an operator status as people read it; an unknown one raises."""
    try:
        return OperatorStatus(status).value
    except ValueError:
        raise ConformanceError(
            "unknown-status",
            f"the results hold the operator status {str(status)!r}, which this harness does not know; "
            "read the database with the harness that wrote it, or a newer one",
        ) from None


def number(value: int) -> str:
    """Return an integer with commas between thousands."""
    return f"{value:,}"


def counted(value: int, noun: str, plural: str = "") -> str:
    """Return a number and its noun, such as ``1 test`` or ``2 tests``."""
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}"


def fallback_sentences(fallbacks: Fallbacks | None, device: str) -> list[str]:
    """Return in how many tests something ran on the CPU; nothing where the CPU itself is under test.

    No fallbacks are not zero, they mean that nobody looked. Tests without an operator under test are counted apart.
    """
    if fallbacks is None:
        return [] if device == "cpu" else [f"Tests in which the operator under test fell back to the CPU: {NO_DATA}."]
    sentences = []
    if fallbacks.subject_tests or not fallbacks.other_tests:
        tests = counted(fallbacks.in_subject, "test")
        sentences.append(f"In {tests} the operator under test fell back to the CPU.")
    if fallbacks.in_others or not sentences:
        tests = counted(fallbacks.in_others, "test")
        sentences.append(f"In {tests} without an operator under test something ran on the CPU.")
    return sentences


def subjects(operators: int, modules: int) -> str:
    """Return what a group of tests is about, such as `` of 2 operators and 1 module``, or nothing."""
    parts = [counted(count, noun) for count, noun in ((operators, "operator"), (modules, "module")) if count]
    return f" of {' and '.join(parts)}" if parts else ""


def denominator(total: int, declared: int, noun: str) -> str:
    """Return what a table of statuses is a part of: the inventory, or else what the tests happen to name."""
    if declared == 0:
        return f"the {counted(total, noun)} that tests name; the run has no inventory"
    if total > declared:
        return f"{counted(total, noun)}: {number(declared)} in the inventory, {number(total - declared)} beyond it"
    return f"{counted(total, noun)} in the inventory"


def narrow_denominator(subjects: Sequence[SubjectStatus], operators: int, modules: int) -> str:
    """Return what a table of single operators and modules is a part of, given the sizes of the inventory."""
    nouns = [subject.noun for subject in subjects]
    inventory = (("operator", operators), ("module", modules))
    shown = [counted(nouns.count(noun), noun) for noun, _ in inventory if noun in nouns]
    declared = [counted(total, noun) for noun, total in inventory if noun in nouns and total]
    whole = f"inventory: {', '.join(declared)}" if declared else "the run has no inventory"
    return f"{' and '.join(shown)} ({whole})"


def untested_dtypes(subject: SubjectStatus) -> list[str]:
    """Return how many dtypes of an operator or module were not tested, if any."""
    return [f"untested: {counted(subject.untested, 'dtype')}"] if subject.untested else []


def share(numerator: int, denominator: int) -> str:
    """Return a percentage with one digit, or ``no data`` where the denominator is zero.

    Rounding never turns "some" into 0.0 % nor "not all" into 100.0 %.
    """
    if denominator == 0:
        return NO_DATA
    if numerator == denominator:
        return "100 %"
    if numerator == 0:
        return "0 %"
    percent = 100 * numerator / denominator
    if percent < 0.1:
        return "<0.1 %"
    if percent > 99.9:
        return ">99.9 %"
    return f"{percent:.1f} %"


def duration(seconds: float) -> str:
    """Return a span of time in its two largest units, such as ``1 h 05 min`` or ``42 s``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02} h"
