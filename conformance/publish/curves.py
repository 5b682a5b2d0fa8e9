"""The geometry of charts over runs; templates draw them as SVG while the site is built.

Across, everything is in percent of the plot, so that a chart fills any width without its letters being stretched; up
and down it is in pixels. Each chart carries the table that says the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.publish.wording import number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HEIGHT = 168
_TOP, _BOTTOM = 14, 140
_LABEL_Y = 158
# So many labels of runs fit below the plot on a narrow screen.
_LABELS = 6
# The steps between the lines of a scale, in units of a power of ten.
_STEPS = (1, 2, 5, 10)
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Place:
    """One value in the plot: ``x`` in percent, ``y`` in pixels, ``title`` says it in words."""

    x: str
    y: str
    title: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """A line between two neighbouring values."""

    x1: str
    y1: str
    x2: str
    y2: str


@dataclass(frozen=True, slots=True)
class Curve:
    """One series of values; ``shape`` (``round`` or ``square``) and ``kind`` tell it from the others without colour."""

    name: str
    kind: str
    shape: str
    places: tuple[Place, ...]
    stretches: tuple[Stretch, ...]
    last: str
    last_y: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text at the edge of a plot; ``place`` is ``x`` in percent below it, or ``y`` in pixels beside it."""

    place: str
    text: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class Table:
    """The figures of a chart: a head, and one row a run, the newest first."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of curves over runs; ``summary`` says in one sentence what it shows."""

    id: str
    title: str
    summary: str
    height: int
    scale: tuple[Label, ...]
    runs: tuple[Label, ...]
    curves: tuple[Curve, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Values:
    """What a curve is drawn from: one value for each run, None where the run has none."""

    name: str
    kind: str
    shape: str
    values: tuple[float | None, ...]
    unit: str = ""


def chart(
    id_: str,
    *,
    title: str,
    summary: str,
    names: Sequence[str],
    series: Sequence[Values],
    table: Table,
    from_zero: bool = False,
) -> Chart:
    """Lay out curves over runs; ``names`` has one label a run. The scale spans the values, and zero if asked to."""
    known = [value for each in series for value in each.values if value is not None]
    ticks = scale(min([*known, 0.0] if from_zero else known, default=0.0), max(known, default=1.0))
    low, high = ticks[0], ticks[-1]

    def up(value: float) -> str:
        return f"{_BOTTOM - (value - low) / (high - low) * (_BOTTOM - _TOP):.1f}"

    unit = series[0].unit if series else ""
    return Chart(
        id=id_,
        title=title,
        summary=summary,
        height=HEIGHT,
        scale=tuple(Label(up(tick), f"{_plain(tick)}{unit}", "end") for tick in ticks),
        runs=_labels(names),
        curves=tuple(_curve(each, names, up) for each in series),
        table=table,
    )


def _curve(values: Values, names: Sequence[str], up: Callable[[float], str]) -> Curve:
    count = len(values.values)
    known = [(place, value) for place, value in enumerate(values.values) if value is not None]
    places = tuple(
        Place(_across(place, count), up(value), f"{names[place]}: {_plain(value)}{values.unit} {values.name}")
        for place, value in known
    )
    stretches = tuple(
        Stretch(places[at].x, places[at].y, places[at + 1].x, places[at + 1].y)
        for at in range(len(known) - 1)
        if known[at + 1][0] == known[at][0] + 1
    )
    last = f"{_plain(known[-1][1])}{values.unit}" if known else ""
    return Curve(values.name, values.kind, values.shape, places, stretches, last, places[-1].y if places else "0")


def _across(place: int, count: int) -> str:
    """Return the middle of the run's share of the width."""
    return f"{100 * (2 * place + 1) / (2 * count):.2f}%"


def _labels(names: Sequence[str]) -> tuple[Label, ...]:
    """Name the first and the last run and some between, evenly."""
    count = len(names)
    if count <= _LABELS:
        shown = list(range(count))
    else:
        shown = sorted({round(at * (count - 1) / (_LABELS - 1)) for at in range(_LABELS)})
    return tuple(Label(_across(place, count), names[place]) for place in shown)


def scale(low: float, high: float) -> tuple[float, ...]:
    """Return round numbers, evenly spaced, around values that are 0 or more."""
    if high <= low:
        low, high = max(low - 1, 0.0), high + 1
    rough = (high - low) / _TICKS
    magnitude = 10.0 ** _exponent(rough)
    step = next(step * magnitude for step in _STEPS if step * magnitude >= rough * 0.999)
    first = int(low // step)
    last = int(-(-high // step))
    return tuple(round(step * place, 6) for place in range(first, last + 1))


def _exponent(value: float) -> int:
    exponent = 0
    while value >= 10:
        value /= 10
        exponent += 1
    while value < 1:
        value *= 10
        exponent -= 1
    return exponent


def _plain(value: float) -> str:
    if value == int(value):
        return number(int(value))
    return f"{value:,.1f}" if abs(value * 10 - round(value * 10)) < 1e-6 else f"{value:,.2f}"
