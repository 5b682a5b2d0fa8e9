"""The base class under which PyTorch's machinery instantiates tests in this process."""

from __future__ import annotations

from typing import Any

import torch
from torch.testing._internal import common_device_type

from conformance.errors import UsageError


def device_base(device: str, *, lift_restrictions: bool = False) -> type[Any]:
    """Return a base class for instantiated tests that never initialises the device.

    With ``lift_restrictions`` it also runs tests that PyTorch restricts to other devices (the ``onlyOn`` family of
    decorators); raises ``UsageError`` where the installed torch cannot.

    PyTorch's own base for a PrivateUse1 device asks for the current device while tests are instantiated, which makes
    some backends claim the hardware in the process that only collects.
    """
    if lift_restrictions and not hasattr(common_device_type.PrivateUse1TestBase, "bypass_device_restrictions"):
        raise UsageError(
            "cannot-lift-restrictions",
            f"torch {torch.__version__} has no PrivateUse1TestBase.bypass_device_restrictions (2.13 has): tests for "
            "other devices cannot be included",
        )
    if device == "cpu":
        return common_device_type.CPUTestBase  # type: ignore[no-any-return,unused-ignore]
    base = common_device_type.PrivateUse1TestBase

    class DeviceTestBase(base):  # type: ignore[misc,valid-type,unused-ignore]
        device_type = device
        bypass_device_restrictions = lift_restrictions
        device_mod = getattr(torch, device, None)
        primary_device = f"{device}:0"

        @classmethod
        def setUpClass(cls) -> None:
            cls.device_type = device

    return DeviceTestBase


def use_device(device: str, *, lift_restrictions: bool = False) -> None:
    """Let every later instantiation in this process, also that of upstream files, be for ``device`` only."""
    common_device_type.device_type_test_bases[:] = [device_base(device, lift_restrictions=lift_restrictions)]
