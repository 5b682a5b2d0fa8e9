from __future__ import annotations

import pytest

from conformance.publish.charts import Tally, stacked_bar
from conformance.publish.marks import status_mark


def test_the_parts_of_a_bar_fill_it_side_by_side() -> None:
    bar = stacked_bar(
        [Tally(status_mark("native"), 1), Tally(status_mark("failing"), 0), Tally(status_mark("skipped"), 3)]
    )
    assert [(part.x, part.width, part.middle) for part in bar.segments] == [
        ("0.000%", "25.000%", "12.500%"),
        ("25.000%", "75.000%", "62.500%"),
    ]
    assert bar.total == 4
    assert bar.summary == "1 native, 3 skipped"


def test_a_bar_of_nothing_says_so() -> None:
    bar = stacked_bar([Tally(status_mark("native"), 0)])
    assert (bar.total, bar.segments, bar.summary) == (0, (), "no data")


@pytest.mark.parametrize(("count", "letter"), [(39, ""), (40, "N")])
def test_a_letter_is_drawn_only_where_there_is_room(count: int, letter: str) -> None:
    bar = stacked_bar([Tally(status_mark("native"), count), Tally(status_mark("untested"), 1000 - count)])
    assert bar.segments[0].letter == letter
