"""The arithmetic of a burn-down: movements, ages, parts."""

from __future__ import annotations

import itertools
from datetime import date

from conformance.analysis.burndown import (
    Age,
    Movement,
    Part,
    age_of,
    announced,
    evidence_counts,
    movement,
    parts,
    without_reason,
)
from conformance.model.listed import ListedEntry
from conformance.skiplist.observed import Evidence

TODAY = date(2026, 11, 1)


def entry(entry_id: str, added: str = "2026-10-02", reason: str = "because") -> ListedEntry:
    return ListedEntry(entry_id, "fail", "unsupported-op", reason, added=added)


def test_every_test_that_left_the_list_is_resolved_dropped_or_gone() -> None:
    for before, after, planned, passed in itertools.product(
        [set(), {1}, {1, 2, 3}], [set(), {2}, {3, 4}], *[[set(), {1}, {1, 3, 9}]] * 2
    ):
        found = movement(before, after, planned=planned, passed=passed)
        assert found.resolved + found.dropped + found.gone == len(before - after)
        assert len(before) + found.new - (found.resolved + found.dropped + found.gone) == len(after)


def test_a_test_that_left_the_list_is_resolved_only_if_it_passed() -> None:
    found = movement({1, 2, 3, 4}, {1, 5}, planned={2, 3}, passed={2, 4})
    assert found == Movement(new=1, resolved=1, dropped=1, gone=1)


def test_age_is_that_of_the_tests_and_not_of_the_entries() -> None:
    old, new = entry("old", "2025-11-01"), entry("new")
    assert age_of([(old, 1), (new, 5)], TODAY) == Age(30, 365, "old", 0)
    assert age_of([(old, 5), (new, 1)], TODAY) == Age(365, 365, "old", 0)
    assert age_of([(old, 0), (new, 1)], TODAY) == Age(30, 30, "new", 0)


def test_an_entry_without_a_day_is_of_unknown_age() -> None:
    assert age_of([(entry("x", ""), 3)], TODAY) == Age(None, None, "", 3)
    assert age_of([], TODAY) == Age(None, None, "", 0)


def test_a_part_that_is_empty_now_is_still_shown() -> None:
    assert parts({"a": 3, "b": 1}, {"b": 2, "c": 2}) == (Part("b", 1, 2), Part("c", 0, 2), Part("a", 3, 0))


def test_only_a_word_is_a_reason() -> None:
    assert without_reason([(entry("a", reason=" "), 2), (entry("b"), 5), (entry("c", reason=""), 1)]) == 3


def test_every_kind_of_evidence_is_counted() -> None:
    found = evidence_counts([Evidence.PASSES, Evidence.HOLDS, Evidence.PASSES])
    assert found == {Evidence.PASSES: 2, Evidence.IMPROVED: 0, Evidence.HOLDS: 1, Evidence.UNSEEN: 0}


def test_what_was_announced_is_named_with_its_source_and_its_gaps() -> None:
    one = announced("neuron")
    assert one is not None
    assert (one.tests, "press" in one.source, "denominator" in one.caveat) == (22_000, True, True)
    assert announced("cpu") is None
