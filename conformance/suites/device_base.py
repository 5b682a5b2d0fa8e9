"""The base class under which PyTorch's machinery instantiates tests in this process."""

from __future__ import annotations

from typing import Any

import torch
from torch.testing._internal import common_device_type


def device_base(device: str) -> type[Any]:
    """Return a base class for instantiated tests that never initialises the device.

    PyTorch's own base for a PrivateUse1 device asks for the current device while tests are instantiated, which makes
    some backends claim the hardware in the process that only collects.
    """
    if device == "cpu":
        return common_device_type.CPUTestBase  # type: ignore[no-any-return,unused-ignore]
    base = common_device_type.PrivateUse1TestBase

    class DeviceTestBase(base):  # type: ignore[misc,valid-type,unused-ignore]
        device_type = device
        device_mod = getattr(torch, device, None)
        primary_device = f"{device}:0"

        @classmethod
        def setUpClass(cls) -> None:
            cls.device_type = device

    return DeviceTestBase


def use_device(device: str) -> None:
    """Let every later instantiation in this process, also that of upstream files, be for ``device`` only."""
    common_device_type.device_type_test_bases[:] = [device_base(device)]
