"""Canaries whose names are hard to keep apart, to store and to show."""

from __future__ import annotations

import pytest

from conformance.model.outcome import Outcome
from conformance.suites.canaries import canary, is_armed

pytestmark = pytest.mark.skipif(not is_armed(), reason="a canary: only `conformance selftest` runs it")

_ODD = {
    "unicode": "ü 名 \U0001f9e8",
    "markup": "<script>alert(1)</script>&amp;",
    "newlines": "one\ntwo\r\n\tthree",
    "colons": "a::b::c",
    "brackets": "a[b]][c",
    "quotes": 'it\'s "quoted" \\ `now`',
    "nul": "a\x00b",
    "half a character": "\udcff",
    "sql": "'; DROP TABLE result; --",
    "spaces": "  ",
    "path": "../../etc/passwd",
    "long": "long" * 2_500,
}


@canary(Outcome.PASSED, tests=len(_ODD))
@pytest.mark.parametrize("text", list(_ODD.values()))
def test_odd_parameter(text: str) -> None:
    """Have an odd parameter."""
    assert text in _ODD.values()


@canary(Outcome.PASSED, tests=3)
@pytest.mark.parametrize("number", [1, 1, 1])  # noqa: PT014 - what this is about
def test_same_parameter(number: int) -> None:
    """Have the same parameter as another."""
    assert number == 1


@canary(Outcome.PASSED)
def test_größe_名() -> None:  # noqa: N802 - what this is about
    """Have a name that is not ASCII."""


class TestLike:
    """Its name could be one that was made for a device."""

    @canary(Outcome.PASSED)
    def test_out_add_neuron_float32(self) -> None:
        """Have the name of an operator and a dtype of a device."""
