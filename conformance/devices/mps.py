"""Apple GPUs through Metal: the device ``mps``."""

from __future__ import annotations

import platform

from conformance.devices.adapter import DeviceAdapter, DeviceDescription, Presence
from conformance.devices.installed import installed_torch
from conformance.devices.loading import import_torch
from conformance.errors import InfrastructureError


class _MPSAdapter(DeviceAdapter):
    device = "mps"
    summary = "Apple GPUs; an operator without a kernel raises, unless PYTORCH_ENABLE_MPS_FALLBACK=1"
    compile_backend = "inductor"
    fork_safe = False
    fork_note = "Metal does not work in a forked process"

    def presence(self) -> str:
        return self.look().why

    def look(self) -> Presence:
        torch = installed_torch()
        if torch is None:
            return Presence(found=False, why="torch is not installed")
        if (platform.system(), platform.machine()) != ("Darwin", "arm64"):
            return Presence(found=False, why="not a Mac with an Apple GPU", version=torch.version)
        return Presence(found=True, why=f"macOS {platform.mac_ver()[0]}", version=torch.version, count=1)

    def load(self) -> None:
        torch = import_torch()
        if not torch.backends.mps.is_available():
            seen = self.look()
            why = seen.why if not seen.found else "torch.backends.mps.is_available() says no"
            raise InfrastructureError("no-device", f"there is no MPS device to test: {why}; see `conformance devices`")

    def device_count(self) -> int:
        return int(import_torch().mps.device_count())

    def describe(self) -> DeviceDescription:
        return DeviceDescription(
            device_name=f"Apple GPU ({platform.processor() or platform.machine()})",
            emulated=False,
            backend="torch",
            backend_version=str(import_torch().__version__),
            versions=(("macOS", platform.mac_ver()[0]),) if platform.mac_ver()[0] else (),
        )


MPS = _MPSAdapter()
