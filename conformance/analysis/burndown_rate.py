"""How fast a count falls, and when it reaches zero, with bounds that do not promise more than the points say.

The count is taken for a walk with a drift: from point to point it moves by the rate times the days, and by chance, the
more the longer the step. A straight line through the points would take their errors for independent, which those of a
running count are not, and would promise far too narrow bounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum

CONFIDENCE = 95  # percent, two-sided

# With fewer steps than these the chance in them cannot be told from the rate.
LEAST_STEPS = 3

# No plan looks further ahead.
HORIZON_DAYS = 20 * 365

# Student's t, 97.5 %, for 1 to 30 degrees of freedom.
_STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.959964


class Outlook(str, Enum):
    """What the points say about reaching zero."""

    REACHED = "reached"
    TOO_FEW_POINTS = "too_few_points"
    NOT_FALLING = "not_falling"
    FALLING = "falling"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Rate:
    """The change of a count a day: ``per_day`` is negative where it falls; ``low`` and ``high`` bound it."""

    per_day: float
    low: float
    high: float
    steps: int
    days: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a count reaches zero.

    ``zero``, ``earliest`` and ``latest`` are days; each is None where it is not within reach: the count does not fall,
    or too slowly for the horizon of 20 years. ``rate`` is None where the points are too few.
    """

    outlook: Outlook
    rate: Rate | None = None
    zero: date | None = None
    earliest: date | None = None
    latest: date | None = None


def forecast(points: Iterable[tuple[date, int]]) -> Forecast:
    """Return what a series of counts says about its end; of several points of a day the last one counts."""
    by_day = dict(points)
    series = sorted(by_day.items())
    if series and series[-1][1] == 0:
        return Forecast(Outlook.REACHED, _rate(series), *[series[-1][0]] * 3)
    rate = _rate(series)
    if rate is None:
        return Forecast(Outlook.TOO_FEW_POINTS)
    day, count = series[-1]
    if rate.per_day >= 0:
        return Forecast(Outlook.NOT_FALLING, rate, earliest=_zero(day, count, rate.low))
    return Forecast(
        Outlook.FALLING,
        rate,
        zero=_zero(day, count, rate.per_day),
        earliest=_zero(day, count, rate.low),
        latest=_zero(day, count, rate.high),
    )


def _rate(series: Sequence[tuple[date, int]]) -> Rate | None:
    steps = [
        ((later - earlier).days, after - before) for (earlier, before), (later, after) in itertools.pairwise(series)
    ]
    if len(steps) < LEAST_STEPS:
        return None
    days = sum(length for length, _ in steps)
    per_day = sum(change for _, change in steps) / days
    variance = sum((change - per_day * length) ** 2 / length for length, change in steps) / (len(steps) - 1)
    margin = _student(len(steps) - 1) * math.sqrt(variance / days)
    return Rate(per_day, per_day - margin, per_day + margin, len(steps), days)


def _student(freedom: int) -> float:
    """Return the quantile of Student's t; beyond the table by its first term of the expansion about the normal."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    return _NORMAL + (_NORMAL**3 + _NORMAL) / (4 * freedom)


def _zero(day: date, count: int, per_day: float) -> date | None:
    if per_day >= 0:
        return None
    days = math.ceil(count / -per_day)
    return day + timedelta(days=days) if days <= HORIZON_DAYS else None
