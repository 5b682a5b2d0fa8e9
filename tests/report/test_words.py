from __future__ import annotations

import pytest

from conformance.errors import ConformanceError
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.report.words import counted, duration, number, outcome_word, share, status_word


@pytest.mark.parametrize(
    ("numerator", "denominator", "expected"),
    [
        (0, 0, "no data"),
        (0, 5, "0 %"),
        (5, 5, "100 %"),
        (1, 3, "33.3 %"),
        (1, 150_000, "<0.1 %"),
        (149_999, 150_000, ">99.9 %"),
        (999, 1000, "99.9 %"),
        (1, 1000, "0.1 %"),
    ],
)
def test_share_neither_rounds_to_nothing_nor_to_everything(numerator: int, denominator: int, expected: str) -> None:
    assert share(numerator, denominator) == expected


def test_no_share_of_a_part_reads_as_all_or_nothing() -> None:
    total = 5000
    texts = {share(part, total) for part in range(1, total)}
    assert not texts & {"0 %", "0.0 %", "100 %", "100.0 %", "no data"}


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-1, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (3599.6, "1 h 00 min"),
        (7260, "2 h 01 min"),
        (90_000, "1 d 01 h"),
    ],
)
def test_duration(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_numbers_and_nouns() -> None:
    assert number(1234567) == "1,234,567"
    assert counted(1, "test") == "1 test"
    assert counted(0, "test") == "0 tests"
    assert counted(2000, "entry", "entries") == "2,000 entries"


def test_every_outcome_and_status_has_a_word() -> None:
    words = [outcome_word(outcome) for outcome in Outcome]
    assert len(set(words)) == len(words)
    assert outcome_word(Outcome.OUT_OF_MEMORY) == "out of memory"
    assert [status_word(status) for status in OperatorStatus] == [status.value for status in OperatorStatus]


def test_an_unknown_outcome_or_status_is_loud() -> None:
    with pytest.raises(ConformanceError, match="'vanished'") as outcome:
        outcome_word("vanished")
    with pytest.raises(ConformanceError, match="'golden'") as status:
        status_word("golden")
    assert (outcome.value.slug, status.value.slug) == ("unknown-outcome", "unknown-status")
