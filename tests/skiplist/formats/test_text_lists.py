"""Text files of node ids: skips, expected failures, --deselect."""

from __future__ import annotations

import pytest

from conformance.errors import UsageError
from conformance.skiplist.formats.node_ids import read_node_id
from conformance.skiplist.matching import compile_skiplist
from tests.skiplist.building import identity
from tests.skiplist.formats.reading import imported, left_out, notes, told


@pytest.mark.parametrize(
    ("node_id", "test", "fields"),
    [
        ("a/test_b.py", "", {"files": ("a/test_b.py",)}),
        ("a/b/", "", {"files": ("a/b/*",)}),
        ("../pytorch/test/nn/test_b.py::TestC", "", {"classes": ("TestC*",), "files": ("nn/test_b.py",)}),
        ("test_b.py::TestCNPU", "", {"classes": ("TestC*",), "files": ("test_b.py",)}),
        ("b.py::test_c", "", {"names": ("test_c*",), "files": ("b.py",)}),
        ("b.py::T::test_c", "", {"names": ("test_c*",), "classes": ("T",), "files": ("b.py",)}),
        ("b.py::TPRIVATEUSE1::test_c_npu_int8", "b.py::T::test_c_int8", {}),
        ("b.py::T::test_c[x::y-[z]]", "b.py::T::test_c[x::y-[z]]", {}),
        ("b.py::test_c[x y]", "b.py::test_c[x y]", {}),
        ("b.py::TNPU::test_c_npu[x]", "b.py::T::test_c[x]", {}),
        ("", None, {}),
        ("test_c", None, {}),
        ("b::test_c", None, {}),
        ("b.py::", "", {"files": ("b.py",)}),
        ("b.py::T::", None, {}),
        ("b.py::T::U::test_c", None, {}),
        ("b.py::test_*", None, {}),
        ("a/::T", None, {}),
    ],
)
def test_the_beginning_of_a_node_id_means_a_test_or_patterns(
    node_id: str, test: str | None, fields: dict[str, tuple[str, ...]]
) -> None:
    found = read_node_id(node_id, "npu")
    if test is None:
        assert found is None
    else:
        assert found is not None
        assert (found[0], dict(found[1].fields)) == (test, fields)


ARRAY_API = """\
# Known problems of the array module.

# copy is not implemented
# https://example.org/issues/3
array_api_tests/test_creation_functions.py::test_asarray_arrays
array_api_tests/test_creation_functions.py::test_arange  # off by one

array_api_tests/test_special_cases.py::test_binary[__add__(x1, x2) -> nan]
not a node id
"""


def test_array_api_files_are_read_with_their_comments() -> None:
    found = imported("array-api", ARRAY_API, source="my-xfails.txt", prefix="np")
    assert [told(one) for one in found.entries] == [
        (
            "np-test_creation_functions",
            "fail",
            "copy is not implemented https://example.org/issues/3",
            "https://example.org/issues/3",
            {"names": ("test_asarray_arrays*",), "files": ("array_api_tests/test_creation_functions.py",)},
            (),
        ),
        (
            "np-test_creation_functions-2",
            "fail",
            "off by one",
            "",
            {"names": ("test_arange*",), "files": ("array_api_tests/test_creation_functions.py",)},
            (),
        ),
        (
            "np-test_special_cases",
            "fail",
            "",
            "",
            {},
            ("array_api_tests/test_special_cases.py::test_binary[__add__(x1, x2) -> nan]",),
        ),
    ]
    assert [(text, line) for text, line, _ in left_out(found)] == [("not a node id", 9)]
    assert notes(found) == {"it names the beginning of a test's name": 2}
    matcher = compile_skiplist(found.entries)
    for name, listed in (("test_arange", True), ("test_arange[x]", True), ("test_range", False)):
        test = identity(f"array_api_tests/test_creation_functions.py::{name}")
        assert (matcher.match(test) is not None) is listed


def test_the_kind_of_an_array_api_file_is_its_name_or_said() -> None:
    assert imported("array-api", "a.py::test_x", source="skips.txt").entries[0].expect == "skip"
    with pytest.raises(UsageError, match="Say --expect skip or fail"):
        imported("array-api", "a.py::test_x", source="list.txt")
    from conformance.skiplist.vocabulary import Expectation

    assert imported("array-api", "a.py::test_x", expect=Expectation.FLAKY).entries[0].expect == "flaky"


DESELECT = """\
# crashes the device
--deselect
test/test_ops.py::TestCommonNPU::test_out_add_npu_float32
--deselect=test_ops.py::TestCommon::test_in
--deselect test_ops.py::TestGone --deselect 'test_nn.py::TestX::test_y[a b]'

test_torch.py::test_z[x y]
-q
--ignore=test_foo.py
"""


def test_deselect_arguments_are_read_however_they_are_written() -> None:
    found = imported("deselect", DESELECT)
    assert [told(one)[1:3] + told(one)[4:] for one in found.entries] == [
        ("skip", "crashes the device", {}, ("test_ops.py::TestCommon::test_out_add_float32",)),
        (
            "skip",
            "crashes the device",
            {"names": ("test_in*",), "classes": ("TestCommon",), "files": ("test_ops.py",)},
            (),
        ),
        ("skip", "crashes the device", {"classes": ("TestGone*",), "files": ("test_ops.py",)}, ()),
        ("skip", "crashes the device", {}, ("test_nn.py::TestX::test_y[a b]",)),
        ("skip", "", {}, ("test_torch.py::test_z[x y]",)),
    ]
    assert [(text, line) for text, line, _ in left_out(found)] == [("-q", 8), ("--ignore=test_foo.py", 9)]
    assert (found.read, found.mapped) == (7, 5)


def test_an_empty_file_is_an_empty_list() -> None:
    assert imported("deselect", "\n# nothing\n").entries == ()
