from __future__ import annotations

from collections.abc import Mapping

import pytest

from conformance.publish.listed import STATE_DEFINITIONS, ListedCounts, entry_state, listed_counts, whole_list
from conformance.publish.matrix import RunOutcomes, Sight, byte_of
from conformance.publish.skiplist import state_mark


@pytest.mark.parametrize(
    ("expect", "outcome", "sight", "kind"),
    [
        ("fail", "failed", Sight.NOT_ON_CPU, "holding"),
        ("fail", "passed", Sight.ON_CPU, "passing"),
        ("fail", "skipped", Sight.NOT_ON_CPU, "unseen"),
        ("fail", "not_run", Sight.UNSEEN, "unseen"),
        ("crash", "failed", Sight.NOT_ON_CPU, "improved"),
        ("crash", "xpassed", Sight.NOT_ON_CPU, "passing"),
        ("skip", "passed", Sight.NOT_ON_CPU, "passing"),
        ("fallback", "passed", Sight.ON_CPU, "holding"),
        ("fallback", "passed", Sight.NOT_ON_CPU, "passing"),
        ("fallback", "passed", Sight.UNSEEN, "unseen"),
        ("flaky", "flaky", Sight.NOT_ON_CPU, "holding"),
        ("of a newer harness", "passed", Sight.NOT_ON_CPU, "unseen"),
    ],
)
def test_a_listed_test_counts_by_what_its_entry_expects(expect: str, outcome: str, sight: Sight, kind: str) -> None:
    row = RunOutcomes(bytes([byte_of(outcome, sight)]), entries={0: 7})
    assert listed_counts(row, {7: expect}) == {7: ListedCounts(**{kind: 1})}


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ({}, "no tests"),
        ({"passing": 2}, "stale"),
        ({"passing": 2, "unseen": 1}, "partly stale"),
        ({"improved": 1, "holding": 1}, "improved"),
        ({"holding": 1, "unseen": 9}, "holds"),
        ({"unseen": 1}, "not seen"),
    ],
)
def test_an_entry_is_stale_only_if_all_its_tests_passed(counts: Mapping[str, int], state: str) -> None:
    assert entry_state(ListedCounts(**counts)) == state


def test_every_state_has_a_look_and_only_stale_is_green() -> None:
    marks = {state: state_mark(state) for state in STATE_DEFINITIONS}
    assert [state for state, mark in marks.items() if mark.shade == "native"] == ["stale"]
    assert len({mark.word for mark in marks.values()}) == len(marks)


def test_counts_add_up() -> None:
    whole = whole_list([ListedCounts(1, 2, 3, 4), ListedCounts(10, 20, 30, 40)])
    assert (whole, whole.tests) == (ListedCounts(11, 22, 33, 44), 110)
