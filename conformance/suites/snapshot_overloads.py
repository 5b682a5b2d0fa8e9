"""List every ATen overload of the installed torch, and how each is dispatched."""

from __future__ import annotations

from typing import Any

from conformance.model.overload import NAMESPACE, Dispatch, Overload
from conformance.probes.internals import require

# The backends of the CPU, and the composites that stand in for any backend. Keys of other devices are left out: they
# say how the torch at hand was built.
KERNELS = (
    "CPU",
    "SparseCPU",
    "SparseCsrCPU",
    "QuantizedCPU",
    "MkldnnCPU",
    "NestedTensorCPU",
    "CompositeImplicitAutogradNestedTensor",
    Dispatch.IMPLICIT.value,
    Dispatch.EXPLICIT.value,
    Dispatch.NON_FUNCTIONAL.value,
)


def overloads() -> list[Overload]:
    """Return every ATen overload, sorted by name.

    Raises ``InfrastructureError`` (``unsupported-torch``) where torch has no way to list them.
    """
    every = require("torch._C", "_dispatch_get_all_op_names", needed_by="a snapshot of operators")
    return [_overload(name) for name in sorted(set(every())) if name.startswith(NAMESPACE)]


def _overload(name: str) -> Overload:
    overload = overload_named(name)
    return Overload(
        name=name,
        schema=str(overload._schema),
        tags=tuple(sorted(tag.name for tag in overload.tags)),
        kernels=tuple(sorted(key for key in KERNELS if has_kernel(name, key))),
    )


def overload_named(name: str) -> Any:
    """Return the overload that is called ``aten::add.Tensor``, or ``aten::relu`` where it has the default name."""
    import torch

    packet, _, variant = name.removeprefix(NAMESPACE).partition(".")
    return getattr(getattr(torch.ops.aten, packet), variant or "default")


def has_kernel(name: str, key: str) -> bool:
    """Tell whether an overload has a kernel of its own for a dispatch key."""
    has = require("torch._C", "_dispatch_has_kernel_for_dispatch_key", needed_by="a snapshot of operators")
    return bool(has(name, key))
