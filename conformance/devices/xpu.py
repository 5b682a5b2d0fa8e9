"""Intel GPUs: PyTorch's in-tree device ``xpu``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from conformance.devices.adapter import DeviceAdapter, DeviceDescription, Presence
from conformance.devices.installed import first_line, installed_torch, versions_of
from conformance.devices.loading import import_torch
from conformance.devices.slices import shared_slice, visible_devices
from conformance.errors import InfrastructureError

_VISIBLE = "ZE_AFFINITY_MASK"
_INTEL = "0x8086"


class _XPUAdapter(DeviceAdapter):
    """Bring the device ``xpu``; ``root`` is where the system's files are looked for."""

    device = "xpu"
    summary = "Intel GPUs; most operators without a kernel raise, unless PYTORCH_ENABLE_XPU_FALLBACK=1"
    compile_backend = "inductor"
    environment_prefixes = ("ZE_", "ZES_", "SYCL_", "ONEAPI_", "UR_")
    # torch's own test machinery asks torch.xpu.is_available() when it is imported, and the answer starts the driver.
    fork_safe = False
    fork_note = "counting the devices already starts the Level Zero driver"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def presence(self) -> str:
        return self.look().why

    def look(self) -> Presence:
        torch = installed_torch()
        if torch is None:
            return Presence(found=False, why="torch is not installed")
        # torch 2.6 does not say in version.py that it is built for XPU; its wheels do in their version.
        if not torch.xpu and not torch.version.partition("+")[2].startswith("xpu"):
            return Presence(found=False, why=f"torch {torch.version} is built without XPU", version=torch.version)
        if not self._has_intel_gpu():
            return Presence(found=False, why="no Intel GPU here, or no driver for it", version=torch.version)
        return Presence(found=True, why="an Intel GPU", version=torch.version)

    def _has_intel_gpu(self) -> bool:
        for vendor in (self._root / "sys/class/drm").glob("renderD*/device/vendor"):
            if first_line(vendor) == _INTEL:
                return True
        return (self._root / "dev/dxg").exists()  # Windows' subsystem for Linux shows nothing else

    def load(self) -> None:
        torch = import_torch()
        if not torch.xpu.is_available():
            seen = self.look()
            why = seen.why if not seen.found else f"{seen.why} is here, but torch.xpu.is_available() says no"
            raise InfrastructureError("no-device", f"there is no XPU device to test: {why}; see `conformance devices`")

    def device_count(self) -> int:
        return int(import_torch().xpu.device_count())

    def describe(self) -> DeviceDescription:
        torch = import_torch()
        toolkit = getattr(torch.version, "xpu", None)
        return DeviceDescription(
            device_name="an Intel GPU",  # asking torch for the name would initialise the device
            emulated=False,
            backend="torch",
            backend_version=str(torch.__version__),
            versions=(
                *([("SYCL compiler", str(toolkit))] if toolkit else []),
                *versions_of(("intel-sycl-rt", "triton-xpu", "pytorch-triton-xpu")),
            ),
        )

    def is_initialized(self) -> bool:
        return bool(import_torch().xpu.is_initialized())

    def worker_environment(self, index: int, count: int) -> Mapping[str, str]:
        if count < 2:
            return {}
        if _VISIBLE in os.environ:
            devices = visible_devices(os.environ[_VISIBLE], variable=_VISIBLE)
        else:
            devices = [str(number) for number in range(self.device_count())]
        chosen = shared_slice(devices, worker=index, workers=count)
        return {_VISIBLE: ",".join(chosen)} if chosen else {}


XPU = _XPUAdapter()
