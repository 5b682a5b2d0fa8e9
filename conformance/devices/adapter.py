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
    versions: tuple[tuple[str, str], ...] = ()  # of what works beneath the backend: compiler, runtime, driver


@dataclass(frozen=True, slots=True)
class Presence:
    """What can be said about a device without importing torch.

    ``why`` says what was found or what is missing, ``version`` is that of the backend's package. ``count`` is the
    number of devices, None where only torch could tell.
    """

    found: bool
    why: str
    version: str = ""
    count: int | None = None
    emulated: bool = False


class DeviceAdapter:
    """Bring one torch device type to the harness; the defaults suit an in-tree device without fallbacks.

    Nothing here may import torch when the adapter is created: ``environment`` is applied before torch loads.
    ``device`` is the torch device type, ``summary`` one line for ``conformance devices``. ``packages`` are the
    top-level modules the backend is imported as; another adapter is not made for them. ``fallback_note`` says in a few
    words how a fallback is seen. ``compile_backend`` is what torch.compile's backend for the device is called, empty
    where none is known: nothing is compiled then. ``fork_safe`` is False where a process that has loaded the device
    cannot be forked even if it has not used it; ``fork_note`` says why.
    """

    device: str = ""
    summary: str = ""
    packages: tuple[str, ...] = ()
    environment_prefixes: tuple[str, ...] = ()
    fallback_counter_name: str = "backend account"
    health_is_cheap: bool = False  # then the device is looked at after each failure
    fallback_note: str = "observer or profiler"
    compile_backend: str = ""
    fork_safe: bool = True
    fork_note: str = ""

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

    def look(self) -> Presence:
        """Return whether the device is here and why, without importing torch or the backend."""
        return Presence(found=True, why=self.presence())

    def device_count(self) -> int | None:
        """Return the number of devices, None if it cannot be known; ``load`` has been called.

        This may initialise the device: the harness asks in a process that it throws away.
        """
        return None

    def describe(self) -> DeviceDescription:
        """Return what is recorded about the device; ``load`` has been called, the device stays uninitialised."""
        raise NotImplementedError(f"the adapter for '{self.device}' does not describe its device")

    def is_initialized(self) -> bool:
        """Tell whether this process holds the device, so that a fork would not be sound."""
        return False

    def worker_environment(self, index: int, count: int) -> Mapping[str, str]:  # noqa: ARG002
        """Return the variables that give worker ``index`` of ``count`` its own slice of the device."""
        return {}

    def check_health(self) -> str | None:
        """Return what is wrong with the device in this process, None where it works.

        Asked after a test has failed; whatever it uses of the device must not change what later tests see. The
        default moves two numbers to the device and back, which a device does not survive that an earlier error has
        poisoned.
        """
        import torch

        try:
            sent = torch.tensor([1.0, 2.0])
            back = (sent.to(self.device) + 1).cpu()
        except Exception as error:
            return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        return None if torch.equal(back, sent + 1) else f"1 and 2 plus 1 gave {back.tolist()}"

    def fallback_counter(self) -> Callable[[], Mapping[str, int]] | None:
        """Return the backend's own account: a call gives overload -> calls on the CPU since the call before.

        None where the backend keeps no such account.
        """
        return None
