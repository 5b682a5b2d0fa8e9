"""Devices are divided among workers: none is lost, none is given twice unless there are too few."""

from __future__ import annotations

import pytest

from conformance.devices.slices import exclusive_slice, shared_slice, visible_devices
from conformance.errors import InfrastructureError, UsageError


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("", []),
        ("0", ["0"]),
        ("0-3,7", ["0", "1", "2", "3", "7"]),
        (" 2 , 1,", ["2", "1"]),
        ("GPU-8a3f-11,MIG-1/2", ["GPU-8a3f-11", "MIG-1/2"]),
        ("0.0,0.1", ["0.0", "0.1"]),
        ("5-5", ["5"]),
    ],
)
def test_lists_and_ranges_are_written_out(text: str, devices: list[str]) -> None:
    assert visible_devices(text, variable="X") == devices


def test_a_range_that_runs_backwards_is_refused() -> None:
    with pytest.raises(UsageError, match=r"X='3-0': the range 3-0 runs backwards; write 0-3"):
        visible_devices("3-0", variable="X")


@pytest.mark.parametrize("workers", range(1, 9))
def test_with_enough_devices_every_one_goes_to_exactly_one_worker(workers: int) -> None:
    devices = [str(number) for number in range(8)]
    for divide in (shared_slice, lambda *a, **k: exclusive_slice(*a, **k, what="cores")):
        parts = [divide(devices, worker=worker, workers=workers) for worker in range(workers)]
        assert [device for part in parts for device in part] == devices
        assert all(parts)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_with_too_few_devices_workers_share_and_none_goes_without() -> None:
    assert [shared_slice(["0", "1"], worker=worker, workers=5) for worker in range(5)] == [
        ["0"],
        ["1"],
        ["0"],
        ["1"],
        ["0"],
    ]
    assert shared_slice([], worker=0, workers=2) == []


def test_devices_that_cannot_be_shared_limit_the_workers() -> None:
    with pytest.raises(InfrastructureError, match=r"3 workers, but only 2 cores.*--workers 2 or fewer") as caught:
        exclusive_slice(["0", "1"], worker=0, workers=3, what="cores")
    assert caught.value.slug == "too-many-workers"
