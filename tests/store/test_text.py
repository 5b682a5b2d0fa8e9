from __future__ import annotations

import sqlite3

import pytest

from conformance.store.schema import NODE_ID
from conformance.store.text import capped, spelling, storable

TEST_ID = "test_ops.py::TestCommon::test_out_add_float32"


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("plain", "plain"),
        ("a\0b", "a\\x00b"),
        ("ü\0", "ü\\x00"),
        ("\ud800!", "\\ud800!"),
        ("emoji 🎉 stays", "emoji 🎉 stays"),
        ("quotes ' \" and\nlines", "quotes ' \" and\nlines"),
    ],
)
def test_storable_escapes_only_what_cannot_be_held(text: str, stored: str) -> None:
    assert storable(text) == stored


def test_capped_says_how_much_was_cut() -> None:
    assert capped("x" * 10, 10) == "x" * 10
    assert capped("x" * 15, 10) == "x" * 10 + "... (5 characters cut)"
    assert capped("\0" * 3, 8) == "\\x00\\x00... (4 characters cut)"


@pytest.mark.parametrize(
    "node_id",
    [
        "test/test_ops.py::TestCommonNEURON::test_out_add_neuron_float32",
        "test/test_ops.py::TestCommonPRIVATEUSE1::test_out_add_neuron_float32",
        "test_ops.py::TestCommon::test_out_add_float32",
        "TestCommon::test_out_add_float32_again",
        "test_out_add_float32",
        "x::test_out_add_float32[a::b]",
        "something else",
        "a::test_out",
        "a::tes",
        "",
        "ü::é",
    ],
)
def test_a_node_id_is_spelt_from_the_test_id_in_sql(node_id: str) -> None:
    head, cut, infix, tail = spelling(TEST_ID, node_id)
    connection = sqlite3.connect(":memory:")
    (spelt,) = connection.execute(
        f"SELECT {NODE_ID} FROM (SELECT ? AS test_id) AS test, (SELECT ? AS head, ? AS cut, ? AS infix, ? AS tail)"
        " AS spelling",
        (TEST_ID, head, cut, infix, tail),
    ).fetchone()
    connection.close()
    assert spelt == node_id


def test_tests_of_a_class_and_dtype_share_a_spelling() -> None:
    spellings = {
        spelling(f"t.py::TestA::test_{op}_float32", f"test/t.py::TestANEURON::test_{op}_neuron_float32")
        for op in ("add", "asin", "nextafter", "neg", "n", "sin_float")
    }
    assert len(spellings) == 1
