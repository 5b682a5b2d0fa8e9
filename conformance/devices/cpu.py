"""The CPU: the reference that every other device is compared with."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from pathlib import Path

from conformance.devices.adapter import DeviceAdapter, DeviceDescription, Presence
from conformance.devices.installed import installed_torch, lines_of


def _model_name() -> str:
    for line in lines_of(Path("/proc/cpuinfo")):
        name, _, value = line.partition(":")
        if name.strip() == "model name" and value.strip():
            return value.strip()
    return platform.processor() or platform.machine()


class _CPUAdapter(DeviceAdapter):
    device = "cpu"
    summary = "the reference device; nothing can fall back from it"
    fallback_counter_name = "none needed: nothing can fall back from the CPU"
    fallback_note = "none needed"
    # Inductor would run a C++ compiler for every graph, seconds each. This one captures as it does, and runs the
    # functionalised graph operator by operator.
    compile_backend = "aot_eager"

    def look(self) -> Presence:
        torch = installed_torch()
        if torch is None:
            return Presence(found=False, why="torch is not installed")
        return Presence(found=True, why=_model_name(), version=torch.version, count=1)

    def device_count(self) -> int:
        return 1

    def describe(self) -> DeviceDescription:
        import torch

        return DeviceDescription(
            device_name=_model_name(), emulated=False, backend="torch", backend_version=str(torch.__version__)
        )

    def fallback_counter(self) -> Callable[[], Mapping[str, int]]:
        return dict


CPU = _CPUAdapter()
