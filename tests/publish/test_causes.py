from __future__ import annotations

from dataclasses import replace

from conformance.publish.causes import Blame, FailureKey, ranked_causes
from conformance.publish.findings import OverloadFinding, Subject
from tests.publish.test_subjects import SUBJECT


def _subject(name: str, *overloads: str, noun: str = "operator") -> Subject:
    return replace(SUBJECT, noun=noun, name=name, overall=replace(SUBJECT.overall, overloads=overloads))


def _blame(**failures: tuple[int, set[tuple[str, str]]]) -> Blame:
    blame = Blame.empty()
    for text, (tests, subjects) in failures.items():
        key = FailureKey(text, "failed")
        blame.tests[key] = tests
        blame.failures[key] = subjects
    return blame


def test_what_frees_most_by_itself_comes_first() -> None:
    add, mul, sin = (("operator", name) for name in ("add", "mul", "sin"))
    blame = _blame(many=(100, {add, mul}), few=(3, {sin}), local=(999, set()))
    subjects = [_subject("add", "aten::a"), _subject("mul"), _subject("sin"), _subject("cos", "aten::a", "aten::b")]
    overloads = [OverloadFinding("aten::a", 8, ("add", "cos")), OverloadFinding("aten::b", 9, ("cos",))]
    causes = ranked_causes(blame, overloads, subjects)
    assert [(cause.title, len(cause.alone), len(cause.subjects), cause.tests) for cause in causes] == [
        ("many", 1, 2, 100),  # mul has no other cause; add falls back as well
        ("few", 1, 1, 3),
        ("aten::a", 0, 2, 8),
        ("aten::b", 0, 1, 9),
        ("local", 0, 0, 999),
    ]
    assert causes[0].alone == (mul,)
    assert [cause.kind for cause in causes] == ["failure", "failure", "fallback", "fallback", "failure"]


def test_the_order_does_not_depend_on_that_of_the_failures() -> None:
    named = {("operator", "add"), ("module", "add")}
    one = ranked_causes(_blame(b=(1, named), a=(1, named)), (), ())
    two = ranked_causes(_blame(a=(1, named), b=(1, named)), (), ())
    assert one == two
    assert [cause.title for cause in one] == ["a", "b"]
    assert one[0].subjects == (("module", "add"), ("operator", "add"))
