from __future__ import annotations

import re

import pytest

from conformance import resources
from conformance.publish.marks import OUTCOME_MARKS, STATUS_MARKS, UNDECLARED, status_mark

CSS = (resources.site_static() / "site.css").read_text(encoding="utf-8")
SHADES = sorted({mark.shade for mark in (*STATUS_MARKS.values(), *OUTCOME_MARKS.values())})


def _variables(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+):\s*(#[0-9a-f]{6})", block))


def _palettes() -> dict[str, dict[str, str]]:
    light = _variables(CSS.split("@media (prefers-color-scheme: dark)")[0])
    dark = _variables(CSS.split("@media (prefers-color-scheme: dark)")[1].split("*, *::before")[0])
    printed = _variables(CSS.split("@media print")[1].split("@page")[0])
    # Paper is printed from a browser in either mode: each must come out like light.
    return {"light": light, "dark": light | dark, "print from dark": light | dark | printed}


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    bright, dim = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("palette", _palettes().values(), ids=_palettes().keys())
def test_text_meets_wcag_aa(palette: dict[str, str]) -> None:
    grounds = ("ground", "raised", "target")
    for text in ("text", "soft", "link"):
        for ground in grounds:
            assert _contrast(palette[text], palette[ground]) >= 4.5, (text, ground)
    for shade in (*SHADES, status_mark("nonsense").shade, UNDECLARED.shade, "emulated", "warning"):
        assert _contrast(palette[f"{shade}-ink"], palette[f"{shade}-tint"]) >= 4.5, shade


@pytest.mark.parametrize("palette", _palettes().values(), ids=_palettes().keys())
def test_bars_and_their_letters_can_be_told_from_what_surrounds_them(palette: dict[str, str]) -> None:
    for shade in (*SHADES, "unknown"):
        fill = palette[f"{shade}-fill"]
        assert _contrast(fill, palette["ground"]) >= 3, shade
        if shade != "untested":  # hatched; its letter has the ground around it
            letter = "on-dark-fill" if shade in ("failing", "crashing") else "on-fill"
            assert _contrast(palette[letter], fill) >= 4.5, shade
    assert _contrast(palette["untested-ink"], palette["ground"]) >= 4.5


def test_every_shade_has_its_rules() -> None:
    for shade in (*SHADES, "unknown", UNDECLARED.shade):
        assert f".mark-{shade} {{" in CSS
    for shade in {*SHADES, "unknown"} - {"untested"}:
        assert f".bar-{shade} {{" in CSS


def test_the_style_sheet_loads_nothing() -> None:
    assert "url(" not in CSS
    assert "@import" not in CSS
