"""The base class of instantiated tests."""

from __future__ import annotations

import pytest

from conformance.suites.device_base import AllDevices, device_base


def test_devices_are_not_counted_before_a_test_looks_at_them() -> None:
    asked = []

    def count() -> int:
        asked.append(1)
        return 3

    devices = device_base("toy", count=count).get_all_devices()
    assert isinstance(devices, list)  # by this PyTorch tells one device from several
    assert asked == []
    assert (len(devices), devices[-1], list(devices)) == (3, "toy:2", ["toy:0", "toy:1", "toy:2"])
    assert asked == [1]


@pytest.mark.parametrize("known", [None, 0, 1])
def test_a_number_that_is_not_known_is_one_device(known: int | None) -> None:
    devices = AllDevices("toy", lambda: known)
    assert [*devices] == ["toy:0"]
    assert devices[0] == "toy:0"
