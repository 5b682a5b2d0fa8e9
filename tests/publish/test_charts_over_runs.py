from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.publish.curves import Table, Values, chart, scale
from conformance.publish.heat_map import ROW, heat_map
from tests.publish.reading import page
from tests.publish.test_subjects import SUBJECT

if TYPE_CHECKING:
    from pathlib import Path

EMPTY = Table("", (), ())


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 4, (0, 1, 2, 3, 4)),
        (56.2, 68.8, (55, 60, 65, 70)),
        (60.9, 61.4, (60.8, 61.0, 61.2, 61.4)),
        (0, 22_000, (0, 10_000, 20_000, 30_000)),
        (5, 5, (4, 4.5, 5, 5.5, 6)),
        (0, 0, (0, 0.5, 1)),
    ],
)
def test_a_scale_has_round_numbers_around_the_values(low: float, high: float, ticks: tuple[float, ...]) -> None:
    assert scale(low, high) == ticks


def test_a_curve_goes_through_its_values_from_left_to_right() -> None:
    drawn = chart(
        "x", title="", summary="", names=["1", "2"], series=[Values("v", "native", "round", (0.0, 10.0))], table=EMPTY
    )
    (curve,) = drawn.curves
    assert [(place.x, place.y) for place in curve.places] == [("25.00%", "140.0"), ("75.00%", "14.0")]
    assert len(curve.stretches) == 1
    assert curve.last == "10"
    assert [label.text for label in drawn.runs] == ["1", "2"]


def test_a_gap_in_the_values_is_a_gap_in_the_curve() -> None:
    values = Values("v", "native", "round", (1.0, None, 3.0, 4.0, None))
    (curve,) = chart("x", title="", summary="", names=list("abcde"), series=[values], table=EMPTY).curves
    assert len(curve.places) == 3
    assert len(curve.stretches) == 1
    assert curve.last == "4"


def test_thirty_runs_are_named_here_and_there() -> None:
    names = [str(number) for number in range(1, 31)]
    values = Values("v", "native", "round", tuple(float(number) for number in range(30)))
    labels = chart("x", title="", summary="", names=names, series=[values], table=EMPTY).runs
    assert [label.text for label in labels] == ["1", "7", "13", "18", "24", "30"]


def test_a_heat_map_has_each_pair_once_and_joins_neighbours() -> None:
    native, failing = replace(SUBJECT.overall, status="native"), replace(SUBJECT.overall, status="failing")
    operators = [
        replace(SUBJECT, name="a", group="g", dtypes=("float32", "int64"), by_dtype={"float32": native}),
        replace(SUBJECT, name="b", group="g", dtypes=("float32",), by_dtype={"float32": native}),
        replace(SUBJECT, name="c", group="h", dtypes=("float32",), by_dtype={"float32": failing}),
    ]
    drawn = heat_map(operators, ["float32", "int64"])
    assert drawn is not None
    assert {layer.mark.code: layer.cells for layer in drawn.layers} == {"native": 2, "failing": 1, "untested": 1}
    paths = {layer.mark.code: layer.path for layer in drawn.layers}
    assert paths["native"] == "M0 4h2v6h-2z"
    assert paths["failing"] == "M2 1h1v12h-1z"
    assert paths["untested"].startswith(f"M0 {ROW + 12}h1")
    assert (drawn.columns, drawn.height) == (3, 2 * ROW)
    assert [(band.group, band.x) for band in drawn.bands] == [("g", "0.00%"), ("h", "66.67%")]
    assert drawn.summary == "3 operators in 2 dtypes: 2 native, 1 failing, 1 untested; 3 pairs have a result"


def test_a_status_of_a_newer_database_fills_its_cell() -> None:
    strange = replace(SUBJECT.overall, status="quantum")
    drawn = heat_map([replace(SUBJECT, dtypes=("float32",), by_dtype={"float32": strange})], ["float32"])
    assert drawn is not None
    assert drawn.layers[0].mark.shade == "unknown"
    assert drawn.layers[0].path == f"M0 0h1v{ROW}h-1z"


def test_nothing_has_no_picture() -> None:
    assert heat_map([], ["float32"]) is None
    assert heat_map([SUBJECT], []) is None


def test_a_chart_has_its_figures_beside_it(series_site: Path) -> None:
    for figure in page(series_site / "index.html").all("figure", class_="chart"):
        rows = figure.one("table").one("tbody").all("tr")
        runs = figure.all("text", class_="run")
        assert [row.one("th").text.split()[0] for row in rows] == [label.text for label in reversed(runs)]
        for curve in figure.all("g", class_="curve"):
            assert len(curve.all("title")) == len(rows)
