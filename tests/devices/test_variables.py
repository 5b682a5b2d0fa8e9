"""A typing error in a variable is found by looking, before a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.devices.variables import check_variables, misspelt_variables
from conformance.emulator import runtime
from conformance.errors import UsageError


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("", "_DEVICES", "_FAULTS", "_PROFILE"):
        monkeypatch.delenv(f"CONFORMANCE_NEURON{name}", raising=False)


@pytest.mark.parametrize(
    ("name", "value", "slug"),
    [
        ("CONFORMANCE_NEURON", "emulate", "bad-variable"),
        ("CONFORMANCE_NEURON", "", "bad-variable"),
        ("CONFORMANCE_NEURON_DEVICES", "0", "bad-devices"),
        ("CONFORMANCE_NEURON_DEVICES", "many", "bad-devices"),
        ("CONFORMANCE_NEURON_FAULTS", "aten::add", "bad-fault"),
        ("CONFORMANCE_NEURON_PROFILE", "no-such-profile", "bad-profile"),
        ("CONFORMANCE_CACHE", __file__, "bad-variable"),
        ("CONFORMANCE_DB", "/", "bad-variable"),
    ],
)
def test_a_bad_value_is_one_line_with_the_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, slug: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError) as caught:
        check_variables()
    assert caught.value.slug == slug
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_good_values_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "CONFORMANCE_NEURON": "emulated",
        "CONFORMANCE_NEURON_DEVICES": "64",
        "CONFORMANCE_NEURON_FAULTS": "aten::add=wrong;aten::sin=slow:0.5",
        "CONFORMANCE_NEURON_PROFILE": "full",
        "CONFORMANCE_CACHE": str(tmp_path / "not-there-yet"),
    }.items():
        monkeypatch.setenv(name, value)
    check_variables()


@pytest.mark.parametrize("count", ["1", "64", "0", "65", "-1", "2.5", "", "\u0662"])
def test_the_number_of_devices_is_judged_as_the_emulator_judges_it(monkeypatch: pytest.MonkeyPatch, count: str) -> None:
    monkeypatch.setenv("CONFORMANCE_NEURON_DEVICES", count)

    def verdict(function: object) -> bool:
        try:
            function()  # type: ignore[operator]
        except UsageError:
            return False
        return True

    assert verdict(check_variables) == verdict(runtime._device_count)


def test_a_name_that_is_nearly_right_is_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFORMANCE_NEURON_PROFLE", "full")
    monkeypatch.setenv("CONFORMANCE_SOMETHING_ELSE_ENTIRELY", "1")
    monkeypatch.setenv("MY_CONFORMANCE_NEURON", "1")
    assert misspelt_variables() == [
        "CONFORMANCE_NEURON_PROFLE is no variable of this harness; do you mean CONFORMANCE_NEURON_PROFILE?"
    ]
