from __future__ import annotations

import pytest

from conformance.publish.wording import counted, duration, instant, number, share


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "no data"),
        (3, 0, "no data"),
        (0, 702, "0 %"),
        (702, 702, "100 %"),
        (1, 100_000, "<0.1 %"),
        (99_999, 100_000, ">99.9 %"),
        (412, 702, "58.7 %"),
        (1, 3, "33.3 %"),
    ],
)
def test_a_share_is_never_rounded_to_all_or_nothing(part: int, whole: int, text: str) -> None:
    assert share(part, whole) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0.0, "<1 ms"),
        (0.012, "12 ms"),
        (0.9994, "999 ms"),
        (0.9999, "1.0 s"),
        (3.42, "3.4 s"),
        (59.94, "59.9 s"),
        (59.99, "1 min 00 s"),
        (125, "2 min 05 s"),
        (4361, "1 h 12 min"),
    ],
)
def test_durations_have_a_unit_that_suits_them(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (None, ""),
        ("", ""),
        ("2026-11-01T02:03:04Z", "2026-11-01 02:03 UTC"),
        ("2026-11-01T02:03:04.123456+00:00", "2026-11-01 02:03 UTC"),
        ("yesterday", "yesterday"),
    ],
)
def test_instants_are_shown_in_utc_or_as_they_are(stored: str | None, text: str) -> None:
    assert instant(stored) == text


def test_counts_agree_with_their_noun() -> None:
    assert [counted(0, "test"), counted(1, "test"), counted(12_000, "test")] == ["0 tests", "1 test", "12,000 tests"]
    assert number(1_234_567) == "1,234,567"
