"""What lint finds, and what it keeps quiet about."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from conformance.skiplist.conditions import Context
from conformance.skiplist.entry import Place, Problem, Skiplist
from conformance.skiplist.known import Known, known_tests
from conformance.skiplist.lint import Level, Rule, lint
from conformance.skiplist.load import parse_files
from conformance.skiplist.vocabulary import Category, Expectation
from tests.skiplist.building import entry, entry_text, identity, list_text, op_test

if TYPE_CHECKING:
    from conformance.skiplist.entry import Entry

ADD, DET = op_test("add"), op_test("linalg.det", "complex64")
NIGHTLY = known_tests("run 3", [ADD, DET], complete=True, ops=["add", "sub", "linalg.det"], modules=["nn.Linear"])
TODAY = Context(today=date(2026, 11, 1))


def found(*entries: Entry, known: Known | None = None, context: Context = TODAY) -> list[tuple[str, str]]:
    """Return the rules with the entries that they found something about, advice left out."""
    report = lint(Skiplist(entries), context=context, known=known)
    return [(str(f.rule), f.entry_id) for f in report.findings if f.rule.level is not Level.ADVICE]


def advice(*entries: Entry, known: Known | None = None) -> list[tuple[str, str]]:
    report = lint(Skiplist(entries), context=TODAY, known=known)
    return [(str(f.rule), f.entry_id) for f in report.findings if f.rule.level is Level.ADVICE]


def test_a_good_entry_gives_nothing_to_say() -> None:
    good = entry(tests=[ADD.test_id], ops=["linalg.*"], dtypes=["complex*"])
    report = lint(Skiplist((good,), ("a.toml",)), context=TODAY, known=NIGHTLY)
    assert report.findings == ()
    assert report.not_checked == ()
    assert (report.entries, report.tests, report.held_against) == (1, 1, "run 3")


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        ({"reason": " "}, ["no-reason"]),
        ({"reason": "is broken"}, ["short-reason"]),
        ({"link": ""}, ["no-link"]),
        ({"dtypes": ["complex*", "float33"]}, ["unknown-dtype"]),
        ({"dtypes": ["torch.float32"]}, ["unknown-dtype"]),
        ({"expires": date(2026, 10, 31)}, ["expired"]),
        ({"expires": date(2026, 11, 1)}, []),
        ({"guess": True}, ["guess"]),
        ({"expect": Expectation.SKIP, "category": Category.RUNTIME, "message": "x"}, ["unused-message"]),
        ({"tests": ["a.py::T::b", "a.py::T::c", "a.py::T::c"]}, ["listed-twice"]),
        ({"tests": ["a.py::TestPRIVATEUSE1::test_x_privateuse1_float32"]}, ["device-in-name"]),
    ],
)
def test_what_an_entry_says_is_checked_alone(values: dict[str, object], rules: list[str]) -> None:
    one = entry(**({"tests": ["a.py::T::x"]} | values))  # type: ignore[arg-type]
    assert found(one) == [(rule, "one") for rule in rules]


def test_advice_never_makes_a_list_bad() -> None:
    assert advice(entry(tests=["a::b"], expect=Expectation.SKIP)) == [("prefer-fail", "one")]
    assert advice(entry(tests=["a::b"], expect=Expectation.SKIP, category=Category.MEMORY)) == []
    assert advice(entry(tests=["a::b"], category=Category.UNKNOWN)) == [("unknown-cause", "one")]
    assert advice(entry(tests=["a::c", "a::b"])) == [("unsorted", "one")]


def test_a_device_in_a_name_is_told_by_the_folder_of_the_list() -> None:
    text = list_text(entry_text("one", 'tests = [\n"a.py::T::ok",\n"a.py::TestNEURON::test_x_neuron_int8",\n]'))
    skiplist, _ = parse_files([("skiplists/neuron/a.toml", text)])
    (finding,) = lint(skiplist, context=TODAY).findings
    assert (finding.rule, str(finding.place)) == (Rule.DEVICE_IN_NAME, "skiplists/neuron/a.toml:12")
    assert finding.text.endswith("write 'a.py::Test::test_x_int8'")
    elsewhere, _ = parse_files([("lists/a.toml", text)])
    assert lint(elsewhere, context=TODAY).findings == ()


def test_names_are_held_against_a_run() -> None:
    names = entry("names", ops=["linalg.*", "linlag.det"], modules=["nn.Linaer"], tests=[ADD.test_id, "other.py::T::x"])
    gone = entry("gone", tests=["test_ops.py::TestCommon::test_out_gone_int8", "*::TestCommon::gone", "*::Other::x"])
    report = lint(Skiplist((names, gone)), context=TODAY, known=NIGHTLY)
    errors = [(str(f.rule), f.text) for f in report.findings if f.rule.level is Level.ERROR]
    assert errors == [
        ("unknown-op", "no op is called 'linlag.det'; did you mean 'linalg.det'?"),
        ("unknown-module", "no module is called 'nn.Linaer'; did you mean 'nn.Linear'?"),
        ("unknown-test", "run 3 has its file, but not the test 'test_ops.py::TestCommon::test_out_gone_int8'"),
        ("unknown-test", "run 3 has its class, but not the test '*::TestCommon::gone'"),
    ]


def test_patterns_that_match_nothing_are_found_where_the_run_could_have_matched_them() -> None:
    nothing = entry("nothing", ops=["add"], dtypes=["complex*"])
    other_file = entry("other-file", ops=["add"], files=["test_modules.py"], dtypes=["complex*"])
    other_class = entry("other-class", classes=["TestElsewhere"])
    wrong_class = entry("wrong-class", classes=["TestComon"], files=["test_ops.py"])
    assert found(nothing, other_file, other_class, wrong_class, known=NIGHTLY) == [
        ("matches-nothing", "nothing"),
        ("matches-nothing", "wrong-class"),
    ]


def test_a_run_of_a_part_says_nothing_about_what_it_left_out() -> None:
    part = known_tests("run 4", [ADD], complete=False, ops=["add"])
    gone = entry("gone", ops=["ad*"], dtypes=["complex*"], tests=["test_ops.py::TestCommon::gone"])
    report = lint(Skiplist((gone,)), context=TODAY, known=part)
    assert report.findings == ()
    assert report.not_checked == (
        "tests that are gone, patterns that match nothing: run 4 ran a part of its suites",
        "modules: run 4 has none",
    )


def test_what_was_not_checked_is_said() -> None:
    assert lint(Skiplist()).not_checked == (
        "operators, modules, tests and overlaps of patterns: no run was given",
        "expired entries: no day was given",
    )


def test_two_entries_for_one_id_overlap_and_the_finding_names_the_one_that_counts() -> None:
    first, second = entry("first", tests=[ADD.test_id]), entry("second", tests=[ADD.test_id, DET.test_id])
    report = lint(Skiplist((first, second)), context=TODAY)
    (finding,) = [f for f in report.findings if f.rule.level is Level.WARNING]
    assert (finding.rule, finding.entry_id, finding.tests) == (Rule.OVERLAP, "first", 1)
    assert finding.text == f"'second' counts for one test of this entry; the first is '{ADD.test_id}'"


def test_entries_for_different_versions_do_not_overlap_unless_a_run_meets_both() -> None:
    old, new = entry("old", tests=[ADD.test_id], torch="<2.14"), entry("new", tests=[ADD.test_id], torch=">=2.13")
    assert found(old, new) == []
    run = Context(torch_version="2.13.0", today=date(2026, 11, 1))
    assert found(old, new, known=NIGHTLY, context=run) == [("shadowed", "old"), ("overlap", "old")]
    assert found(old, new, known=NIGHTLY, context=Context(torch_version="2.14.0", today=date(2026, 11, 1))) == []


def test_an_exception_to_a_rule_is_advice_and_an_entry_that_never_counts_a_warning() -> None:
    rule = entry("rule", dtypes=["*"])
    exception = entry("exception", tests=[ADD.test_id])
    assert advice(rule, exception, known=NIGHTLY) == [("exception", "rule")]
    assert found(rule, exception, known=NIGHTLY) == []
    both = entry("both", tests=[ADD.test_id, DET.test_id])
    assert found(rule, both, known=NIGHTLY) == [("shadowed", "rule")]
    equal = entry("equal", ops=["*"])
    assert found(rule, equal, known=NIGHTLY) == [("shadowed", "rule"), ("overlap", "rule")]


def test_an_id_for_any_file_meets_one_with_its_file() -> None:
    any_file = entry("any", tests=["*::TestCommon::test_out_add_float32"])
    assert advice(any_file, entry("exact", tests=[ADD.test_id])) == [("exception", "any")]


def test_findings_are_in_the_order_of_rules_and_then_of_places() -> None:
    problems = [Problem(Place("b.toml", 9), "x", "bad"), Problem(Place("a.toml", 3), "", "worse")]
    report = lint(Skiplist((entry("e", tests=["a::b"], reason=""),)), problems, context=TODAY)
    assert [(f.rule, f.place.file) for f in report.findings] == [
        (Rule.FORMAT, "a.toml"),
        (Rule.FORMAT, "b.toml"),
        (Rule.NO_REASON, ""),
    ]
    assert [report.count(level) for level in Level] == [3, 0, 0]


def test_rules_stand_in_the_order_of_their_levels_and_are_defined() -> None:
    levels = [rule.level for rule in Rule]
    assert levels == sorted(levels, key=list(Level).index)
    assert all(rule.definition.endswith(".") for rule in Rule)


def test_the_same_list_gives_the_same_findings_whatever_the_order_of_the_tests() -> None:
    names = [identity(f"f.py::T::test_{number}", op="add") for number in range(5)]
    entries = Skiplist((entry("a", ops=["add"]), entry("b", ops=["a*"])))
    reports = [
        lint(entries, context=TODAY, known=known_tests("run 1", tests, complete=True)) for tests in (names, names[::-1])
    ]
    assert [f.rule for f in reports[0].findings] == [f.rule for f in reports[1].findings]
