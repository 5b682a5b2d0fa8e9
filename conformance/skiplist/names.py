"""Turn the names that PyTorch gives to tests on one device into device-neutral ones.

``instantiate_device_type_tests`` (torch/testing/_internal/common_device_type.py) makes ``TestFooNPU`` of ``TestFoo``,
or ``TestFooPRIVATEUSE1`` of the first class in a process, and ``test_x_npu_float32`` of ``test_x``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from conformance.skiplist.dtypes import DTYPES_SUFFIX

_PRIVATEUSE1 = "privateuse1"
_OTHERS = ("cpu", "cuda", "xpu", "mps", "meta", "xla", "lazy", "hpu", "npu")


@lru_cache(maxsize=8)
def _ends(device: str) -> re.Pattern[str]:
    return re.compile(rf"_(?:{re.escape(device)}|{_PRIVATEUSE1})({DTYPES_SUFFIX}*)$")


@lru_cache(maxsize=8)
def _class_ends(device: str) -> tuple[str, ...]:
    return (_PRIVATEUSE1.upper(), device.upper())


def neutral(class_name: str, name: str, device: str) -> tuple[str, str] | None:
    """Return class and method without the device, or None where the two do not both carry it.

    Only together are they known to: a class that is called ``TestAutocastNPU`` by its author keeps its name, and so
    does ``test_move_to_npu`` in a class that is not device-generic.
    """
    for end in _class_ends(device):
        if class_name.endswith(end) and len(class_name) > len(end):
            method = neutral_method(name, device)
            return None if method is None else (class_name[: -len(end)], method)
    return None


def neutral_method(name: str, device: str) -> str | None:
    """Return the method without the device that stands at its end or before its dtypes, or None without one."""
    base, bracket, parameters = name.partition("[")
    found = _ends(device).search(base)
    return f"{base[: found.start()]}{found[1]}{bracket}{parameters}" if found and found.start() else None


def other_device(class_name: str, device: str) -> str:
    """Return the device, another one than ``device``, for which a class was made by its name, or nothing."""
    for other in _OTHERS:
        if other != device and class_name.endswith(other.upper()) and len(class_name) > len(other):
            return other
    return ""


def on_device(class_name: str, name: str, device: str) -> tuple[tuple[str, ...], str]:
    """Return the spellings of a device-generic class on a device, and that of the method: the way back.

    Which of the class's two spellings a process uses depends on what it imported before.
    """
    base, bracket, parameters = name.partition("[")
    found = re.search(rf"{DTYPES_SUFFIX}*$", base)
    cut = found.start() if found else len(base)
    classes = tuple(class_name + end for end in _class_ends(device))
    return classes, f"{base[:cut]}_{device}{base[cut:]}{bracket}{parameters}"
