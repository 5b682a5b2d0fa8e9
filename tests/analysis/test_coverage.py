from __future__ import annotations

from dataclasses import dataclass

import pytest

from conformance.analysis.coverage import Ratio, coverage, coverage_by_dtype, dtype_coverage, outcome_coverage
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome


@dataclass(frozen=True)
class Row:
    status: OperatorStatus
    dtype: str | None = None


ROWS = [
    *[Row(OperatorStatus.NATIVE)] * 3,
    *[Row(OperatorStatus.FALLBACK)] * 2,
    Row(OperatorStatus.FAILING),
    Row(OperatorStatus.SKIPPED),
    *[Row(OperatorStatus.UNTESTED)] * 3,
    Row(OperatorStatus.NATIVE, "float32"),
    Row(OperatorStatus.UNTESTED, "float32"),
    Row(OperatorStatus.CRASHING, "int64"),
]


def test_the_headline_keeps_the_untested_in_the_denominator() -> None:
    found = coverage(ROWS)
    assert (found.total, found.untested) == (10, 3)
    assert found.tested == Ratio(7, 10)
    assert found.native == Ratio(3, 10)
    assert found.working == Ratio(5, 10)
    assert found.working_of_tested == Ratio(5, 7)
    assert found.native_of_tested == Ratio(3, 7)
    assert found.working.percent == 50.0


def test_dtypes_are_counted_apart() -> None:
    assert dtype_coverage(ROWS).total == 3
    assert dtype_coverage(ROWS).native == Ratio(1, 3)
    by_dtype = coverage_by_dtype(ROWS)
    assert list(by_dtype) == ["float32", "int64"]
    assert by_dtype["float32"].tested == Ratio(1, 2)
    assert by_dtype["int64"].by_status[OperatorStatus.CRASHING] == 1


def test_nothing_is_no_data_and_not_zero() -> None:
    empty = coverage([])
    assert list(empty.by_status) == list(OperatorStatus)
    for ratio in (empty.working, empty.native, empty.tested, empty.working_of_tested):
        assert ratio.percent is None
        assert str(ratio) == "no data"
    untested = coverage([Row(OperatorStatus.UNTESTED)])
    assert untested.working.percent == 0.0
    assert untested.working_of_tested.percent is None


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(0, 7), "0.0 % (0 of 7)"),
        (Ratio(7, 7), "100.0 % (7 of 7)"),
        (Ratio(22_499, 22_500), "99.9 % (22,499 of 22,500)"),
        (Ratio(1, 22_500), "0.1 % (1 of 22,500)"),
        (Ratio(1, 3), "33.3 % (1 of 3)"),
        (Ratio(0, 0), "no data"),
    ],
)
def test_a_ratio_rounds_neither_to_all_nor_to_none(ratio: Ratio, text: str) -> None:
    assert str(ratio) == text


def test_outcomes_are_counted_over_the_tests_that_say_something() -> None:
    found = outcome_coverage(
        {Outcome.PASSED: 6, Outcome.XPASSED: 1, Outcome.FAILED: 2, Outcome.SKIPPED: 4, Outcome.NOT_RUN: 2}
    )
    assert found.planned == 15
    assert found.ran == Ratio(9, 15)
    assert found.passed == Ratio(7, 9)
    assert outcome_coverage({}).passed.percent is None
    assert outcome_coverage({Outcome.SKIPPED: 3}).passed.percent is None
