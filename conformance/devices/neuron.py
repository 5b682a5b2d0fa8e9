"""AWS Trainium: TorchNeuron's device ``neuron``, or the emulator where the package is not installed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from conformance.devices.adapter import DeviceAdapter, DeviceDescription
from conformance.errors import InfrastructureError, UsageError

_CHOICE = "CONFORMANCE_NEURON"


def _package_version() -> str | None:
    """Return the version of an installed TorchNeuron, None if there is none.

    The older XLA library has the same package name with versions up to 2.9; it brings no device ``neuron``.
    """
    try:
        found = version("torch-neuronx")
    except PackageNotFoundError:
        return None
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(found).release
    except InvalidVersion:
        return None
    return found if release >= (2, 10) and find_spec("torch_neuronx") is not None else None


class _NeuronAdapter(DeviceAdapter):
    device = "neuron"
    summary = "AWS Trainium through TorchNeuron; an emulated stand-in where torch-neuronx is not installed"
    environment_prefixes = ("NEURON_", "TORCH_NEURONX_", "CONFORMANCE_NEURON")

    def __init__(self) -> None:
        self._loaded = False

    @property
    def health_is_cheap(self) -> bool:  # type: ignore[override] # the real device compiles the check, in seconds
        return self._emulated()

    def _emulated(self) -> bool:
        choice = os.environ.get(_CHOICE, "auto")
        if choice == "emulated":
            return True
        found = _package_version()
        if choice == "real":
            if found is None:
                raise InfrastructureError(
                    "no-device",
                    f"{_CHOICE}=real, but no TorchNeuron (torch-neuronx 2.10 or newer) is installed; "
                    f"install it or unset {_CHOICE}",
                )
            return False
        if choice != "auto":
            raise UsageError("bad-variable", f"{_CHOICE}={choice!r} is not one of auto, emulated, real")
        return found is None

    def presence(self) -> str:
        if self._emulated():
            return "emulated"
        return f"torch-neuronx {_package_version()}"

    def load(self) -> None:
        if self._loaded:
            return
        if self._emulated():
            from conformance import emulator

            emulator.load()
        else:
            import importlib

            import torch

            try:
                importlib.import_module("torch_neuronx")
            except Exception as error:
                raise InfrastructureError(
                    "no-device", f"torch-neuronx {_package_version()} cannot be imported: {error}"
                ) from error
            module: Any = getattr(torch, "neuron", None)
            if module is None or not module.is_available():
                raise InfrastructureError(
                    "no-device",
                    f"torch-neuronx {_package_version()} is installed, but torch.neuron finds no NeuronCore on this "
                    f"machine; set {_CHOICE}=emulated to run the stand-in",
                )
        self._loaded = True

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
        return DeviceDescription(
            device_name="AWS Trainium",  # asking the backend for more could initialise the device
            emulated=False,
            backend="torch-neuronx",
            backend_version=_package_version() or "unknown",
        )

    def is_initialized(self) -> bool:
        import torch

        module: Any = getattr(torch, "neuron", None)
        return bool(module is not None and module.is_initialized())

    def worker_environment(self, index: int, count: int) -> Mapping[str, str]:
        if count < 2 or self._emulated() or "NEURON_RT_VISIBLE_CORES" in os.environ:
            return {}
        return {"NEURON_RT_VISIBLE_CORES": str(index)}

    def fallback_counter(self) -> Callable[[], Mapping[str, int]] | None:
        if not self._emulated():
            return None
        from conformance import emulator

        return lambda: emulator.counts(reset=True).fallback


NEURON = _NeuronAdapter()
