"""Draw the status of every operator in every dtype as one picture: a column an operator, a row a dtype."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.model.operator import OperatorStatus
from conformance.publish.dtypes import in_dtype_order
from conformance.publish.marks import STATUS_ORDER, Mark, in_order, status_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.publish.findings import Subject

ROW = 14
# Where a group's columns take up less of the width than this, in percent, its name has no room below them.
_ROOM_FOR_NAME = 7

# The height of a status inside its row, from the top and from the bottom, in pixels: shapes tell statuses apart where
# colours do not. What is bad fills the row, what is untested is a line at its foot.
_SHAPES = {
    OperatorStatus.NATIVE.value: (4, 4),
    OperatorStatus.FALLBACK.value: (2, 7),
    OperatorStatus.PARTIAL.value: (7, 2),
    OperatorStatus.FAILING.value: (1, 1),
    OperatorStatus.CRASHING.value: (0, 0),
    OperatorStatus.SKIPPED.value: (9, 3),
    OperatorStatus.UNTESTED.value: (12, 1),
}
_UNKNOWN_SHAPE = (0, 0)


@dataclass(frozen=True, slots=True)
class Layer:
    """All that has one status: the path that fills its rectangles, in columns across and pixels down.

    ``sample`` is the path of one cell of a row's height and width, for the key.
    """

    mark: Mark
    path: str
    cells: int
    sample: str


@dataclass(frozen=True, slots=True)
class Band:
    """The columns of one group: where they begin, where its name stands, both in percent; no name where no room."""

    group: str
    x: str
    middle: str
    name: str


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The picture: ``columns`` operators wide, ``height`` pixels high; ``rows`` are dtypes with their middles."""

    columns: int
    height: int
    rows: tuple[tuple[str, str], ...]
    layers: tuple[Layer, ...]
    bands: tuple[Band, ...]
    summary: str


def heat_map(operators: Sequence[Subject], dtypes: Sequence[str]) -> HeatMap | None:
    """Lay out the operators by group and name; None where there is nothing to show."""
    dtypes = in_dtype_order(dtypes)
    ordered = sorted(operators, key=lambda operator: (operator.group, operator.name.lower(), operator.name))
    if not ordered or not dtypes:
        return None
    runs: defaultdict[str, list[str]] = defaultdict(list)
    cells: defaultdict[str, int] = defaultdict(int)
    for place, dtype in enumerate(dtypes):
        _add_row(ordered, dtype, place, runs, cells)
    layers = tuple(
        Layer(status_mark(code), "".join(runs[code]), cells[code], _rectangle(code, 0, 0, ROW))
        for code in in_order(runs, STATUS_ORDER)
    )
    tested = sum(layer.cells for layer in layers if layer.mark.code != OperatorStatus.UNTESTED.value)
    return HeatMap(
        columns=len(ordered),
        height=ROW * len(dtypes),
        rows=tuple((dtype, str(ROW * place + ROW // 2)) for place, dtype in enumerate(dtypes)),
        layers=layers,
        bands=_bands(ordered),
        summary=(
            f"{len(ordered):,} operators in {len(dtypes)} dtypes: "
            + ", ".join(f"{layer.cells:,} {layer.mark.word}" for layer in layers)
            + f"; {tested:,} pairs have a result"
        ),
    )


def _add_row(
    ordered: Sequence[Subject],
    dtype: str,
    place: int,
    runs: defaultdict[str, list[str]],
    cells: defaultdict[str, int],
) -> None:
    """Add one dtype's rectangles: neighbours of one status are one."""
    begin, current = 0, ""
    for column, operator in enumerate([*ordered, None]):
        code = "" if operator is None else _code(operator, dtype)
        if code == current and operator is not None:
            continue
        if current:
            runs[current].append(_rectangle(current, begin, place, column - begin))
            cells[current] += column - begin
        begin, current = column, code


def _rectangle(code: str, column: int, place: int, wide: int) -> str:
    top, bottom = _SHAPES.get(code, _UNKNOWN_SHAPE)
    return f"M{column} {ROW * place + top}h{wide}v{ROW - top - bottom}h{-wide}z"


def _code(operator: Subject, dtype: str) -> str:
    standing = operator.by_dtype.get(dtype)
    if standing is not None:
        return standing.status
    return OperatorStatus.UNTESTED.value if dtype in operator.dtypes else ""


def _bands(ordered: Sequence[Subject]) -> tuple[Band, ...]:
    bounds: dict[str, list[int]] = {}
    for column, operator in enumerate(ordered):
        bounds.setdefault(operator.group, [column, column])[1] = column + 1
    bands = []
    for group, (first, end) in bounds.items():
        wide = 100 * (end - first) / len(ordered)
        name = group if wide >= _ROOM_FOR_NAME else ""
        middle = f"{50 * (first + end) / len(ordered):.2f}%"
        bands.append(Band(group, f"{100 * first / len(ordered):.2f}%", middle, name))
    return tuple(bands)
