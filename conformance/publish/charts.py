"""The geometry of stacked bars; templates draw them as SVG while the site is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.publish.wording import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.publish.marks import Mark


# The part of a bar, in percent, that one letter needs on a narrow screen.
_ROOM_FOR_LETTER = 4


@dataclass(frozen=True, slots=True)
class Tally:
    """How many operators, modules or tests carry a mark."""

    mark: Mark
    count: int


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a bar; ``x``, ``width`` and ``middle`` are percentages of the bar, ready for SVG attributes.

    ``letter`` is empty where the part is too narrow for it.
    """

    mark: Mark
    count: int
    x: str
    width: str
    middle: str
    letter: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A stacked bar whose parts add up to ``total``; ``summary`` says the same in words."""

    total: int
    segments: tuple[Segment, ...]
    summary: str


def stacked_bar(tallies: Sequence[Tally]) -> Bar:
    """Lay the tallies side by side, leaving out the empty ones."""
    present = [tally for tally in tallies if tally.count > 0]
    total = sum(tally.count for tally in present)
    segments = []
    before = 0
    for tally in present:
        roomy = 100 * tally.count >= _ROOM_FOR_LETTER * len(tally.mark.letter) * total
        segments.append(
            Segment(
                mark=tally.mark,
                count=tally.count,
                x=_percentage(before, total),
                width=_percentage(tally.count, total),
                middle=_percentage(2 * before + tally.count, 2 * total),
                letter=tally.mark.letter if roomy else "",
            )
        )
        before += tally.count
    summary = ", ".join(f"{number(tally.count)} {tally.mark.word}" for tally in present)
    return Bar(total, tuple(segments), summary or "no data")


def _percentage(part: int, total: int) -> str:
    return f"{100 * part / total:.3f}%"
