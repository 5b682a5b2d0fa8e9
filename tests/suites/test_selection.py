"""Reading a selection, and what it lets in."""

from __future__ import annotations

import pytest

from conformance.errors import UsageError
from conformance.suites.selection import Selection, parse_selection


def test_nothing_selects_everything() -> None:
    selection = parse_selection(ops=None, dtypes=None)
    assert selection == Selection()
    assert selection.describe() == ""
    assert selection.has_template("forward")
    assert selection.has_name("div.floor_rounding", "div_floor_rounding")


def test_patterns_and_spellings() -> None:
    selection = parse_selection(ops="linalg.*, add", dtypes="half,float32", templates="test_forward,out")
    assert selection.ops == ("linalg.*", "add")
    assert selection.dtypes == ("float16", "float32")
    assert selection.has_name("linalg.eigh", "linalg_eigh")
    assert not selection.has_name("addmm", "addmm")
    assert selection.has_template("out")
    assert not selection.has_template("backward")
    assert selection.describe() == "--ops linalg.*,add --dtypes float16,float32 --templates forward,out"


def test_templates_that_compile_are_let_in_only_where_they_are_named() -> None:
    assert not parse_selection(ops=None, dtypes=None).compiles
    assert not parse_selection(ops="add", dtypes="one", templates="forward").compiles
    static = parse_selection(ops=None, dtypes=None, templates="compile")
    assert static.has_template("compile")
    assert not static.has_template("compile_dynamic")
    assert parse_selection(ops=None, dtypes=None, templates="comp*").has_template("compile_dynamic")
    one = parse_selection(ops=None, dtypes=None, tests=["opinfo::TestOperators::test_compile_dynamic_add_float32"])
    assert one.has_template("compile_dynamic")


def test_a_test_id_lets_its_own_operator_in_and_few_others() -> None:
    selection = parse_selection(
        ops=None, dtypes=None, tests=["opinfo::TestOperators::test_out_special_log_ndtr_float32"]
    )
    names = ["special.log_ndtr", "special.ndtr", "add", "log"]
    let_in = [name for name in names if selection.has_name(name, name.replace(".", "_"))]
    assert let_in == ["special.log_ndtr"] or set(let_in) == {"special.log_ndtr", "log"}
    assert selection.has_template("out")
    assert not selection.has_template("forward")


@pytest.mark.parametrize("dtypes", ["float33", "all,float32", "one,all"])
def test_unknown_dtypes_are_refused(dtypes: str) -> None:
    with pytest.raises(UsageError, match="dtypes"):
        parse_selection(ops=None, dtypes=dtypes)


def test_a_pattern_that_fits_nothing_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="near: add, addr"):
        parse_selection(ops="addx", dtypes=None).check_names(["add", "addr", "sin"])
