"""The counts of a list: they add up, and they say what is not known."""

from __future__ import annotations

from datetime import date

from conformance.skiplist.conditions import Context
from conformance.skiplist.entry import Skiplist
from conformance.skiplist.known import known_tests
from conformance.skiplist.stats import By, Count, Stats, stats
from conformance.skiplist.vocabulary import Category, Expectation
from tests.skiplist.building import entry, op_test

TODAY = Context(today=date(2026, 11, 1))
TESTS = [op_test(op, dtype) for op in ("add", "linalg.det") for dtype in ("float32", "complex64")]
LIST = Skiplist(
    (
        entry("rule", ops=["linalg.*"], dtypes=["complex64", "complex128"], owner="math", added=date(2026, 10, 30)),
        entry("ids", tests=[TESTS[0].test_id, "*::TestOld::test_gone_int8"], reason="", added=date(2025, 1, 1)),
        entry("both", tests=["x.py::T::y"], ops=["add"], category=Category.SLOW, added=date(2026, 9, 1)),
        entry("future", tests=["x.py::T::z"], expect=Expectation.SKIP, added=date(2026, 12, 1), torch="<2.0"),
    ),
    ("a.toml",),
)
NIGHTLY = known_tests("run 3", TESTS, complete=True)


def keys(found: Stats, by: By) -> dict[str, tuple[int, int, int, int | None]]:
    return {count.key: (count.entries, count.tests, count.rules, count.planned) for count in found.by[by]}


def test_a_list_is_counted_without_a_run() -> None:
    found = stats(LIST, context=TODAY)
    assert found.whole == Count("", entries=4, tests=4, rules=2, without_reason=2, planned=None)
    assert keys(found, By.CATEGORY) == {"unsupported-op": (3, 3, 1, None), "slow": (1, 1, 1, None)}
    assert keys(found, By.OWNER) == {"(none)": (3, 4, 1, None), "math": (1, 0, 1, None)}
    assert keys(found, By.EXPECT) == {"fail": (3, 3, 2, None), "skip": (1, 1, 0, None)}
    assert keys(found, By.AGE) == {
        "365 days and more": (1, 2, 0, None),
        "30 to 89 days": (1, 1, 1, None),
        "added in the future": (1, 1, 0, None),
        "under 30 days": (1, 0, 1, None),
    }
    assert keys(found, By.OP) == {
        "(not known without a run)": (3, 4, 0, None),
        "add": (1, 0, 1, None),
        "linalg.*": (1, 0, 1, None),
    }
    assert keys(found, By.DTYPE) == {
        "(none)": (2, 2, 0, None),
        "(any)": (1, 0, 1, None),
        "complex64, complex128": (1, 0, 1, None),
        "float32": (1, 1, 0, None),
        "int8": (1, 1, 0, None),
    }
    assert keys(found, By.FILE)["(any)"] == (3, 1, 2, None)
    assert keys(found, By.CLASS)["TestOld"] == (1, 1, 0, None)
    assert found.oldest == date(2025, 1, 1)
    assert (found.source, found.tests_planned) == ("", None)


def test_a_run_tells_operators_and_how_many_of_its_tests_are_listed() -> None:
    found = stats(LIST, context=Context("2.13.0", today=date(2026, 11, 1)), known=NIGHTLY)
    assert found.whole.planned == 3
    assert (found.tests_planned, found.inactive) == (4, 1)
    assert keys(found, By.OP) == {
        "(not in the run)": (3, 3, 0, 0),
        "add": (2, 1, 1, 2),
        "linalg.*": (1, 0, 1, 0),
        "linalg.det": (1, 0, 0, 1),
    }
    assert keys(found, By.CATEGORY) == {"unsupported-op": (3, 3, 1, 2), "slow": (1, 1, 1, 1)}


def test_the_parts_add_up_to_the_whole() -> None:
    for known in (None, NIGHTLY):
        found = stats(LIST, context=TODAY, known=known)
        for by in By:
            counts = found.by[by]
            assert sum(count.tests for count in counts) == found.whole.tests
            assert sum(count.rules for count in counts) == found.whole.rules
            assert sum(count.without_reason for count in counts) == found.whole.without_reason
            assert sum(count.planned or 0 for count in counts) == (found.whole.planned or 0)


def test_an_empty_list_has_no_data_rather_than_zeros_of_something() -> None:
    found = stats(Skiplist(), context=TODAY)
    assert found.whole == Count("", 0, 0, 0, 0, None)
    assert all(counts == () for counts in found.by.values())
    assert found.oldest is None


def test_without_a_day_no_age_is_told() -> None:
    assert list(keys(stats(LIST), By.AGE)) == ["(no day was given)"]
