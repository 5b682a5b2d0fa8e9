"""Draw badges: small pictures for other pages, and the same as JSON for badge services."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import escape

from conformance.model.outcome import Outcome
from conformance.publish.pages import JsonFile, TextFile
from conformance.publish.wording import counted, number, share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.publish.context import Site

ABOUT: Mapping[str, str] = {
    "badges/operators.svg": "the share of native operators, as a picture",
    "badges/operators.json": "the same for badge services",
    "badges/tests.svg": "how many tests passed, as a picture",
    "badges/tests.json": "the same for badge services",
}

# White letters on each of them have a contrast of 4.5:1 or more.
_GREY, _BLUE, _RED = "#5c6773", "#1f5fae", "#a5330f"
_LABEL_GROUND = "#30363d"
_HEIGHT = 20
# Verdana at 11 px: the widths of its narrowest, its widest and all other letters, in pixels.
_NARROW, _WIDE, _OTHER = 4.4, 9.6, 7.0


@dataclass(frozen=True, slots=True)
class Badge:
    """A label, what it says, and the colour behind that; grey says that there is no figure."""

    name: str
    label: str
    message: str
    colour: str


def badge_files(site: Site) -> Iterator[TextFile | JsonFile]:
    """Yield every badge, each in both forms; without a whole run there is no figure."""
    for badge in (_operators(site), _tests(site)):
        yield TextFile(f"badges/{badge.name}.svg", draw(badge))
        # The form is that of shields.io's endpoint badge.
        yield JsonFile(
            f"badges/{badge.name}.json",
            {"schemaVersion": 1, "label": badge.label, "message": badge.message, "color": badge.colour},
        )


def _label(site: Site, what: str) -> str:
    return f"{site.run.device}{' EMULATED' if site.run.emulated else ''} {what}"


def _operators(site: Site) -> Badge:
    coverage = site.findings.operator_coverage
    native, total = coverage.native.numerator, coverage.native.denominator
    label = _label(site, "native operators" if site.findings.fallback_observed else "operators, fallbacks not observed")
    if not site.findings.whole:
        return Badge("operators", label, "no complete run", _GREY)
    if not total or coverage.untested == total:
        return Badge("operators", label, "no data", _GREY)
    return Badge("operators", label, f"{share(native, total)} of {number(total)}", _BLUE)


def _tests(site: Site) -> Badge:
    run = site.run
    label = _label(site, "tests")
    if not site.findings.whole:
        return Badge("tests", label, "no complete run", _GREY)
    if not run.planned:
        return Badge("tests", label, "no data", _GREY)
    passed = sum(run.counts.get(outcome, 0) for outcome in (Outcome.PASSED, Outcome.XPASSED))
    bad = sum(count for outcome, count in run.counts.items() if outcome.is_bad)
    return Badge(
        "tests",
        label,
        f"{number(passed)} of {number(run.planned)} passed, {counted(bad, 'failure')}",
        _RED if bad else _BLUE,
    )


def draw(badge: Badge) -> str:
    """Return the badge as SVG that needs no font but a common one."""
    left, right = _width(badge.label), _width(badge.message)
    whole = left + right
    label, message = escape(badge.label), escape(badge.message)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{_HEIGHT}" role="img" '
        f'aria-label="{label}: {message}">'
        f"<title>{label}: {message}</title>"
        f'<rect width="{whole}" height="{_HEIGHT}" rx="3" fill="{_LABEL_GROUND}"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v{_HEIGHT - 6}a3 3 0 0 1-3 3h-{right - 3}z" '
        f'fill="{badge.colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14" textLength="{left - 12}">{label}</text>'
        f'<text x="{left + right / 2:g}" y="14" textLength="{right - 12}">{message}</text></g></svg>\n'
    )


def _width(text: str) -> int:
    width = sum(_NARROW if sign in " .,:;|'ijlftr()" else _WIDE if sign in "mwMW%" else _OTHER for sign in text)
    return round(width) + 12
