"""Rates and dates of zero: what series of counts say, and what they must not be made to say."""

from __future__ import annotations

import random
from datetime import date, timedelta

import pytest

from conformance.analysis.burndown_rate import HORIZON_DAYS, Forecast, Outlook, forecast

DAY = date(2026, 11, 1)


def of(*counts: int, every: int = 1) -> Forecast:
    return forecast((DAY + timedelta(days=place * every), count) for place, count in enumerate(counts))


def test_a_steady_fall_reaches_zero_on_the_day_that_it_points_at() -> None:
    found = of(100, 90, 80, 70, 60)
    assert (found.outlook, found.zero, found.earliest, found.latest) == (
        Outlook.FALLING,
        *[DAY + timedelta(days=10)] * 3,
    )
    assert found.rate is not None
    assert (found.rate.per_day, found.rate.low, found.rate.high, found.rate.steps, found.rate.days) == (
        *[-10.0] * 3,
        4,
        4,
    )


@pytest.mark.parametrize("counts", [(), (5,), (5, 4), (5, 4, 3)])
def test_a_few_points_say_nothing(counts: tuple[int, ...]) -> None:
    found = of(*counts)
    assert found == Forecast(Outlook.TOO_FEW_POINTS)


def test_points_of_one_day_are_one_point() -> None:
    days = [(DAY, 9), (DAY, 8), (DAY, 7), (DAY, 6), (DAY + timedelta(days=1), 5)]
    assert forecast(days).outlook is Outlook.TOO_FEW_POINTS


@pytest.mark.parametrize("counts", [(5, 5, 5, 5), (5, 6, 7, 8), (5, 1, 1, 5)])
def test_a_count_that_does_not_fall_never_reaches_zero(counts: tuple[int, ...]) -> None:
    found = of(*counts)
    assert (found.outlook, found.zero, found.latest) == (Outlook.NOT_FALLING, None, None)


def test_a_fall_that_may_be_chance_has_no_latest_day() -> None:
    found = of(100, 120, 90, 110, 95)
    assert found.outlook is Outlook.FALLING
    assert found.zero is not None
    assert found.earliest is not None
    assert found.earliest < found.zero
    assert found.latest is None


def test_a_count_of_zero_has_been_reached() -> None:
    found = of(3, 2, 1, 0)
    assert (found.outlook, found.zero) == (Outlook.REACHED, DAY + timedelta(days=3))
    assert of(0).outlook is Outlook.REACHED


def test_what_lies_beyond_the_horizon_is_not_within_reach() -> None:
    found = of(1_000_000, 999_999, 999_998, 999_997, 999_996)
    assert (found.outlook, found.zero, found.earliest, found.latest) == (Outlook.FALLING, None, None, None)
    assert of(HORIZON_DAYS, HORIZON_DAYS - 1, HORIZON_DAYS - 2, HORIZON_DAYS - 3).zero is not None


def test_gaps_between_runs_count_by_their_days() -> None:
    found = forecast(
        [(DAY, 100), (DAY + timedelta(days=1), 99), (DAY + timedelta(days=11), 89), (DAY + timedelta(days=12), 88)]
    )
    assert found.rate is not None
    assert (found.rate.per_day, found.rate.low, found.rate.high) == (-1.0, -1.0, -1.0)


def test_the_bounds_hold_the_true_rate_as_often_as_they_say() -> None:
    chance = random.Random(0)
    held = 0
    for _ in range(2_000):
        counts = [10_000]
        for _ in range(8):
            counts.append(counts[-1] + round(chance.gauss(-50, 80)))
        rate = of(*counts).rate
        assert rate is not None
        held += rate.low <= -50 <= rate.high
    assert 0.93 < held / 2_000 < 0.97


def test_more_points_give_narrower_bounds() -> None:
    chance = random.Random(1)
    counts = [10_000]
    for _ in range(60):
        counts.append(counts[-1] + round(chance.gauss(-50, 80)))
    short, long = of(*counts[:6]).rate, of(*counts).rate
    assert short is not None
    assert long is not None
    assert long.high - long.low < short.high - short.low
