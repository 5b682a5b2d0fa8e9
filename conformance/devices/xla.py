"""pytorch/xla: the device ``xla`` on whatever PJRT drives, TPUs above all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance.devices.adapter import DeviceAdapter, DeviceDescription, Presence
from conformance.devices.installed import distribution_version, is_importable, versions_of
from conformance.devices.loading import function_of, import_backend, import_torch
from conformance.devices.slices import exclusive_slice, shared_slice, visible_devices
from conformance.errors import InfrastructureError

_PJRT = "PJRT_DEVICE"
# Reading a scalar has to end on the CPU. nonzero and equal are counted by torch_xla in the same way, but there the
# operator itself is computed on the CPU, so they stay.
_READS_A_SCALAR = "aten::_local_scalar_dense"


class _XLAAdapter(DeviceAdapter):
    """Bring the device ``xla``; ``root`` is where the system's files are looked for."""

    device = "xla"
    summary = "pytorch/xla on the device that PJRT_DEVICE names; lazy, counts its fallbacks itself"
    compile_backend = "openxla"
    packages = ("torch_xla",)
    environment_prefixes = ("XLA_", "PJRT_", "TPU_", "LIBTPU_", "XRT_", "NEURON_", "CUDA_VISIBLE_DEVICES", "PT_XLA_")
    fallback_counter_name = "torch_xla counters"
    fallback_note = "torch_xla's counters"
    fork_note = "until the first use"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def presence(self) -> str:
        return self.look().why

    def look(self) -> Presence:
        if not is_importable("torch_xla"):
            return Presence(found=False, why="torch_xla is not installed")
        version = distribution_version("torch-xla") or "unknown"
        kind, count = self._behind()
        return Presence(found=True, why=f"PJRT device {kind}", version=version, count=count)

    def _behind(self) -> tuple[str, int | None]:
        """Return what PJRT drives and the number of those, None if not known; the choice is torch_xla's own."""
        chosen = os.environ.get(_PJRT, "").partition("_")[0].upper()
        chips = len(list((self._root / "dev").glob("accel[0-9]*")))
        if not chosen:
            if chips:
                chosen = "TPU"
            elif is_importable("libneuronxla"):
                chosen = "NEURON"
            else:
                return "CPU, the host's: no accelerator", 1
        if chosen == "CPU":
            return "CPU, the host's: no accelerator", int(os.environ.get("CPU_NUM_DEVICES", "1") or 1)
        return chosen, chips or None if chosen == "TPU" else None

    def load(self) -> None:
        import_torch()
        if not is_importable("torch_xla"):
            raise InfrastructureError(
                "no-device", "the device 'xla' needs torch_xla, which is not installed; install the one for this torch"
            )
        import_backend("torch_xla", device=self.device)

    def device_count(self) -> int | None:
        count = function_of(import_backend("torch_xla.runtime", device=self.device), "addressable_device_count")
        return int(count()) if count is not None else None

    def describe(self) -> DeviceDescription:
        kind, _ = self._behind()
        return DeviceDescription(
            device_name=f"XLA on PJRT device {kind}",
            emulated=False,
            backend="torch_xla",
            backend_version=distribution_version("torch-xla") or "unknown",
            versions=versions_of(("libtpu", "libtpu-nightly", "libneuronxla", "jax", "jaxlib")),
        )

    def is_initialized(self) -> bool:
        internal: Any = getattr(import_backend("torch_xla", device=self.device), "_XLAC", None)
        asked = function_of(internal, "_xla_runtime_is_initialized")  # not public; came with torch_xla 2.3
        return bool(asked()) if asked is not None else True  # unknown: a fork may not be sound

    def worker_environment(self, index: int, count: int) -> Mapping[str, str]:
        if count < 2:
            return {}
        kind, chips = self._behind()
        match kind:
            case "TPU":
                visible = os.environ.get("TPU_VISIBLE_CHIPS")
                if visible is not None:
                    devices = visible_devices(visible, variable="TPU_VISIBLE_CHIPS")
                else:
                    devices = [str(number) for number in range(chips or count)]
                chip = exclusive_slice(devices, worker=index, workers=count, what="TPU chips")[0]
                # One process with one chip, as torch_xla's own configure_one_chip_topology sets it.
                return {
                    "TPU_VISIBLE_CHIPS": chip,
                    "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1",
                    "TPU_PROCESS_BOUNDS": "1,1,1",
                }
            case "CUDA" | "NEURON":
                variable = "CUDA_VISIBLE_DEVICES" if kind == "CUDA" else "NEURON_RT_VISIBLE_CORES"
                if variable not in os.environ:
                    return {variable: str(index)} if kind == "NEURON" else {}
                devices = visible_devices(os.environ[variable], variable=variable)
                if kind == "NEURON":
                    chosen = exclusive_slice(devices, worker=index, workers=count, what="NeuronCores")
                else:
                    chosen = shared_slice(devices, worker=index, workers=count)
                return {variable: ",".join(chosen)} if chosen else {}
            case _:
                return {}

    def fallback_counter(self) -> Callable[[], Mapping[str, int]] | None:
        metrics = import_backend("torch_xla.debug.metrics", device=self.device)
        names = function_of(metrics, "executed_fallback_ops")  # came with torch_xla 2.4
        value_of = function_of(metrics, "counter_value")
        return _Counter(names, value_of) if names is not None and value_of is not None else None


class _Counter:
    """Turn counters that only grow into what was counted since the last call; they are not cleared, tests read them."""

    def __init__(self, names: Callable[[], list[str]], value_of: Callable[[str], int | None]) -> None:
        self._names = names
        self._value_of = value_of
        self._seen: dict[str, int] = {}

    def __call__(self) -> Mapping[str, int]:
        since: dict[str, int] = {}
        for name in self._names():
            value = int(self._value_of(name) or 0)
            before = self._seen.get(name, 0)
            self._seen[name] = value
            # A value below the one before: a test has cleared the counters meanwhile.
            new = value - before if value >= before else value
            if new and name != _READS_A_SCALAR:
                since[name] = new
        return since


XLA = _XLAAdapter()
