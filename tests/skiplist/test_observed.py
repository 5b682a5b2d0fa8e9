"""What runs say about expectations: a table over all combinations."""

from __future__ import annotations

import expecttest
import pytest

from conformance.model.outcome import Outcome
from conformance.skiplist.observed import Evidence, Observed, as_expected, evidence, expectation_of
from conformance.skiplist.vocabulary import Expectation


class TestTable(expecttest.TestCase):
    def test_one_observation_against_every_expectation(self) -> None:
        lines = []
        for outcome in Outcome:
            cells = [
                f"{evidence(expect, [Observed(outcome, fell_back=False)])}"
                + ("" if as_expected(expect, Observed(outcome, fell_back=False)) else "!")
                for expect in Expectation
            ]
            lines.append(f"{outcome:<14}" + " ".join(f"{cell:<10}" for cell in cells).rstrip())
        head = " " * 14 + " ".join(f"{expect:<10}" for expect in Expectation).rstrip()
        self.assertExpectedInline(
            "\n".join([head, *lines]) + "\n",
            """\
              skip       fail       crash      timeout    fallback   flaky
passed        passes!    passes!    passes!    passes!    passes!    passes
failed        improved   holds      improved!  improved!  holds!     holds
error         improved   holds      improved!  improved!  holds!     holds
skipped       unseen     unseen     unseen     unseen     unseen     unseen
xfailed       passes!    passes!    passes!    passes!    passes!    passes
xpassed       passes!    passes!    passes!    passes!    passes!    passes
crashed       holds      holds!     holds      holds!     holds!     holds
timed_out     holds      holds!     holds!     holds      holds!     holds
out_of_memory holds      holds!     holds!     holds!     holds!     holds
flaky         improved   improved!  improved!  improved!  holds!     holds
not_run       unseen     unseen     unseen     unseen     unseen     unseen
""",
        )


def seen(*outcomes: Outcome, fell_back: bool | None = None) -> list[Observed]:
    return [Observed(outcome, fell_back) for outcome in outcomes]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], Evidence.UNSEEN),
        ([Outcome.SKIPPED, Outcome.NOT_RUN], Evidence.UNSEEN),
        ([Outcome.PASSED, Outcome.SKIPPED], Evidence.PASSES),
        ([Outcome.PASSED, Outcome.FAILED], Evidence.HOLDS),
        ([Outcome.PASSED, Outcome.FLAKY], Evidence.IMPROVED),
        ([Outcome.XFAILED, Outcome.XPASSED], Evidence.PASSES),
    ],
)
def test_a_failure_is_over_only_if_no_run_shows_it(outcomes: list[Outcome], expected: Evidence) -> None:
    assert evidence(Expectation.FAIL, seen(*outcomes)) is expected


@pytest.mark.parametrize(
    ("outcome", "fell_back", "expected"),
    [
        (Outcome.PASSED, True, Evidence.HOLDS),
        (Outcome.PASSED, False, Evidence.PASSES),
        (Outcome.PASSED, None, Evidence.UNSEEN),
        (Outcome.FAILED, False, Evidence.HOLDS),
        (Outcome.SKIPPED, False, Evidence.UNSEEN),
    ],
)
def test_a_fallback_is_over_only_where_a_probe_looked(
    outcome: Outcome, fell_back: bool | None, expected: Evidence
) -> None:
    assert evidence(Expectation.FALLBACK, seen(outcome, fell_back=fell_back)) is expected


@pytest.mark.parametrize(
    ("outcome", "fell_back", "expected"),
    [
        (Outcome.FAILED, None, Expectation.FAIL),
        (Outcome.ERROR, None, Expectation.FAIL),
        (Outcome.CRASHED, None, Expectation.CRASH),
        (Outcome.TIMED_OUT, None, Expectation.TIMEOUT),
        (Outcome.OUT_OF_MEMORY, None, Expectation.SKIP),
        (Outcome.FLAKY, None, Expectation.FLAKY),
        (Outcome.PASSED, True, Expectation.FALLBACK),
        (Outcome.PASSED, False, None),
        (Outcome.PASSED, None, None),
        (Outcome.XFAILED, None, None),
        (Outcome.SKIPPED, True, None),
        (Outcome.NOT_RUN, None, None),
    ],
)
def test_what_an_entry_for_an_observation_would_expect(
    outcome: Outcome, fell_back: bool | None, expected: Expectation | None
) -> None:
    one = Observed(outcome, fell_back)
    assert expectation_of(one) is expected
    assert expected is None or as_expected(expected, one)
