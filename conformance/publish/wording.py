"""Numbers, times and sentences as the pages print them; no figure is ever rounded to all or nothing."""

from __future__ import annotations

import re

_INSTANT = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|\+00:00)")


def number(value: int) -> str:
    """Write a count with a comma at the thousands."""
    return f"{value:,}"


def counted(value: int, noun: str, plural: str = "") -> str:
    """Write a count with its noun: ``1 test``, ``2 tests``."""
    return f"{number(value)} {noun if value == 1 else plural or noun + 's'}"


def share(part: int, whole: int) -> str:
    """Write a proportion in percent; without a denominator there is no data, and only all of it is 100 %."""
    if whole <= 0:
        return "no data"
    if part <= 0:
        return "0 %"
    if part >= whole:
        return "100 %"
    tenths = round(1000 * part / whole)
    if tenths == 0:
        return "<0.1 %"
    if tenths == 1000:
        return ">99.9 %"
    return f"{tenths / 10:.1f} %"


def duration(seconds: float | None) -> str:
    """Write a duration given in seconds with a unit that suits it."""
    if seconds is None:
        return ""
    if seconds < 0.0005:
        return "<1 ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def instant(text: str | None) -> str:
    """Write an ISO 8601 instant in UTC for people; text of another form is shown as it is."""
    if not text:
        return ""
    match = _INSTANT.fullmatch(text)
    return f"{match[1]} {match[2]} UTC" if match else text
