"""The one word on a model."""

from __future__ import annotations

import pytest

from conformance.readiness.findings import Comparison, OverloadUse, Standing, Trouble, Verdict
from conformance.readiness.verdict import predicted_sentence, predicted_verdict, sentence_of, verdict_of


def uses(*standings: Standing) -> list[OverloadUse]:
    return [OverloadUse(f"aten::op{at}", 1, ("forward",), (), standing) for at, standing in enumerate(standings)]


EQUAL = Comparison("forward", 1, 0.0)
WRONG = Comparison("forward", 1, 2.0, "result differs by up to 2")
TROUBLE = Trouble("forward", "aten::op0", "RuntimeError: no")
NATIVE, FALLBACK, UNSEEN = Standing.NATIVE, Standing.FALLBACK, Standing.UNSEEN


@pytest.mark.parametrize(
    ("standings", "comparisons", "trouble", "too_big", "verdict"),
    [
        ([NATIVE, NATIVE], [EQUAL], None, False, Verdict.NATIVE),
        ([NATIVE, FALLBACK], [EQUAL], None, False, Verdict.FALLBACK),
        ([FALLBACK, UNSEEN], [EQUAL], None, False, Verdict.FALLBACK),
        ([NATIVE, UNSEEN], [EQUAL], None, False, Verdict.UNSEEN),
        ([FALLBACK], [WRONG], None, False, Verdict.WRONG),
        ([NATIVE], [WRONG], TROUBLE, False, Verdict.WRONG),
        ([NATIVE], [EQUAL], TROUBLE, False, Verdict.FAILS),
        ([NATIVE], [], TROUBLE, True, Verdict.TOO_BIG),
        ([], [EQUAL], None, False, Verdict.UNKNOWN),
        ([NATIVE], [Comparison("forward", 0, 0.0)], None, False, Verdict.UNKNOWN),
    ],
)
def test_the_worst_news_is_the_verdict(
    standings: list[Standing],
    comparisons: list[Comparison],
    trouble: Trouble | None,
    too_big: bool,
    verdict: Verdict,
) -> None:
    found = verdict_of(uses(*standings), comparisons=comparisons, trouble=trouble, too_big=too_big)
    assert found is verdict
    assert sentence_of(found, uses(*standings), comparisons=comparisons, trouble=trouble).startswith(str(verdict)[:4])


@pytest.mark.parametrize(
    ("standings", "verdict", "words"),
    [
        ([NATIVE], Verdict.NATIVE, "all 1 overloads were measured"),
        ([NATIVE, FALLBACK], Verdict.FALLBACK, "1 of 2 overloads fell back when measured: aten::op1"),
        ([FALLBACK, Standing.UNMEASURED], Verdict.UNKNOWN, "1 never measured: aten::op1; 1 would fall back: aten::op0"),
        ([NATIVE, Standing.UNCLEAR], Verdict.UNKNOWN, "1 unclear: aten::op1"),
        ([NATIVE, Standing.FAILS, Standing.UNMEASURED], Verdict.FAILS, "fails at aten::op1"),
        ([], Verdict.UNKNOWN, "none is known"),
    ],
)
def test_what_was_never_measured_is_not_predicted(standings: list[Standing], verdict: Verdict, words: str) -> None:
    found = predicted_verdict(uses(*standings))
    assert found is verdict
    assert words in predicted_sentence(found, uses(*standings))


def test_only_what_works_counts_as_running() -> None:
    assert [verdict for verdict in Verdict if verdict.runs] == [Verdict.NATIVE, Verdict.FALLBACK, Verdict.UNSEEN]
    assert all(verdict.definition for verdict in Verdict)
