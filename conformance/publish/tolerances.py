"""By how much results could differ from the CPU's and pass, on the page of an operator or module."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.publish.dtypes import NO_DTYPE, in_dtype_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.store import ResultRow


@dataclass(frozen=True, slots=True)
class ToleranceLine:
    """A tolerance, and the dtypes whose tests were compared within it, some of them in certain templates only."""

    tolerance: str
    dtypes: str


def tolerance_lines(rows: Iterable[ResultRow]) -> tuple[ToleranceLine, ...]:
    """Return the tolerances in the order of the dtypes; nothing where none is known."""
    used: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        if row.tolerance:
            used[row.dtype or NO_DTYPE][row.tolerance].add(row.template.removeprefix("test_"))
    found: dict[str, list[str]] = defaultdict(list)
    for dtype in in_dtype_order(used):
        for tolerance, templates in sorted(used[dtype].items()):
            found[tolerance].append(dtype if len(used[dtype]) == 1 else f"{dtype} ({', '.join(sorted(templates))})")
    return tuple(ToleranceLine(tolerance, ", ".join(dtypes)) for tolerance, dtypes in found.items())
