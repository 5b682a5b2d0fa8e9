"""Why an entry counts for a test, and why the others do not."""

from __future__ import annotations

from datetime import date

import pytest

from conformance.errors import UsageError
from conformance.skiplist.conditions import Context
from conformance.skiplist.explain import Explanation, explain, read_identity
from tests.skiplist.building import entry, op_test

ADD = op_test("add")


def told(found: Explanation) -> list[str]:
    return [f"{e.standing} {e.entry.id}: {e.by}{'; ' if e.why else ''}{e.why}" for e in found.entries]


def test_all_entries_that_concern_a_test_are_told() -> None:
    entries = [
        entry("later", ops=["a*"]),
        entry("latest", ops=["add"]),
        entry("more", ops=["add"], dtypes=["float*"]),
        entry("id", tests=[ADD.test_id]),
        entry("any", tests=["*::TestCommon::test_out_add_float32"]),
        entry("old", tests=[ADD.test_id], torch="<2"),
        entry("near", ops=["add"], dtypes=["int8", "int16"]),
        entry("far", ops=["sub"], dtypes=["int8"]),
        entry("one-field", ops=["sub"]),
    ]
    found = explain(entries, ADD, context=Context(torch_version="2.13"))
    assert told(found) == [
        "inactive old: tests: test_ops.py::TestCommon::test_out_add_float32; torch = '<2', and this is '2.13'",
        "counts id: tests: test_ops.py::TestCommon::test_out_add_float32",
        "beaten any: tests: *::TestCommon::test_out_add_float32; an id with its file ('id') beats an id",
        "beaten more: match: ops add; dtypes float*; an id with its file ('id') beats patterns",
        "beaten latest: match: ops add; an id with its file ('id') beats patterns",
        "beaten later: match: ops a*; an id with its file ('id') beats patterns",
        "almost near: match: ops add; dtypes int8, int16; the test does not meet dtypes int8, int16",
    ]
    assert found.counts is entries[3]


def test_the_reason_for_being_beaten_is_the_rule_that_decided() -> None:
    fewer = explain([entry("two", ops=["add"], files=["*"]), entry("one", ops=["add"])], ADD)
    assert told(fewer)[1] == "beaten one: match: ops add; 'two' gives 2 fields, this one 1"
    earlier = explain([entry("a", ops=["add"]), entry("b", ops=["add"])], ADD)
    assert told(earlier)[1] == "beaten a: match: ops add; 'b' stands after it"


def test_nothing_counts_where_nothing_matches() -> None:
    found = explain([entry("x", ops=["sub"])], ADD)
    assert found.counts is None
    assert found.entries == ()


def test_what_is_not_known_is_not_guessed() -> None:
    test, unknown = read_identity(ADD.test_id)
    assert unknown == ("ops", "modules", "dtypes", "templates")
    entries = [
        entry("by-op", ops=["add"], files=["test_ops.py"]),
        entry("elsewhere", ops=["add"], files=["test_modules.py"]),
        entry("by-file", files=["test_ops.py"]),
        entry("id", tests=[ADD.test_id], ops=["add"]),
    ]
    found = explain(entries, test, unknown=unknown)
    assert [(str(e.standing), e.entry.id) for e in found.entries] == [
        ("counts", "id"),
        ("beaten", "by-file"),
        ("undecided", "by-op"),
    ]
    assert found.entries[2].why == "not known here: ops"
    test, unknown = read_identity(ADD.test_id, op="add", dtype="float32")
    assert unknown == ("templates",)
    assert explain(entries[:1], test, unknown=unknown).counts is entries[0]


def test_an_expired_entry_is_told_as_inactive() -> None:
    found = explain(
        [entry("x", tests=[ADD.test_id], expires=date(2026, 1, 1), added=date(2025, 1, 1))],
        ADD,
        context=Context(today=date(2026, 1, 2)),
    )
    assert told(found) == [f"inactive x: tests: {ADD.test_id}; it expired on 2026-01-01"]


def test_ids_are_read_with_their_parameters_and_without_a_class() -> None:
    test, _ = read_identity("a/b.py::T::test_x[p::q]")
    assert (test.file, test.class_name, test.name, test.test_id) == (
        "a/b.py",
        "T",
        "test_x[p::q]",
        "a/b.py::T::test_x[p::q]",
    )
    test, _ = read_identity("b.py::test_x")
    assert (test.file, test.class_name, test.name) == ("b.py", "", "test_x")
    for bad in ("", "test_x", "::test_x", "a::"):
        with pytest.raises(UsageError, match="is no test id"):
            read_identity(bad)
