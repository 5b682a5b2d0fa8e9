"""PyTorch's test_exclusions."""

from __future__ import annotations

import ast

from conformance.skiplist.entry import Skiplist
from conformance.skiplist.formats import export_list
from conformance.skiplist.formats.exported import Exported
from conformance.skiplist.known import known_tests
from conformance.skiplist.vocabulary import Expectation
from tests.skiplist.building import entry, identity, op_test


def value(exported: Exported) -> object:
    """Return the dictionary, read as Python."""
    (assignment,) = ast.parse(exported.text).body
    assert isinstance(assignment, ast.Assign)
    return ast.literal_eval(assignment.value)


def test_patterns_over_classes_and_templates_can_be_said_without_a_run() -> None:
    exported = export_list(
        "test-exclusions",
        Skiplist(
            (
                entry("methods", classes=["TestA", "TestB"], templates=["test_out", "test_x"]),
                entry("class", classes=["TestSparse"]),
                entry("wild", classes=["Test*"]),
                entry("more", classes=["TestA"], dtypes=["int8"]),
                entry("ids", tests=["a.py::TestA::test_y_int8"]),
                entry("flaky", classes=["TestC"], expect=Expectation.FLAKY),
            )
        ),
        "neuron",
    )
    assert value(exported) == {"TestA": {"test_out", "test_x"}, "TestB": {"test_out", "test_x"}, "TestSparse": "*"}
    assert exported.written == 5
    assert [(one.entry_id, one.text) for one in exported.left_out] == [
        ("wild", "classes Test*"),
        ("more", "dtypes int8; classes TestA"),
        ("ids", "a.py::TestA::test_y_int8"),
        ("flaky", "classes TestC"),
    ]


def test_with_a_run_a_method_goes_only_if_all_its_tests_are_listed() -> None:
    tests = [
        op_test(op, dtype, template)
        for template in ("test_out", "test_in")
        for op in ("add", "sub")
        for dtype in ("int8", "bool")
    ]
    tests.append(identity("opinfo::TestOperators::test_forward_add_int8", op="add", dtype="int8"))
    entries = Skiplist(
        (
            entry("out", templates=["test_out"]),
            entry("some", ops=["add"], dtypes=["int8"]),
            entry("gone", tests=["test_ops.py::TestCommon::test_gone"]),
        )
    )
    exported = export_list("test-exclusions", entries, "neuron", known=known_tests("run 1", tests, complete=True))
    assert value(exported) == {"TestCommon": {"test_out"}}
    assert [(one.entry_id, one.text, one.why) for one in exported.left_out] == [
        ("some", "opinfo::TestOperators::test_forward_add_int8", "it is no method of a class of PyTorch's"),
        (
            "some",
            "test_ops.py::TestCommon::test_in_add_int8",
            "other tests of TestCommon.test_in are not listed, and the method can only go as a whole",
        ),
        ("gone", "test_ops.py::TestCommon::test_gone", "run 1 has no such test"),
    ]


def test_names_are_quoted_as_python_does() -> None:
    exported = export_list("test-exclusions", Skiplist((entry("q", classes=['Te"s\\t']),)), "neuron")
    assert value(exported) == {'Te"s\\t': "*"}
    assert value(export_list("test-exclusions", Skiplist(), "neuron")) == {}
