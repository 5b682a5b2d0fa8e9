"""What the harness asks of a backend."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceDescription:
    """What is recorded about a device; every field is a text for people except ``emulated``."""

    device_name: str
    emulated: bool
    backend: str
    backend_version: str


class DeviceAdapter:
    """Bring one torch device type to the harness; the defaults suit an in-tree device without fallbacks.

    Nothing here may import torch when the adapter is created: ``environment`` is applied before torch loads.
    ``device`` is the torch device type, ``summary`` one line for ``conformance devices``.
    """

    device: str = ""
    summary: str = ""
    environment_prefixes: tuple[str, ...] = ()
    fallback_counter_name: str = "backend account"

    def environment(self) -> Mapping[str, str]:
        """Return the variables that must be set before torch is imported."""
        return {}

    def prepare(self) -> None:
        """Apply ``environment`` to this process; values that the user has set stay."""
        for name, value in self.environment().items():
            os.environ.setdefault(name, value)

    def load(self) -> None:
        """Make torch know the device, without initialising it.

        Called before ``torch.testing._internal`` is imported. Raises ``InfrastructureError`` where the device, its
        package or a compiler is missing.
        """

    def presence(self) -> str:
        """Return in a few words what stands behind the device on this machine, without importing torch."""
        return "present"

    def describe(self) -> DeviceDescription:
        """Return what is recorded about the device; ``load`` has been called, the device stays uninitialised."""
        raise NotImplementedError(f"the adapter for '{self.device}' does not describe its device")

    def is_initialized(self) -> bool:
        """Tell whether this process holds the device, so that a fork would not be sound."""
        return False

    def worker_environment(self, index: int, count: int) -> Mapping[str, str]:  # noqa: ARG002
        """Return the variables that give worker ``index`` of ``count`` its own slice of the device."""
        return {}

    def fallback_counter(self) -> Callable[[], Mapping[str, int]] | None:
        """Return the backend's own account: a call gives overload -> calls on the CPU since the call before.

        None where the backend keeps no such account.
        """
        return None
