from __future__ import annotations

from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.publish.marks import (
    FELL_BACK,
    OUTCOME_ORDER,
    OUTCOME_SUMMARY_ORDER,
    STATUS_ORDER,
    in_order,
    outcome_mark,
    outcome_rank,
    status_mark,
)


def test_every_status_and_outcome_has_a_look_of_its_own() -> None:
    statuses = [status_mark(status) for status in OperatorStatus]
    assert len({mark.letter for mark in statuses}) == len({mark.shade for mark in statuses}) == len(OperatorStatus)
    assert len({outcome_mark(outcome).letter for outcome in Outcome}) == len(Outcome)
    assert set(STATUS_ORDER) == {status.value for status in OperatorStatus}
    assert set(OUTCOME_ORDER) == set(OUTCOME_SUMMARY_ORDER) == {outcome.value for outcome in Outcome}


def test_what_has_no_result_never_looks_like_success() -> None:
    green = {status_mark(OperatorStatus.NATIVE).shade}
    assert {outcome_mark(outcome).shade for outcome in Outcome} & green == green
    for mark in (status_mark("untested"), outcome_mark("not_run"), outcome_mark("skipped"), status_mark("nonsense")):
        assert mark.shade not in green


def test_a_pass_that_fell_back_is_no_plain_pass() -> None:
    assert outcome_mark(Outcome.PASSED, fell_back=True) is FELL_BACK
    assert outcome_mark(Outcome.FAILED, fell_back=True) == outcome_mark(Outcome.FAILED)


def test_what_a_newer_database_says_is_shown_loudly() -> None:
    for mark in (status_mark("quantum"), outcome_mark("quantum")):
        assert mark.shade == "unknown"
        assert mark.word == "unknown: quantum"
        assert "newer" in mark.definition


def test_the_worst_outcomes_come_first() -> None:
    ranked = sorted([*Outcome, "quantum", FELL_BACK.code], key=lambda code: outcome_rank(str(code)))
    assert [str(code) for code in ranked[:3]] == ["quantum", "crashed", "timed_out"]
    assert outcome_rank("not_run") < outcome_rank(FELL_BACK.code) < outcome_rank("passed") < outcome_rank("skipped")


def test_unknown_codes_are_kept_at_the_end() -> None:
    assert in_order(["b", "native", "a", "untested"], STATUS_ORDER) == ("native", "untested", "a", "b")
