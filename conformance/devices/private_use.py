"""Backends from outside of PyTorch that need no adapter of their own: one class, filled in by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.devices.adapter import DeviceAdapter, DeviceDescription, Presence
from conformance.devices.installed import distribution_version, is_importable
from conformance.devices.loading import function_of, import_backend, import_torch
from conformance.devices.slices import exclusive_slice, shared_slice, visible_devices
from conformance.errors import InfrastructureError


class PrivateUseAdapter(DeviceAdapter):
    """Bring a device that a package registers with PyTorch when it is imported.

    ``module`` is what is imported to make the device known, ``distributions`` what the package may be called when it is
    installed. ``visible`` are the variables that give a process a slice of the devices, read at the first use: the one
    that is set is divided, else the first of them is set. ``exclusive`` says that a device belongs to one process at a
    time. ``device_files`` is a pattern for the files that the driver makes, one for each device. ``asks`` is False
    where asking whether a device is available starts it.
    """

    def __init__(
        self,
        device: str,
        *,
        module: str,
        summary: str,
        distributions: tuple[str, ...] = (),
        prefixes: tuple[str, ...] = (),
        visible: tuple[str, ...] = (),
        exclusive: bool = False,
        device_files: str = "",
        asks: bool = True,
        fork_safe: bool = True,
        fork_note: str = "until the first use",
        fallback_note: str = "observer or profiler",
        root: Path = Path("/"),
    ) -> None:
        self.device = device
        self.summary = summary
        self.packages = (module.partition(".")[0],)
        self.environment_prefixes = prefixes
        self.fork_safe = fork_safe
        self.fork_note = fork_note
        self.fallback_note = fallback_note
        self._module = module
        self._distributions = distributions or (self.packages[0], self.packages[0].replace("_", "-"))
        self._visible = visible
        self._exclusive = exclusive
        self._device_files = device_files
        self._asks = asks
        self._root = root

    def _version(self) -> str:
        return distribution_version(*self._distributions) or "unknown"

    def presence(self) -> str:
        """Return what was found or what is missing."""
        return self.look().why

    def look(self) -> Presence:
        """Look for the package, and for the files of the driver where their names are known."""
        package = self.packages[0]
        if not is_importable(package):
            return Presence(found=False, why=f"{package} is not installed")
        if not self._device_files:
            return Presence(found=True, why=f"{package} is installed", version=self._version())
        count = len(list(self._root.glob(self._device_files)))
        if not count:
            why = f"{package} is installed, but there is no /{self._device_files}: no device, or no driver"
            return Presence(found=False, why=why, version=self._version(), count=0)
        return Presence(found=True, why=f"{package} is installed", version=self._version(), count=count)

    def load(self) -> None:
        """Import the package where PyTorch has not done so by itself."""
        torch = import_torch()
        module = getattr(torch, self.device, None)
        if module is None:  # PyTorch loads most backends by itself; not where that was switched off
            if not is_importable(self.packages[0]):
                raise InfrastructureError(
                    "no-device",
                    f"the device '{self.device}' needs {self.packages[0]}, which is not installed; install it",
                )
            import_backend(self._module, device=self.device)
            module = getattr(torch, self.device, None)
        if module is None:
            raise InfrastructureError(
                "no-device", f"{self._module} was imported, but did not register a device module torch.{self.device}"
            )
        available = function_of(module, "is_available") if self._asks else None
        if available is not None and not available():
            raise InfrastructureError(
                "no-device",
                f"{self.packages[0]} {self._version()} is installed, but torch.{self.device}.is_available() says no; "
                "look at the driver and at who uses the device",
            )

    def _device_module(self) -> Any:
        return getattr(import_torch(), self.device, None)

    def device_count(self) -> int | None:
        """Return what the device module counts, None where it does not count."""
        count = function_of(self._device_module(), "device_count")
        return int(count()) if count is not None else None

    def describe(self) -> DeviceDescription:
        """Return the name of the package and its version."""
        return DeviceDescription(
            device_name=f"{self.device} through {self.packages[0]}",  # asking for more could initialise the device
            emulated=False,
            backend=self.packages[0],
            backend_version=self._version(),
        )

    def is_initialized(self) -> bool:
        """Return what the device module says; True where it cannot tell, since a fork may not be sound then."""
        asked = function_of(self._device_module(), "is_initialized")
        return bool(asked()) if asked is not None else True

    def worker_environment(self, index: int, count: int) -> Mapping[str, str]:
        """Return the slice of one worker; none where no variable is known for that."""
        if count < 2 or not self._visible:
            return {}
        variable = next((name for name in self._visible if name in os.environ), self._visible[0])
        if variable in os.environ:
            devices = visible_devices(os.environ[variable], variable=variable)
        elif self._device_files:
            devices = [str(number) for number in range(len(list(self._root.glob(self._device_files))))]
        else:
            devices = [str(number) for number in range(count)] if self._exclusive else []
        if self._exclusive:
            chosen = exclusive_slice(devices, worker=index, workers=count, what=f"'{self.device}' devices")
        else:
            chosen = shared_slice(devices, worker=index, workers=count)
        return {variable: ",".join(chosen)} if chosen else {}


def adapter_by_convention(device: str, module: str) -> PrivateUseAdapter:
    """Return an adapter for a device of which nothing is known but the module that registers it."""
    return PrivateUseAdapter(
        device, module=module, summary=f"a backend from outside of PyTorch, found as {module.partition('.')[0]}"
    )


NPU = PrivateUseAdapter(
    "npu",
    module="torch_npu",
    summary="Huawei Ascend; falls back to the CPU with one warning for each operator",
    prefixes=("ASCEND_", "NPU_", "TORCH_NPU_", "HCCL_", "ACL_"),
    visible=("ASCEND_RT_VISIBLE_DEVICES",),
    device_files="dev/davinci[0-9]*",
)

HPU = PrivateUseAdapter(
    "hpu",
    module="habana_frameworks.torch.core",
    distributions=("habana-torch-plugin", "habana_torch_plugin"),
    summary="Intel Gaudi; a process takes the first card that is free",
    prefixes=("HABANA_", "HLS_", "PT_HPU_", "GC_"),
)

TPU = PrivateUseAdapter(
    "tpu",
    module="torch_tpu",
    summary="Google TPU through TorchTPU; not public when this was written",
    prefixes=("TPU_", "LIBTPU_"),
)

SPYRE = PrivateUseAdapter(
    "spyre",
    module="torch_spyre",
    summary="IBM Spyre; one process at a time can use it: run with --workers 0",
    prefixes=("SPYRE_", "TORCH_SENDNN_", "DT_", "DTLOG_"),
    asks=False,
    fork_safe=False,
    fork_note="torch_spyre refuses the device in every child process",
)

RBLN = PrivateUseAdapter(
    "rbln",
    module="torch_rbln",
    summary="Rebellions NPUs; falls back to the CPU with a line in the log",
    prefixes=("RBLN_", "TORCH_RBLN_"),
    visible=("RBLN_DEVICES", "RBLN_VISIBLE_DEVICES"),
    exclusive=True,
)

OPENREG = PrivateUseAdapter(
    "openreg",
    module="torch_openreg",
    summary="PyTorch's own example of a backend, on the CPU; falls back silently",
)
