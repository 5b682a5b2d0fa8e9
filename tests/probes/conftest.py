"""The fixtures of the emulated device: tests marked ``on_device`` run in children that have it."""

from __future__ import annotations

from tests.emulator.conftest import (
    device_processes,
    neuron,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_pyfunc_call,
)

__all__ = [
    "device_processes",
    "neuron",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_pyfunc_call",
]
