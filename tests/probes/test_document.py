"""docs/fallbacks.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.model.registration import RegistrationKind
from conformance.probes import NOT_A_FALLBACK, PROBES

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "fallbacks.md"


def rows(heading: str) -> dict[str, str]:
    """Return the first two columns of the table under a heading."""
    section = DOCUMENT.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([\w:]+)` \| ([^|]+) \|", section, re.MULTILINE))


def test_what_is_no_fallback_and_why() -> None:
    assert rows("What is not a fallback") == dict(NOT_A_FALLBACK)
    assert list(NOT_A_FALLBACK) == sorted(NOT_A_FALLBACK)


def test_every_probe_that_can_be_named() -> None:
    assert list(rows("Probes")) == [name for name in PROBES if name != "auto"]


@pytest.mark.parametrize("kind", list(RegistrationKind))
def test_every_kind_of_registration(kind: RegistrationKind) -> None:
    assert kind.definition.endswith(".")
    assert rows("Registrations")[str(kind)] == kind.definition
