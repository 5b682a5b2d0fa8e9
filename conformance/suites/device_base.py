"""The base class under which PyTorch's machinery instantiates tests in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal import common_device_type

from conformance.errors import UsageError


class AllDevices(list[str]):
    """The devices of a type, which a test that needs several gets as ``devices``; counted when it first looks.

    PyTorch counts them while tests are instantiated, and asking may initialise the device in the process that only
    collects. It tells one device from several by this being a list.
    """

    def __init__(self, device: str, count: Callable[[], int | None]) -> None:
        super().__init__([f"{device}:0"])
        self._device = device
        self._count: Callable[[], int | None] | None = count

    def _all(self) -> list[str]:
        if self._count is not None:
            found = self._count() or 1
            self._count = None
            self.extend(f"{self._device}:{index}" for index in range(1, found))
        return self

    def __len__(self) -> int:
        return list.__len__(self._all())

    def __iter__(self) -> Iterator[str]:
        return list.__iter__(self._all())

    def __getitem__(self, index: Any) -> Any:
        return list.__getitem__(self._all(), index)


def device_base(
    device: str, *, count: Callable[[], int | None] = lambda: None, lift_restrictions: bool = False
) -> type[Any]:
    """Return a base class for instantiated tests that never initialises the device.

    ``count`` says how many devices there are, None: not known; it is asked when a test that needs several runs.
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
        all_devices = AllDevices(device, count)
        bypass_device_restrictions = lift_restrictions
        device_mod = getattr(torch, device, None)
        primary_device = f"{device}:0"

        @classmethod
        def get_all_devices(cls) -> list[str]:
            return cls.all_devices

        @classmethod
        def setUpClass(cls) -> None:
            cls.device_type = device

    return DeviceTestBase


def use_device(device: str, *, count: Callable[[], int | None] = lambda: None, lift_restrictions: bool = False) -> None:
    """Let every later instantiation in this process, also that of upstream files, be for ``device`` only."""
    base = device_base(device, count=count, lift_restrictions=lift_restrictions)
    common_device_type.device_type_test_bases[:] = [base]
