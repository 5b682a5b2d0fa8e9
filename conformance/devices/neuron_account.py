"""TorchNeuron's own account of what fell back, where the installed version keeps one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.devices.loading import function_of

# Seen in early public copies only, so none of them is taken for granted.
_LIST, _CLEAR = "get_fallback_ops", "clear_op_tracking"


def fallback_account(package: Any, device_module: Any) -> Callable[[], Mapping[str, int]] | None:
    """Return a function that gives the overloads that fell back since it was called before, None if there is none.

    ``package`` is ``torch_neuronx``, ``device_module`` is ``torch.neuron``. The account is a set for the whole
    process: every overload counts as one call. It is complete only once the device has been waited for.
    """
    listed = function_of(package, _LIST)
    clear = function_of(package, _CLEAR)
    wait = function_of(device_module, "synchronize")
    in_use = function_of(device_module, "is_initialized")
    if listed is None or clear is None or wait is None or in_use is None:
        return None

    def take() -> Mapping[str, int]:
        if not in_use():
            return {}  # waiting would claim a NeuronCore for a test that does not use one
        with contextlib.suppress(RuntimeError):
            wait()  # what failed on the device belongs to the test, which meets it when it reads its result
        names = list(listed())
        clear()
        return dict.fromkeys(overload_names(names), 1)

    return take


def overload_names(names: Iterable[object]) -> list[str]:
    """Return names as the dispatcher writes them: ``add.Tensor`` and ``aten.add.Tensor`` are ``aten::add.Tensor``.

    A name without an overload stays without one: which it was is not known.
    """
    found = set()
    for name in names:
        text = str(name).strip().removeprefix("torch.ops.").removesuffix(".default")
        if not text:
            continue
        if "::" not in text:
            text = f"aten::{text.removeprefix('aten.')}"
        found.add(text)
    return sorted(found)
