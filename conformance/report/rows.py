"""How many rows of a long list a report shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

Item = TypeVar("Item")


def shown(items: Sequence[Item], limit: int | None) -> tuple[Item, ...]:
    """Return the first ``limit`` items, or all of them where a single one would be left out.

    The line that says "1 more" takes the place of the very row that it hides.
    """
    return tuple(items) if limit is None or len(items) <= limit + 1 else tuple(items[:limit])
