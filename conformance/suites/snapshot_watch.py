"""See which overloads reach a backend while something runs on the CPU, through operators made of other operators."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.model.overload import NAMESPACE, Dispatch
from conformance.probes.internals import require
from conformance.suites.snapshot_overloads import has_kernel

_NEEDED_BY = "a snapshot of operators"
_Mode: Any = require("torch.utils._python_dispatch", "TorchDispatchMode", needed_by=_NEEDED_BY)
_DispatchKey: Any = require("torch._C", "DispatchKey", needed_by=_NEEDED_BY)
_COMPOSITES = (Dispatch.NON_FUNCTIONAL, Dispatch.EXPLICIT, Dispatch.IMPLICIT)
_BY_LAYOUT = {
    torch.strided: "CPU",
    torch.sparse_coo: "SparseCPU",
    torch.sparse_csr: "SparseCsrCPU",
    torch.sparse_csc: "SparseCsrCPU",
    torch.sparse_bsr: "SparseCsrCPU",
    torch.sparse_bsc: "SparseCsrCPU",
}


class Watch(_Mode):  # type: ignore[misc,valid-type,unused-ignore]
    """Collect in ``seen`` the full name of every overload that is called below autograd.

    PyTorch shows a dispatch mode an overload, but not what the overload is made of. Where it has no kernel for the
    tensors at hand, so that a composite answers, that one is called from here with the mode on again: ``aten::stack``
    shows ``aten::cat``. What a kernel of the CPU's own does inside is not shown, as no other backend would do it.
    With ``deep`` False no composite is looked into.
    """

    def __init__(self, *, deep: bool = True) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self._deep = deep
        self._open: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)
        if schema is None:  # no overload, but a function of higher order, such as torch.cond
            return func(*args, **kwargs)
        name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)
        self.seen.add(name)
        args = tuple(map(_tensor_for_number, args, schema.arguments))
        key = self._composite(name, args, kwargs)
        # One that calls itself, as detach does while a mode is on, would do so for ever.
        if key is None or name in self._open:
            return func(*args, **kwargs)
        self._open.add(name)
        try:
            with self:
                return func._op_dk(key, *args, **kwargs)
        finally:
            self._open.remove(name)

    def _composite(self, name: str, args: Any, kwargs: Any) -> Any | None:
        """Return the key of the composite that answers this call; None where a kernel does, or nobody can tell."""
        if not self._deep or not name.startswith(NAMESPACE):
            return None
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        backends = {_backend(tensor) for tensor in tensors}
        return None if None in backends else _composite_of(name, frozenset(backends or {"CPU"}))


def _tensor_for_number(value: Any, argument: Any) -> Any:
    """Return a tensor where a number stands for one: a kernel may call with a number made a tensor, and be shown so."""
    if isinstance(value, (bool, int, float, complex)) and str(argument.type) == "Tensor":
        return torch.tensor(value)
    return value


def _backend(tensor: torch.Tensor) -> str | None:
    """Return the dispatch key of a plain CPU tensor's backend, None for any other tensor."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.device.type != "cpu":
        return None
    if tensor.is_nested:
        return "NestedTensorCPU"
    if tensor.is_quantized:
        return "QuantizedCPU"
    return _BY_LAYOUT.get(tensor.layout)


@cache
def _composite_of(name: str, backends: frozenset[str]) -> Any | None:
    if any(has_kernel(name, backend) for backend in backends):
        return None
    way = next((way for way in _COMPOSITES if has_kernel(name, way.value)), None)
    return None if way is None else getattr(_DispatchKey, way.value)


def check_torch_can_be_watched() -> None:
    """Raise ``InfrastructureError`` (``unsupported-torch``) where torch cannot call a composite by its key."""
    require("torch", "ops.aten.add.Tensor._op_dk", needed_by=_NEEDED_BY)
