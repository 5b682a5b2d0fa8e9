"""Draw a burn-down as one SVG that needs nothing else: no font, no script, light and dark."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from conformance.analysis.burndown import Kind
from conformance.report.burndown_page import rate_sentence, title_of
from conformance.report.layout import cut, printable
from conformance.report.words import NO_DATA, counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.analysis.burndown import Announcement, Point
    from conformance.report.burndown import Burndown, Series

WIDTH, HEIGHT = 960, 420
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 84, 56
_STEPS = (1, 2, 5)
_TICKS = 6

# A number that was announced is drawn if it is no more than so many times what was counted.
_APART = 2

# The forecast is drawn for so many times the days that were seen, at most.
_AHEAD = 2

_STYLE = """
svg { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }
.ground { fill: #ffffff; } .text { fill: #1a2128; } .soft { fill: #545f6b; }
.title { font-weight: 600; font-size: 15px; }
.grid { stroke: #d5dbe1; } .axis { stroke: #79848f; }
.runs { stroke: #0b57a8; fill: none; stroke-width: 2; } .dot { fill: #0b57a8; }
.lists { stroke: #b3541e; fill: none; stroke-width: 1.5; } .list-dot { fill: #b3541e; }
.ahead { stroke-dasharray: 5 4; stroke-width: 1.5; } .band { fill: #0b57a8; fill-opacity: 0.12; }
.announced { stroke: #545f6b; fill: none; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
.ground { fill: #12171c; } .text { fill: #e4e9ee; } .soft { fill: #a5b0bb; }
.grid { stroke: #303942; } .axis { stroke: #76828e; }
.runs { stroke: #82b9ff; } .dot { fill: #82b9ff; } .band { fill: #82b9ff; }
.lists { stroke: #ffb07a; } .list-dot { fill: #ffb07a; }
.announced { stroke: #a5b0bb; }
}
"""


@dataclass(frozen=True, slots=True)
class _Scale:
    """What of the plane a day and a count are."""

    first: date
    days: int
    most: int

    def x(self, day: date) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (day - self.first).days / self.days

    def y(self, count: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * count / self.most

    @property
    def last(self) -> date:
        return self.first + timedelta(days=self.days)


def render_svg(found: Burndown) -> str:
    """Return the curve as SVG text; the same burn-down gives the same bytes."""
    series = [one for one in (found.runs, found.lists) if one is not None]
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title about">',
        f'<title id="title">{_text(title_of(found))}</title>',
        f'<desc id="about">{_text(_description(found, series))}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="text title" x="{LEFT}" y="28">{_text(_heading(found))}</text>',
    ]
    if found.main is None:
        lines.append(f'<text class="soft" x="{LEFT}" y="52">{NO_DATA}</text>')
    else:
        lines.append(f'<text class="soft" x="{LEFT}" y="50">{_text(cut(rate_sentence(found.main), 130))}</text>')
        scale = _scale(found, series)
        lines += _axes(scale)
        if found.announced is not None:
            lines += _announced(found.announced, scale)
        lines += _forecast(found.main, scale)
        for one in reversed(series):
            lines += _curve(one, scale)
        lines += _legend(series)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _heading(found: Burndown) -> str:
    """Return the title as far as a picture has room for one."""
    emulated = ", EMULATED" if found.emulated else ""
    if found.main is None:
        return f"{found.device}{emulated}"
    last = found.main.points[-1]
    return f"{found.device}{emulated}: {counted(last.listed, 'test')} on the skiplist, {last.day}"


def _description(found: Burndown, series: Sequence[Series]) -> str:
    """Return what the picture shows, for who does not see it."""
    sentences = [rate_sentence(one) for one in series]
    if found.announced is not None:
        one = found.announced
        sentences.append(f"About {number(one.tests)} were announced by {one.day}; {one.caveat}.")
    return " ".join(sentences) or NO_DATA


def _scale(found: Burndown, series: Sequence[Series]) -> _Scale:
    points = [point for one in series for point in one.points]
    days = [point.day for point in points]
    counts = [point.listed for point in points]
    if found.announced is not None and _is_on_scale(found.announced, counts):
        days.append(found.announced.day)
        counts.append(found.announced.tests)
    first, last = min(days), max(days)
    seen = max(1, (last - first).days)
    assert found.main is not None
    ends = [day for day in (found.main.forecast.zero, found.main.forecast.latest) if day is not None]
    ahead = max([(day - last).days for day in ends], default=0)
    step = _step(max(*counts, 1))
    return _Scale(first, seen + max(1, min(ahead, math.ceil(_AHEAD * seen))), step * math.ceil(max(*counts, 1) / step))


def _step(most: int) -> int:
    """Return a round distance between the lines of a grid of about five."""
    for power in range(12):
        for step in _STEPS:
            if step * 10**power * (_TICKS - 1) >= most:
                return int(step * 10**power)
    return most


def _axes(scale: _Scale) -> Iterator[str]:
    step = _step(scale.most)
    for count in range(0, scale.most + 1, step):
        y = scale.y(count)
        name = "axis" if not count else "grid"
        yield f'<line class="{name}" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
        yield f'<text class="soft" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number(count)}</text>'
    yield f'<text class="soft" x="{LEFT - 8}" y="{TOP - 12}" text-anchor="end">tests</text>'
    for day in _days(scale):
        x = scale.x(day)
        yield f'<line class="axis" x1="{x:.1f}" y1="{HEIGHT - BOTTOM}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM + 5}"/>'
        yield f'<text class="soft" x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{day}</text>'


def _days(scale: _Scale) -> list[date]:
    """Return the days to name: the first of months, or of every few days where it is all about a few weeks."""
    if scale.days <= 75:
        step = max(1, math.ceil(scale.days / _TICKS))
        return [scale.first + timedelta(days=days) for days in range(0, scale.days + 1, step)]
    months = []
    day = date(scale.first.year, scale.first.month, 1)
    while day <= scale.last:
        if day >= scale.first:
            months.append(day)
        day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return months[:: math.ceil(len(months) / (_TICKS + 1)) or 1]


def _curve(series: Series, scale: _Scale) -> Iterator[str]:
    runs = series.kind is Kind.RUN
    places = [(scale.x(point.day), scale.y(point.listed)) for point in series.points]
    path = _line(places) if runs else _stairs(places)
    yield f'<path class="{"runs" if runs else "lists"}" d="{path}"/>'
    for point, (x, y) in zip(series.points, places, strict=True):
        radius, name = ("3", "dot") if runs else ("2", "list-dot")
        yield (
            f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">'
            f"<title>{_text(_about(point))}</title></circle>"
        )


def _about(point: Point) -> str:
    what = "run " if point.kind is Kind.RUN else ""
    about = f", {printable(point.about)}" if point.about else ""
    return f"{point.day}, {what}{point.name}{about}: {number(point.listed)} listed"


def _line(places: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _stairs(places: Sequence[tuple[float, float]]) -> str:
    """Return a path that keeps each height until the next place: between its changes a list stays what it is."""
    path = f"M{places[0][0]:.1f} {places[0][1]:.1f}"
    return path + "".join(f" H{x:.1f} V{y:.1f}" for x, y in places[1:])


def _forecast(series: Series, scale: _Scale) -> Iterator[str]:
    """Draw the way to zero, and between its bounds a band; what lies beyond the picture is cut off at its edge."""
    found = series.forecast
    if found.rate is None or not series.points[-1].listed:
        return
    last = series.points[-1]
    name = "runs" if series.kind is Kind.RUN else "lists"
    start = (scale.x(last.day), scale.y(last.listed))
    ends = [_end(last, per_day, scale) for per_day in (found.rate.low, found.rate.per_day, found.rate.high)]
    (low_x, low_y), middle, (high_x, high_y) = ends
    edge = WIDTH - RIGHT
    corner = [(edge, scale.y(0))] if low_x < edge and high_x >= edge and high_y < scale.y(0) else []
    outline = [start, (low_x, low_y), *corner, (high_x, high_y)]
    yield f'<path class="band" d="{_line(outline)} Z"/>'
    yield f'<path class="{name} ahead" d="{_line([start, middle])}"/>'


def _end(last: Point, per_day: float, scale: _Scale) -> tuple[float, float]:
    """Return where a straight way from the last point leaves the picture, or reaches zero."""
    left = (scale.last - last.day).days
    if per_day < 0:
        left = min(left, math.ceil(last.listed / -per_day))
    count = min(max(last.listed + per_day * left, 0), scale.most)
    return scale.x(last.day + timedelta(days=left)), scale.y(count)


def _is_on_scale(one: Announcement, counts: Sequence[int]) -> bool:
    """Tell whether what was announced can be drawn without pressing the curve flat: it may count other things."""
    return one.tests <= _APART * max(*counts, 1)


def _announced(one: Announcement, scale: _Scale) -> Iterator[str]:
    """Draw what was announced as a mark of another kind, away from the curve: it is no point of it."""
    label = f"announced {one.day}: about {number(one.tests)}; {one.caveat}"
    if one.tests > scale.most:
        label = _text(f"{label} (not drawn)")
        yield f'<text class="soft" x="{WIDTH - RIGHT}" y="{TOP - 12}" text-anchor="end">{label}</text>'
        return
    x, y = scale.x(one.day), scale.y(one.tests)
    yield f'<path class="announced" d="M{x:.1f} {y - 6:.1f} l6 6 l-6 6 l-6 -6 Z"/>'
    yield f'<text class="soft" x="{x + 4:.1f}" y="{y - 12:.1f}">{_text(label)}</text>'


def _legend(series: Sequence[Series]) -> Iterator[str]:
    x = LEFT
    for one in series:
        runs = one.kind is Kind.RUN
        name, words = ("runs", "listed at each run") if runs else ("lists", "at each change of the list")
        yield f'<path class="{name}" d="M{x} {HEIGHT - 18} h24"/>'
        yield f'<text class="text" x="{x + 30}" y="{HEIGHT - 14}">{words}</text>'
        x += 220
    if any(one.forecast.rate for one in series):
        yield f'<text class="soft" x="{x}" y="{HEIGHT - 14}">dashed: at this rate; band: 95 % bounds of the rate</text>'


def _text(text: str) -> str:
    return escape(printable(text))
