"""The operators whose work on the CPU says nothing about the operator under test, as data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Operator (all its overloads) -> why it is no fallback. docs/fallbacks.md has the same table; a test compares them.
NOT_A_FALLBACK: Mapping[str, str] = MappingProxyType(
    {
        "aten::_copy_from": "moves values between the device and the CPU: one end of it is the CPU",
        "aten::_copy_from_and_resize": "moves values between the device and the CPU: one end of it is the CPU",
        "aten::_local_scalar_dense": "reads one number (`item`, `tolist`, a condition): Python needs it on the CPU",
        "aten::_pin_memory": "asks for host memory",
        "aten::_to_copy": "makes the copy that `to`, `cpu` and the device's own conversion stand for",
        "aten::copy_": "fills a tensor from another one, wherever either lies",
        "aten::is_pinned": "asks about host memory",
        "aten::record_stream": "tells the allocator about a stream; computes nothing",
    }
)


def is_fallback(overload: str) -> bool:
    """Tell whether an overload that ran on the CPU counts: ``aten::_to_copy.out`` goes by ``aten::_to_copy``."""
    return overload.partition(".")[0] not in NOT_A_FALLBACK
