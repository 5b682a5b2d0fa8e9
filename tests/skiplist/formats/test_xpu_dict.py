"""torch-xpu-ops' dictionaries: parsed, never executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.errors import UsageError
from tests.skiplist.formats.reading import imported, left_out, notes, told

TEXT = '''
import os
"""A text that stands there."""
TEST_DIR = "../../../../test"

skip_dict = {
    "test_whole_xpu.py": None,
    TEST_DIR + "/nn/test_embedding.py": ("test_a_xpu",),
    "test_ops_xpu.py": (
        "test_first_xpu_bool",
        # AssertionError: Tensor-likes are not close!
        # https://example.org/issues/12
        "test_compare_cpu_log_xpu_complex64",
        "test_compare_cpu_pow_xpu_complex64",
        # not implemented
        "_jiterator_",
        # "test_commented_out_xpu",
        "test_dtypes_x_xpu",  # crash in the driver
    ),
    "sub/test_b_xpu.py": ["test_[odd]"],
    "test_comma.py": ("test_missing_comma"),
    "test_computed.py": tuple(os.listdir("/")),
    "test_part.py": ("test_ok_xpu_int8", os.sep, "", f"test_{TEST_DIR!r}", ":test_colon"),
    f"{TEST_DIR}/test_f.py": (f"_cpu_argmin_xpu_int", "test_xpux"),
    "test_twice.py": ("test_void_xpu",),
    "test_twice.py": ("test_x_xpu",),
    os.sep: ("test_y",),
}
skip_dict["test_later.py"] = ("test_z",)
other = list(skip_dict)
print("never printed")
'''


def test_dictionaries_of_files_are_read_with_their_comments() -> None:
    found = imported("xpu-dict", TEXT, device="xpu", prefix="xpu")
    assert [told(one) for one in found.entries] == [
        ("xpu-test_embedding", "skip", "", "", {"names": ("test_a",), "files": ("nn/test_embedding.py",)}, ()),
        ("xpu-test_ops_xpu", "skip", "", "", {"names": ("test_first_bool",), "files": ("test_ops.py",)}, ()),
        (
            "xpu-test_ops_xpu-2",
            "skip",
            "AssertionError: Tensor-likes are not close! https://example.org/issues/12",
            "https://example.org/issues/12",
            {"names": ("test_compare_cpu_log_complex64", "test_compare_cpu_pow_complex64"), "files": ("test_ops.py",)},
            (),
        ),
        (
            "xpu-test_ops_xpu-3",
            "skip",
            "not implemented",
            "",
            {"names": ("*_jiterator_*",), "files": ("test_ops.py",)},
            (),
        ),
        (
            "xpu-test_ops_xpu-4",
            "skip",
            "crash in the driver",
            "",
            {"names": ("test_dtypes_x",), "files": ("test_ops.py",)},
            (),
        ),
        ("xpu-test_b_xpu", "skip", "", "", {"names": ("*test_[[]odd]*",), "files": ("sub/test_b.py",)}, ()),
        ("xpu-test_part", "skip", "", "", {"names": ("test_ok_int8",), "files": ("test_part.py",)}, ()),
        (
            "xpu-test_f",
            "skip",
            "",
            "",
            {"names": ("*_cpu_argmin_int*", "*_cpu_argmin_xpu_int*", "*test_xpux*"), "files": ("test_f.py",)},
            (),
        ),
        ("xpu-test_twice", "skip", "", "", {"names": ("test_x",), "files": ("test_twice.py",)}, ()),
    ]
    assert [(line, why.partition(",")[0]) for _, line, why in left_out(found)] == [
        (21, "a text in place of a tuple: a comma is missing behind it"),
        (22, "its list is computed"),
        (23, "it is computed or empty"),
        (23, "it is computed or empty"),
        (23, "it is computed or empty"),
        (23, "it has a colon"),
        (25, "the file is named again further down"),
        (27, "its key is computed"),
        (29, "it changes a list while the program runs"),
        (30, "'other' is no dictionary of test files"),
        (31, "it is a statement"),
    ]
    assert notes(found) == {
        "the whole file runs": 1,
        "it is taken for a whole name, though -k would find it with any dtype too": 3,
        "it is a part of names": 4,
    }


def test_nothing_is_executed(tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    code = f'skip_dict = {{"a.py": (open({str(trap)!r}, "w").name,)}}\nopen({str(trap)!r}, "w")\n'
    found = imported("xpu-dict", code, device="xpu")
    assert (found.mapped, len(found.unmapped)) == (0, 2)
    assert not trap.exists()


def test_what_is_no_python_is_refused_in_one_line() -> None:
    for text in ("skip_dict = {", "a = 'x", "\x00"):
        with pytest.raises(UsageError, match="is not valid Python") as caught:
            imported("xpu-dict", text)
        assert "\n" not in str(caught.value)
