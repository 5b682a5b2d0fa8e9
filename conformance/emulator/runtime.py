"""Load the emulated device into this process and talk to it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from conformance.emulator import build, faults
from conformance.emulator.internals import torch_internal
from conformance.emulator.profile import Profile, find_profile, read_profile
from conformance.errors import InfrastructureError, UsageError

DEVICE = "neuron"
DEVICES_VARIABLE = "CONFORMANCE_NEURON_DEVICES"
_UNNAMED_BACKEND = "privateuseone"
_MAXIMUM_DEVICES = 64


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each overload (``aten::sin.out``) ran on the device, and how often it fell back to the CPU."""

    native: dict[str, int]
    fallback: dict[str, int]


def load(profile: str | None = None) -> None:
    """Make ``neuron`` a device of this process: build and load the library, name the backend, apply the faults.

    ``profile`` is the name or the path of a capability profile; without one CONFORMANCE_NEURON_PROFILE counts, then
    ``default``. A second call with the same profile does nothing. The device is not initialised: a process may still
    fork afterwards. Raises UsageError ("bad-profile", "bad-fault", "bad-devices", "privateuse1-taken",
    "emulator-loaded") and InfrastructureError ("no-compiler", "emulator-build", "cache-unwritable").
    """
    import torch

    wanted = read_profile(find_profile(profile))
    if is_loaded():
        loaded = _profile()
        if profile is not None and wanted != loaded:
            raise UsageError(
                "emulator-loaded",
                f"the emulated device is loaded with the profile '{loaded.name}' and cannot change to "
                f"'{wanted.name}' in the same process; start a new one",
            )
        return
    name = torch_internal("_get_privateuse1_backend_name")()
    if name != _UNNAMED_BACKEND:
        raise UsageError(
            "privateuse1-taken",
            f"the backend '{name}' already uses PyTorch's PrivateUse1 key in this process, and there is only one; "
            "start a process without it (TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps installed backends from loading)",
        )
    devices = _device_count()
    asked_for = faults.faults_from_environment()
    _load_library()
    from conformance.emulator import compiling, device_module, operators

    native = operators.native_overloads(wanted)
    computes = {wide for wide, _ in wanted.compute_as}
    _library().configure(
        devices,
        wanted.memory_bytes,
        _dtype_numbers(wanted.fallback_dtypes),
        _dtype_numbers(wanted.unsupported_dtypes),
        wanted.only_default_memory_format,
        "int64" in computes,
        "float64" in computes,
    )
    _library().register_native(native)
    for fault in asked_for:
        _inject(fault, faults.VARIABLE)
    # Last, so that a profile or a fault that is refused leaves PyTorch as it was.
    torch.utils.rename_privateuse1_backend(DEVICE)
    torch._register_device_module(DEVICE, device_module)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    device_module.profile = wanted
    compiling.provide(wanted)


def is_loaded() -> bool:
    """Tell whether this process has the emulated device."""
    import torch

    module = getattr(torch, DEVICE, None)
    return bool(getattr(module, "is_emulated", False)) and getattr(module, "profile", None) is not None


def inject(operator: str, kind: str | faults.FaultKind, argument: float | None = None, *, from_call: int = 1) -> None:
    """Inject a fault: ``inject("aten::add", "wrong")``, ``inject("aten::sin", "slow", 0.5, from_call=2)``.

    The kinds and their arguments are those of ``faults.FaultKind`` and ``faults.Fault``. A fault replaces the earlier
    one of the same overload. Raises UsageError("bad-fault").
    """
    _require_loaded()
    _inject(faults.make_fault(operator, kind, argument, from_call), "inject")


def clear_faults() -> None:
    """Remove all injected faults, those of the environment too."""
    _require_loaded()
    _library().clear_faults()


def counts(*, reset: bool = True) -> Counts:
    """Return how often each overload ran since the last reset, in all threads of this process."""
    _require_loaded()
    native, fallback = _library().counts(reset)
    return Counts(native=dict(sorted(native.items())), fallback=dict(sorted(fallback.items())))


def profile() -> Profile:
    """Return the profile the device was loaded with."""
    _require_loaded()
    return _profile()


def _profile() -> Profile:
    from conformance.emulator import device_module

    assert device_module.profile is not None
    return device_module.profile


def _inject(fault: faults.Fault, source: str) -> None:
    overloads = faults.overloads_of(fault, source=source)
    _library().inject(overloads, fault.kind.number, fault.argument, fault.from_call)


def _require_loaded() -> None:
    if not is_loaded():
        raise UsageError(
            "emulator-not-loaded", "the emulated neuron device is not loaded in this process: call load() first"
        )


def _library() -> Any:
    import torch

    return torch.ops.conformance_neuron


def _load_library() -> None:
    import torch

    for attempt in ("cached", "rebuilt"):
        path = build.library()
        try:
            torch.ops.load_library(str(path))
        except OSError as error:
            build.forget(path)
            if attempt == "rebuilt":
                raise InfrastructureError(
                    "emulator-build",
                    f"the compiled emulated device {path} cannot be loaded ({error}); "
                    "use the C++ compiler and standard library that this torch was made for",
                ) from error
        else:
            return


def _device_count() -> int:
    text = os.environ.get(DEVICES_VARIABLE, "2")
    if not text.isdecimal() or not 1 <= int(text) <= _MAXIMUM_DEVICES:
        raise UsageError(
            "bad-devices", f"{DEVICES_VARIABLE} is {text!r}: give a number of devices from 1 to {_MAXIMUM_DEVICES}"
        )
    return int(text)


def _dtype_numbers(names: tuple[str, ...]) -> list[int]:
    """Return the C++ ScalarType numbers of the dtypes that this torch has."""
    import torch

    return [_library().dtype_number(getattr(torch, name)) for name in names if hasattr(torch, name)]
