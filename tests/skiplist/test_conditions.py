"""Which entries are active."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from conformance.skiplist.conditions import Conditions, Context, release_of
from tests.skiplist.building import entry

TODAY = date(2026, 11, 1)
RUN = Context("2.13.0+cpu", "2.13.3.1", "Trainium2", emulated=False, today=TODAY)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, ""),
        ({"torch": ">=2.13,<2.15"}, ""),
        ({"torch": "==2.13.*"}, ""),
        ({"torch": "<2.13"}, "torch = '<2.13', and this is '2.13.0+cpu'"),
        ({"device_version": "<2.13.3"}, "device_version = '<2.13.3', and this is '2.13.3.1'"),
        ({"device_version": ">=2.13.3"}, ""),
        ({"device_name": "Trainium*"}, ""),
        ({"device_name": "Trainium3*"}, "device_name = 'Trainium3*', and this is 'Trainium2'"),
        ({"device_name": "trainium2"}, "device_name = 'trainium2', and this is 'Trainium2'"),
        ({"emulated": False}, ""),
        ({"emulated": True}, "emulated = true, and this is not emulated"),
        ({"expires": TODAY}, ""),
        ({"expires": date(2026, 10, 31)}, "it expired on 2026-10-31"),
    ],
)
def test_a_condition_that_does_not_hold_makes_an_entry_inactive(values: dict[str, Any], why: str) -> None:
    assert Conditions(RUN).why_inactive(entry(tests=["a::b"], **values)) == why


@pytest.mark.parametrize("version", ["2.14.0a0+git1234", "2.14.0.dev20261101", "2.14.0rc1", "2.14.0"])
def test_a_build_before_a_release_counts_as_that_release(version: str) -> None:
    conditions = Conditions(Context(torch_version=version))
    assert conditions.why_inactive(entry(torch=">=2.14")) == ""
    assert conditions.why_inactive(entry(torch="<2.14")) != ""


@pytest.mark.parametrize("version", ["", "unknown", "git-abc"])
def test_a_version_that_nobody_knows_meets_no_condition(version: str) -> None:
    conditions = Conditions(Context(device_version=version))
    assert conditions.why_inactive(entry(device_version=">=0")) == f"device_version = '>=0', and this is '{version}'"


def test_what_is_not_known_is_not_judged() -> None:
    conditional = entry(torch="<1", device_version="<1", device_name="x", emulated=True, expires=date(2000, 1, 1))
    assert Conditions(Context()).why_inactive(conditional) == ""


def test_the_release_of_a_version_is_its_numbers() -> None:
    assert [str(release_of(text)) for text in ("2.9.0a0+cu", "v2.13", "2.13.3.1+x")] == ["2.9.0", "2.13", "2.13.3.1"]
    assert release_of("none") is None
