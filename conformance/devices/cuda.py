"""NVIDIA GPUs, and AMD GPUs through ROCm, which PyTorch calls ``cuda`` too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from conformance.devices.adapter import DeviceAdapter, DeviceDescription, Presence
from conformance.devices.installed import first_line, installed_torch, lines_of
from conformance.devices.loading import import_torch
from conformance.devices.slices import shared_slice, visible_devices
from conformance.errors import InfrastructureError

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_VISIBLE_ROCM = "HIP_VISIBLE_DEVICES"


class _CUDAAdapter(DeviceAdapter):
    """Bring the device ``cuda``; ``root`` is where the system's files are looked for."""

    device = "cuda"
    summary = "NVIDIA GPUs, and AMD GPUs through ROCm"
    compile_backend = "inductor"
    environment_prefixes = ("CUDA_", "CUBLAS_", "CUDNN_", "NVIDIA_", "HIP_", "ROCR_", "HSA_")
    fork_note = "until the first use; needs NVML, or asking for the number of GPUs already starts the driver"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def environment(self) -> Mapping[str, str]:
        # Without it torch.cuda.is_available() starts the driver, and no process can be forked after that.
        return {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}

    def presence(self) -> str:
        return self.look().why

    def look(self) -> Presence:
        torch = installed_torch()
        if torch is None:
            return Presence(found=False, why="torch is not installed")
        if torch.hip:
            found = (self._root / "dev/kfd").exists()
            why = f"ROCm {torch.hip}" if found else "torch is built for ROCm, but there is no /dev/kfd: no AMD driver"
            return Presence(found=found, why=why, version=torch.version)
        if not torch.cuda:
            return Presence(found=False, why=f"torch {torch.version} is built without CUDA", version=torch.version)
        names = self._gpu_names()
        if not names:
            found = (self._root / "dev/dxg").exists()  # Windows' subsystem for Linux shows nothing else
            why = "a GPU of the Windows host" if found else "no NVIDIA GPU here, or no driver for it"
            return Presence(found=found, why=why, version=torch.version)
        count = len(names)
        if _VISIBLE in os.environ:
            count = min(count, len(self._visible()))
            if not count:
                return Presence(found=False, why=f"{_VISIBLE} hides every GPU", version=torch.version, count=0)
        return Presence(found=True, why=f"{names[0]}, CUDA {torch.cuda}", version=torch.version, count=count)

    def _gpu_names(self) -> list[str]:
        """Return the models of the GPUs that the NVIDIA driver lists; reading its files starts nothing."""
        names = []
        for file in sorted((self._root / "proc/driver/nvidia/gpus").glob("*/information")):
            for line in lines_of(file):
                label, _, value = line.partition(":")
                if label.strip() == "Model":
                    names.append(value.strip())
        return names

    def _visible(self) -> list[str]:
        devices = visible_devices(os.environ.get(_VISIBLE, ""), variable=_VISIBLE)
        # CUDA itself stops at the first entry that cannot be: -1 hides what follows.
        return devices[: devices.index("-1")] if "-1" in devices else devices

    def load(self) -> None:
        torch = import_torch()
        if not torch.cuda.is_available():
            seen = self.look()
            why = seen.why if not seen.found else f"{seen.why} is here, but torch.cuda.is_available() says no"
            raise InfrastructureError("no-device", f"there is no CUDA device to test: {why}; see `conformance devices`")

    def device_count(self) -> int:
        return int(import_torch().cuda.device_count())

    def describe(self) -> DeviceDescription:
        torch = import_torch()
        hip = getattr(torch.version, "hip", None)
        names = self._gpu_names()
        # Asking torch for the name would initialise the device.
        name = names[0] if names else ("an AMD GPU" if hip else "an NVIDIA GPU")
        toolkit = ("ROCm", str(hip)) if hip else ("CUDA", str(torch.version.cuda))
        driver = first_line(self._root / "sys/module" / ("amdgpu" if hip else "nvidia") / "version")
        return DeviceDescription(
            device_name=name,
            emulated=False,
            backend="torch",
            backend_version=str(torch.__version__),
            versions=(toolkit, *([("driver", driver)] if driver else [])),
        )

    def is_initialized(self) -> bool:
        return bool(import_torch().cuda.is_initialized())

    def worker_environment(self, index: int, count: int) -> Mapping[str, str]:
        if count < 2:
            return {}
        torch = import_torch()
        if getattr(torch.version, "hip", None) and _VISIBLE_ROCM in os.environ:
            devices = visible_devices(os.environ[_VISIBLE_ROCM], variable=_VISIBLE_ROCM)
            return {_VISIBLE_ROCM: ",".join(shared_slice(devices, worker=index, workers=count))}
        everything = [str(number) for number in range(self.device_count())]
        devices = self._visible() if _VISIBLE in os.environ else everything
        chosen = shared_slice(devices, worker=index, workers=count)
        return {_VISIBLE: ",".join(chosen)} if chosen else {}


CUDA = _CUDAAdapter()
