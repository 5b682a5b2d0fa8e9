"""The CPU: the reference that every other device is compared with."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from pathlib import Path

from conformance.devices.adapter import DeviceAdapter, DeviceDescription


def _model_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name" and value.strip():
            return value.strip()
    return platform.processor() or platform.machine()


class _CPUAdapter(DeviceAdapter):
    device = "cpu"
    summary = "the reference device; nothing can fall back from it"
    fallback_counter_name = "none needed: nothing can fall back from the CPU"

    def describe(self) -> DeviceDescription:
        import torch

        return DeviceDescription(
            device_name=_model_name(), emulated=False, backend="torch", backend_version=str(torch.__version__)
        )

    def fallback_counter(self) -> Callable[[], Mapping[str, int]]:
        return dict


CPU = _CPUAdapter()
