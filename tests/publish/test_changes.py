from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.analysis.compare import Change, change_of
from conformance.model.outcome import Outcome
from conformance.publish.changed import change_mark, is_better, is_worse
from conformance.publish.changes import CHANGES, bad_since, step
from conformance.publish.marks import status_mark
from conformance.publish.matrix import (
    OutcomeMatrix,
    RunOutcomes,
    Sight,
    TestKey,
    byte_of,
    on_cpu,
    shown_code,
    subject_statuses,
)
from conformance.publish.pages import Link
from conformance.publish.pages_overview import SubjectChange

if TYPE_CHECKING:
    from conformance.publish.matrix import Seen

NONE: frozenset[str] = frozenset()
ON_CPU = frozenset({"aten::sin"})
MORE = ON_CPU | {"aten::cos"}


def _seen(text: str) -> Seen | None:
    """Return what a word such as ``passed``, ``passed+`` (on the CPU) or ``passed?`` (nobody looked) means."""
    if not text:
        return None
    overloads = ON_CPU if text.endswith("+") else None if text.endswith("?") else NONE
    return Outcome(text.rstrip("+?")), overloads


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("passed", "passed", Change.UNCHANGED),
        ("", "", Change.UNCHANGED),
        ("", "failed", Change.ADDED),
        ("passed", "", Change.REMOVED),
        ("passed", "not_run", Change.LOST),
        ("not_run", "passed", Change.FOUND),
        ("not_run", "not_run", Change.UNCHANGED),
        ("passed", "skipped", Change.NO_LONGER_RUN),
        ("skipped", "failed", Change.NOW_RUN),
        ("skipped", "not_run", Change.LOST),
        ("passed", "failed", Change.REGRESSED),
        ("xfailed", "error", Change.REGRESSED),
        ("failed", "crashed", Change.REGRESSED),
        ("passed", "flaky", Change.CHANGED),
        ("flaky", "failed", Change.REGRESSED),
        ("flaky", "passed", Change.CHANGED),
        ("failed", "passed", Change.FIXED),
        ("failed", "passed+", Change.IMPROVED),
        ("crashed", "failed", Change.IMPROVED),
        ("crashed", "flaky", Change.IMPROVED),
        ("crashed", "timed_out", Change.CHANGED),
        ("failed", "error", Change.CHANGED),
        ("passed", "xfailed", Change.CHANGED),
        ("passed", "passed+", Change.NEW_FALLBACK),
        ("passed+", "passed", Change.VANISHED_FALLBACK),
        ("passed?", "passed+", Change.UNCHANGED),
        ("failed+", "failed", Change.UNCHANGED),
    ],
)
def test_what_became_of_a_test(before: str, after: str, change: Change) -> None:
    assert change_of(_seen(before), _seen(after)) is change


def test_other_overloads_on_the_cpu_are_a_change_too() -> None:
    assert change_of((Outcome.PASSED, ON_CPU), (Outcome.PASSED, MORE)) is Change.NEW_FALLBACK
    assert change_of((Outcome.PASSED, MORE), (Outcome.PASSED, ON_CPU)) is Change.VANISHED_FALLBACK
    assert change_of((Outcome.PASSED, frozenset({"aten::a"})), (Outcome.PASSED, ON_CPU)) is Change.NEW_FALLBACK


@pytest.mark.parametrize("before", ["", *(f"{outcome}{sight}" for outcome in Outcome for sight in ("", "+", "?"))])
def test_every_pair_of_outcomes_has_an_answer_and_equal_ones_none(before: str) -> None:
    for after in ["", *(outcome.value for outcome in Outcome)]:
        change = change_of(_seen(before), _seen(after))
        assert (change is Change.UNCHANGED) or change_mark(change).definition == change.definition
    assert change_of(_seen(before), _seen(before)) is Change.UNCHANGED


def _matrix(*rows: str) -> OutcomeMatrix:
    """Return a matrix of runs; a letter stands for a test: p passed, c on the CPU, f failed, a absent."""
    bytes_of = {
        "p": byte_of("passed", Sight.NOT_ON_CPU),
        "c": byte_of("passed", Sight.ON_CPU),
        "f": byte_of("failed", Sight.NOT_ON_CPU),
        "a": 0,
    }
    runs = {}
    for number, row in enumerate(rows, 1):
        fallbacks = {place: 1 for place, letter in enumerate(row) if letter == "c"}
        runs[number] = RunOutcomes(bytes(bytes_of[letter] for letter in row), fallbacks)
    tests = [TestKey(f"t{place:03}", "opinfo", "f", "t", f"op{place}", None, None) for place in range(len(rows[0]))]
    return OutcomeMatrix.of(tests, runs, {1: ON_CPU, 2: MORE})


def test_a_step_finds_every_difference_and_counts_it() -> None:
    wide = "p" * 200
    found = step(_matrix(wide + "fpca", wide + "pfpf"), 1, 2)
    assert [(each.place, each.change) for each in found.changes] == [
        (200, Change.FIXED),
        (201, Change.REGRESSED),
        (202, Change.VANISHED_FALLBACK),
        (203, Change.ADDED),
    ]
    assert found.counts == dict.fromkeys((Change.REGRESSED, Change.ADDED, Change.VANISHED_FALLBACK, Change.FIXED), 1)
    assert list(found.counts) == [change for change in CHANGES if change in found.counts]
    assert found.added_failing == 1


def test_a_step_sees_other_overloads_behind_the_same_outcome() -> None:
    matrix = _matrix("pc", "pc")
    rows = {1: matrix.rows[1], 2: RunOutcomes(matrix.rows[2].codes, {1: 2})}
    found = step(OutcomeMatrix.of(matrix.tests, rows, matrix.sets), 1, 2)
    assert [(each.place, each.change) for each in found.changes] == [(1, Change.NEW_FALLBACK)]


def test_a_failure_is_followed_back_to_where_it_began() -> None:
    matrix = _matrix("ffa", "pff", "fff")
    assert [bad_since(matrix, [1, 2, 3], place) for place in range(3)] == [3, 1, 2]
    assert bad_since(_matrix("f", "p"), [1, 2], 0) is None


def test_a_byte_keeps_outcome_and_sight() -> None:
    assert shown_code(byte_of("passed", Sight.ON_CPU)) == "passed_on_cpu"
    assert shown_code(byte_of("failed", Sight.ON_CPU)) == "failed"
    assert on_cpu(byte_of("failed", Sight.ON_CPU))
    assert not on_cpu(byte_of("passed", Sight.UNSEEN))
    every = [byte_of(outcome.value, sight) for outcome in Outcome for sight in Sight]
    assert len(set(every)) == len(every)
    assert 0 not in every


@pytest.mark.parametrize(
    ("before", "after", "worse", "better"),
    [
        ("native", "fallback", True, False),
        ("crashing", "failing", False, True),
        ("native", "skipped", False, False),
        ("untested", "failing", False, False),
        ("quantum", "native", False, False),
    ],
)
def test_what_has_no_result_is_neither_better_nor_worse(before: str, after: str, worse: bool, better: bool) -> None:
    change = SubjectChange(Link("x", ""), status_mark(before), status_mark(after))
    assert (is_worse(change), is_better(change)) == (worse, better)


def test_tests_that_compile_count_for_no_status_of_the_matrix() -> None:
    tests = [
        TestKey("a", "opinfo", "f", "test_forward", "sin", None, "float32"),
        TestKey("b", "opinfo", "f", "test_compile", "sin", None, "float32"),
        TestKey("c", "opinfo", "f", "test_compile_dynamic", "cos", None, "float32"),
        TestKey("d", "upstream", "f", "test_compile", "tan", None, "float32"),
    ]
    codes = bytes(byte_of(outcome, Sight.NOT_ON_CPU) for outcome in ("passed", "failed", "failed", "failed"))
    matrix = OutcomeMatrix.of(tests, {1: RunOutcomes(codes)}, {})
    assert {name: str(status) for name, status in subject_statuses(matrix, 1, "operator").items()} == {
        "sin": "native",
        "tan": "failing",
    }
