"""The emulated ``neuron`` device: a PyTorch backend on host memory, for machines without the chip.

Importing this loads neither torch nor the device; ``load()`` does.
"""

from __future__ import annotations

from conformance.emulator.faults import Fault, FaultKind, parse_faults
from conformance.emulator.profile import Profile
from conformance.emulator.runtime import Counts, clear_faults, counts, inject, is_loaded, load, profile

__all__ = [
    "Counts",
    "Fault",
    "FaultKind",
    "Profile",
    "clear_faults",
    "counts",
    "inject",
    "is_loaded",
    "load",
    "parse_faults",
    "profile",
]
