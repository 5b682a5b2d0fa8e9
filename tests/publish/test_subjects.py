from __future__ import annotations

import pytest

from conformance.publish.findings import Standing, Subject
from conformance.publish.subjects import dtype_cell


def _standing(status: str, planned: int) -> Standing:
    return Standing(
        status=status,
        planned=planned,
        passed=planned,
        failed=0,
        skipped=0,
        xfailed=0,
        crashed=0,
        not_run=0,
        flaky=0,
        fallback=0,
        overloads=(),
    )


SUBJECT = Subject(
    noun="operator",
    name="add",
    slug="add",
    dtypes=("float32", "int64", "bool"),
    overall=_standing("native", 4),
    by_dtype={
        "float32": _standing("native", 3),
        "int64": _standing("untested", 0),
        "complex64": _standing("native", 1),
    },
)


@pytest.mark.parametrize(
    ("dtype", "declared", "shade", "title"),
    [
        ("float32", True, "native", "float32: native, 3 of 3 tests passed"),
        ("int64", True, "untested", ""),
        ("bool", True, "untested", ""),
        ("complex64", False, "native", "complex64: native, 1 of 1 test passed"),
        ("float16", False, "none", ""),
    ],
)
def test_a_cell_tells_untested_from_undeclared(dtype: str, declared: bool, shade: str, title: str) -> None:
    cell = dtype_cell(SUBJECT, dtype, declared=declared)
    assert (cell.mark.shade, cell.title) == (shade, title)
