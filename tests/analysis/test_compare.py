"""Comparing two runs over every pair of what they may have seen."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from conformance.analysis.compare import Change, change_of, compare
from conformance.analysis.verdict import Baseline, verdict
from conformance.model.outcome import Outcome

SINE, COSINE = ("aten::sin.out",), ("aten::cos.out",)
SEEN: tuple[Baseline | None, ...] = (None, *itertools.product(Outcome, (None, (), SINE, COSINE)))
PAIRS = [(before, after) for before in SEEN for after in SEEN if before or after]


def test_every_change_occurs() -> None:
    assert {change_of(before, after) for before, after in PAIRS} == set(Change)


def test_nothing_is_unchanged_that_is_missing_in_one_run() -> None:
    for before, after in PAIRS:
        found = change_of(before, after)
        if before is None or after is None:
            assert found in (Change.ADDED, Change.REMOVED)
        elif (before[0] is Outcome.NOT_RUN) != (after[0] is Outcome.NOT_RUN):
            assert found in (Change.LOST, Change.FOUND)


def test_there_and_back_is_the_opposite() -> None:
    opposites = {
        Change.ADDED: {Change.REMOVED},
        Change.LOST: {Change.FOUND},
        Change.NO_LONGER_RUN: {Change.NOW_RUN},
        Change.REGRESSED: {Change.FIXED, Change.IMPROVED},
        Change.VANISHED_FALLBACK: {Change.NEW_FALLBACK},
        Change.UNCHANGED: {Change.UNCHANGED},
    }
    for before, after in PAIRS:
        if change_of(before, after) in opposites:
            assert change_of(after, before) in opposites[change_of(before, after)], (before, after)


def test_what_the_gate_rejects_without_entries_is_worse_here_too() -> None:
    for before, after in PAIRS:
        if before is None or after is None or Outcome.NOT_RUN in (before[0], after[0]):
            continue
        rejected = verdict(after[0], after[1], "", None, before).is_unexpected
        new = before[0] is Outcome.SKIPPED and after[0].is_bad
        if not new:
            assert change_of(before, after).is_worse == rejected, (before, after)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ((Outcome.PASSED, ()), (Outcome.FAILED, ()), "regressed"),
        ((Outcome.FAILED, ()), (Outcome.CRASHED, None), "regressed"),
        ((Outcome.CRASHED, None), (Outcome.FAILED, ()), "improved"),
        ((Outcome.FAILED, ()), (Outcome.PASSED, SINE), "improved"),
        ((Outcome.FAILED, ()), (Outcome.PASSED, ()), "fixed"),
        ((Outcome.FAILED, ()), (Outcome.PASSED, None), "fixed"),
        ((Outcome.PASSED, ()), (Outcome.PASSED, SINE), "new_fallback"),
        ((Outcome.PASSED, SINE), (Outcome.PASSED, ()), "vanished_fallback"),
        ((Outcome.PASSED, SINE), (Outcome.PASSED, None), "unchanged"),
        ((Outcome.PASSED, SINE), (Outcome.XPASSED, COSINE), "new_fallback"),
        ((Outcome.PASSED, ()), (Outcome.XFAILED, ()), "changed"),
        ((Outcome.PASSED, ()), (Outcome.FLAKY, ()), "changed"),
        ((Outcome.FLAKY, ()), (Outcome.FAILED, ()), "regressed"),
        ((Outcome.FAILED, ()), (Outcome.FLAKY, ()), "improved"),
        ((Outcome.CRASHED, None), (Outcome.TIMED_OUT, None), "changed"),
        ((Outcome.PASSED, ()), (Outcome.SKIPPED, ()), "no_longer_run"),
        ((Outcome.NOT_RUN, None), (Outcome.FAILED, ()), "found"),
        ((Outcome.NOT_RUN, None), (Outcome.NOT_RUN, None), "unchanged"),
    ],
)
def test_changes_by_example(before: Baseline, after: Baseline, change: str) -> None:
    assert change_of(before, after).value == change


def test_a_comparison_counts_every_test_of_both_runs_once() -> None:
    before = {f"b{number}": seen for number, seen in enumerate(SEEN) if seen}
    before |= {f"p{number}": pair[0] for number, pair in enumerate(PAIRS) if pair[0]}
    after = {f"p{number}": pair[1] for number, pair in enumerate(PAIRS) if pair[1]}
    found = compare(before, after)
    assert found.tests == len(before.keys() | after.keys())
    changed = Counter(one.change for one in found.changes)
    assert all(changed[change] == found.counts[change] for change in Change if change is not Change.UNCHANGED)
    order = list(Change)
    assert [one.change for one in found.changes] == sorted((one.change for one in found.changes), key=order.index)


def test_passes_that_only_one_run_observed_are_counted() -> None:
    passed = Outcome.PASSED
    before: dict[str, Baseline] = {"a": (passed, ()), "b": (passed, None), "c": (passed, ()), "d": (Outcome.FAILED, ())}
    after: dict[str, Baseline] = {"a": (passed, None), "b": (passed, SINE), "c": (passed, ()), "d": (passed, None)}
    found = compare(before, after)
    assert (found.unobserved, found.counts[Change.UNCHANGED]) == (2, 3)
