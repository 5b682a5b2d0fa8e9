"""AWS Trainium: TorchNeuron's device ``neuron``, or the emulator where the package is not installed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from conformance.devices.adapter import DeviceAdapter, DeviceDescription, Presence
from conformance.devices.installed import distribution_version, first_line, is_importable, versions_of
from conformance.devices.loading import function_of, import_backend, import_torch
from conformance.devices.neuron_account import fallback_account
from conformance.devices.slices import exclusive_slice, visible_devices
from conformance.errors import InfrastructureError, UsageError

CHOICE = "CONFORMANCE_NEURON"
CHOICES = ("auto", "emulated", "real")
_VISIBLE = "NEURON_RT_VISIBLE_CORES"
# What is installed beside TorchNeuron: the compiler, the runtime's Python side, the kernel language.
_SDK = ("neuronx-cc", "libneuronxla", "nki", "neuronx-distributed")


def _package_version() -> str | None:
    """Return the version of an installed TorchNeuron, None if there is none.

    The older XLA library has the same package name with versions up to 2.9; it brings no device ``neuron``.
    """
    found = distribution_version("torch-neuronx")
    if found is None:
        return None
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(found).release
    except InvalidVersion:
        return None
    return found if release >= (2, 10) and is_importable("torch_neuronx") else None


class _NeuronAdapter(DeviceAdapter):
    """Bring the device ``neuron``; ``root`` is where the system's files are looked for."""

    device = "neuron"
    summary = "AWS Trainium through TorchNeuron; an emulated stand-in where torch-neuronx is not installed"
    packages = ("torch_neuronx",)
    environment_prefixes = ("NEURON_", "TORCH_NEURONX_", "CONFORMANCE_NEURON")
    fork_note = "until the first use"
    compile_backend = "neuron"  # the emulator registers one of the same name

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._loaded = False

    @property
    def health_is_cheap(self) -> bool:  # type: ignore[override]
        """Tell whether the check is cheap: the real device compiles it, which takes seconds."""
        return self._emulated()

    @property
    def fallback_note(self) -> str:  # type: ignore[override]
        """Return how a fallback is seen, which differs between TorchNeuron and the emulator."""
        return "the emulator's count" if self._emulated() else "TorchNeuron's account where it has one"

    def _emulated(self) -> bool:
        choice = os.environ.get(CHOICE, "auto")
        if choice not in CHOICES:
            raise UsageError("bad-variable", f"{CHOICE}={choice!r} is not one of {', '.join(CHOICES)}")
        if choice == "emulated":
            return True
        found = _package_version()
        if choice == "real" and found is None:
            raise InfrastructureError(
                "no-device",
                f"{CHOICE}=real, but no TorchNeuron (torch-neuronx 2.10 or newer) is installed; "
                f"install it or unset {CHOICE}",
            )
        return found is None

    def environment(self) -> Mapping[str, str]:
        # An installed backend, the older Neuron library too, would take the place that the emulator needs.
        if self._emulated() and entry_points(group="torch.backends"):
            return {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        return {}

    def presence(self) -> str:
        if self._emulated():
            return "emulated"
        return f"torch-neuronx {_package_version()}"

    def look(self) -> Presence:
        if self._emulated():
            from conformance import __version__

            older = distribution_version("torch-neuronx")
            if os.environ.get(CHOICE) == "emulated":
                why = f"the emulator, as {CHOICE}=emulated asks for"
            elif older is not None:
                why = f"the emulator: torch-neuronx {older} is the older XLA library, which has no device 'neuron'"
            else:
                why = "the emulator: torch-neuronx is not installed"
            return Presence(found=True, why=why, version=__version__, count=_emulated_count(), emulated=True)
        found = _package_version() or ""
        chips = len(list((self._root / "dev").glob("neuron[0-9]*")))
        cores = len(list((self._root / "sys/devices/virtual/neuron_device").glob("neuron*/neuron_core*")))
        if not chips and not cores:
            why = "TorchNeuron is installed, but there is no Neuron device, or no driver for it"
            return Presence(found=False, why=why, version=found)
        what = f"{cores} physical NeuronCores" if cores else f"{chips} Neuron devices"
        return Presence(found=True, why=f"TorchNeuron, {what}", version=found, count=cores or None)

    def load(self) -> None:
        if self._loaded:
            return
        if self._emulated():
            from conformance import emulator

            import_torch()
            emulator.load()
        else:
            torch = import_torch()
            import_backend("torch_neuronx", device=self.device)
            module: Any = getattr(torch, "neuron", None)
            if module is None or not module.is_available():
                raise InfrastructureError(
                    "no-device",
                    f"torch-neuronx {_package_version()} is installed, but torch.neuron finds no NeuronCore on this "
                    f"machine; set {CHOICE}=emulated to run the stand-in",
                )
        self._loaded = True

    def device_count(self) -> int | None:
        count = function_of(import_torch().neuron, "device_count")
        return int(count()) if count is not None else None

    def describe(self) -> DeviceDescription:
        if self._emulated():
            from conformance import __version__, emulator

            faults = os.environ.get("CONFORMANCE_NEURON_FAULTS", "")
            injected = f", with injected faults {faults}" if faults else ""
            return DeviceDescription(
                device_name=f"emulated neuron on host memory, profile {emulator.profile().name}{injected}",
                emulated=True,
                backend="emulator",
                backend_version=__version__,
            )
        driver = first_line(self._root / "sys/module/neuron/version")
        return DeviceDescription(
            device_name="AWS Trainium",  # asking the backend for more could initialise the device
            emulated=False,
            backend="torch-neuronx",
            backend_version=_package_version() or "unknown",
            versions=(*versions_of(_SDK), *([("driver", driver)] if driver else [])),
        )

    def is_initialized(self) -> bool:
        module: Any = getattr(import_torch(), "neuron", None)
        return bool(module is not None and module.is_initialized())

    def worker_environment(self, index: int, count: int) -> Mapping[str, str]:
        if count < 2 or self._emulated():
            return {}
        if _VISIBLE not in os.environ:
            return {_VISIBLE: str(index)}
        cores = visible_devices(os.environ[_VISIBLE], variable=_VISIBLE)
        return {_VISIBLE: ",".join(exclusive_slice(cores, worker=index, workers=count, what="NeuronCores"))}

    def fallback_counter(self) -> Callable[[], Mapping[str, int]] | None:
        if not self._emulated():
            package = import_backend("torch_neuronx", device=self.device)
            return fallback_account(package, getattr(import_torch(), "neuron", None))
        from conformance import emulator

        return lambda: emulator.counts(reset=True).fallback


def _emulated_count() -> int | None:
    text = os.environ.get("CONFORMANCE_NEURON_DEVICES", "2")
    return int(text) if text.isdecimal() else None


NEURON = _NeuronAdapter()
