from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.publish.tolerances import ToleranceLine, tolerance_lines
from conformance.store import Database, results
from tests.publish.reading import page

if TYPE_CHECKING:
    from pathlib import Path


def test_dtypes_of_one_tolerance_share_a_line_and_exceptions_name_their_templates(sample_database: Path) -> None:
    with Database.open_existing(sample_database) as database:
        row = next(row for row in results(database, 1) if row.op)
    rows = [
        replace(row, dtype=dtype, template=f"test_{template}", tolerance=tolerance)
        for dtype, template, tolerance in (
            ("int64", "forward", "rtol 0, atol 0"),
            ("bool", "forward", "rtol 0, atol 0"),
            ("float32", "forward", "rtol 1e-06, atol 0"),
            ("float32", "backward", "rtol 0.001, atol 0"),
            ("float32", "out", "rtol 0.001, atol 0"),
            ("float16", "forward", ""),
        )
    ]
    assert sorted(tolerance_lines(rows), key=lambda line: line.tolerance) == [
        ToleranceLine("rtol 0, atol 0", "int64, bool"),
        ToleranceLine("rtol 0.001, atol 0", "float32 (backward, out)"),
        ToleranceLine("rtol 1e-06, atol 0", "float32 (forward)"),
    ]
    assert tolerance_lines([]) == ()


def test_the_page_of_an_operator_names_the_tolerances(sample_site: Path) -> None:
    text = page(sample_site / "operators" / "sin.html").one("main").text
    assert "Numbers could differ from the CPU's by rtol 1.3e-06, atol 1e-05 in float32" in text
