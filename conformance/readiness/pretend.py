"""A device that is not there: tensors that say they are on it, and compute on the CPU.

What PyTorch calls depends on the device: attention, dropout and LSTM take other operators on the CPU than elsewhere.
So a model is captured on tensors whose device is the one that is asked about. Each holds a CPU tensor, on which every
call below autograd is carried out; an operator that the CPU does not have gives zeros of the right shape.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.probes.internals import require

_UNNAMED = "privateuseone"
# In torch/utils/backend_registration.py of torch 2.13; `why_not` asks whether it is there.
_SETUP = "_setup_privateuseone_for_python_backend"
_NEEDED_BY = "`conformance model --against`"
_Mode: Any = require("torch.utils._python_dispatch", "TorchDispatchMode", needed_by=_NEEDED_BY)
_make_wrapper: Any = require("torch", "Tensor._make_wrapper_subclass", needed_by=_NEEDED_BY)
# They give Python numbers, or tell whether tensors are equal: no tensor of the device comes out.
_TO_PYTHON = ("aten::_local_scalar_dense", "aten::equal", "aten::is_same_size")
_IN_TREE = frozenset({"cpu", "cuda", "xpu", "mps", "xla", "meta", "hpu", "mtia", "ipu", "lazy", "vulkan"})


def why_not(device: str) -> str | None:
    """Return why this torch cannot pretend to have the device, None where it can."""
    if device in _IN_TREE:
        return f"'{device}' is a device of PyTorch's own, which this process cannot pretend to have"
    registration = importlib.import_module("torch.utils.backend_registration")
    if not hasattr(registration, _SETUP):
        return f"torch {torch.__version__} has no torch.utils.backend_registration.{_SETUP}"
    taken = require("torch._C", "_get_privateuse1_backend_name", needed_by=_NEEDED_BY)()
    return None if taken == _UNNAMED else f"the backend '{taken}' is loaded in this process"


def set_up(device: str) -> Any:
    """Make the device known to this process; call it once, where ``why_not`` gives None, and keep what it returns.

    Overloads that have a kernel of the CPU's, and could be made of others instead, are taken to have one of the
    device's: PyTorch would take them apart before anything is seen of them.
    """
    registration = importlib.import_module("torch.utils.backend_registration")
    getattr(registration, _SETUP)(device)
    every = require("torch._C", "_dispatch_get_all_op_names", needed_by=_NEEDED_BY)
    has = require("torch._C", "_dispatch_has_kernel_for_dispatch_key", needed_by=_NEEDED_BY)
    library = torch.library.Library("aten", "IMPL")
    for name in every():
        if name.startswith("aten::") and has(name, "CompositeImplicitAutograd") and has(name, "CPU"):
            library.impl(name.removeprefix("aten::"), _never_called, "PrivateUse1")
    return library


def _never_called(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG001 - it stands for operators of any form
    raise AssertionError("a call on a device that is not there has not been carried out on the CPU")


def move(module: torch.nn.Module, device: str) -> None:
    """Put a module on the device; what two modules share they share afterwards, unlike after ``Module.to``."""
    known: dict[int, torch.Tensor] = {}

    def moved(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in known:
            there = tensor.detach().to(device)
            if isinstance(tensor, torch.nn.Parameter):
                there = torch.nn.Parameter(there, requires_grad=tensor.requires_grad)
            known[id(tensor)] = there
        return known[id(tensor)]

    for part in module.modules():
        for held in (part._parameters, part._buffers):
            for name, tensor in held.items():
                if tensor is not None:
                    held[name] = moved(tensor)  # type: ignore[assignment,unused-ignore]


class Pretended(torch.Tensor):  # type: ignore[misc,unused-ignore]
    """A tensor on the device that is not there; ``held`` is the CPU tensor with its values."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor, device: torch.device) -> Pretended:  # noqa: D102
        made: Any = _make_wrapper(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=device,
        )
        made.held = held
        return made  # type: ignore[no-any-return]

    __torch_function__ = require("torch._C", "_disabled_torch_function_impl", needed_by=_NEEDED_BY)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return carried_out(func, args, kwargs or {})

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"Pretended({list(self.held.shape)}, {self.held.dtype})"


class Pretending(_Mode):  # type: ignore[misc,valid-type,unused-ignore]
    """Carry out what is asked of the device while no tensor of it is there yet: ``torch.ones(2, device=...)``."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return carried_out(func, args, kwargs or {}, device=self._device)


def carried_out(func: Any, args: Any, kwargs: dict[str, Any], *, device: str | None = None) -> Any:
    """Run one overload on the CPU tensors that are held; what it makes for the device is wrapped again."""
    given = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Pretended)]
    place = given[0].device if given else None
    asked = kwargs.get("device")
    if asked is not None:
        asked = torch.device(asked)
        if asked.type == device or (given and asked.type == given[0].device.type):
            place = torch.device(asked.type, 0)
            kwargs = {**kwargs, "device": torch.device("cpu")}
        else:
            place = None
    if getattr(getattr(func, "_schema", None), "name", "") in _TO_PYTHON:
        place = None
    cpu_args, cpu_kwargs = pytree.tree_map(_held, (args, kwargs))
    result = _on_cpu(func, cpu_args, cpu_kwargs)
    if place is None:
        return result
    known = {id(tensor.held): tensor for tensor in given}

    def wrapped(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        own = known.get(id(leaf))  # what an in-place operator returns is the tensor that it was given
        if own is None:
            return Pretended(leaf, place)
        if own.shape != leaf.shape:
            raise RuntimeError(f"{func} changes the shape of a tensor in place, which cannot be pretended")
        return own

    return pytree.tree_map(wrapped, result)


def _held(leaf: Any) -> Any:
    return leaf.held if isinstance(leaf, Pretended) else leaf


def _on_cpu(func: Any, args: Any, kwargs: Any) -> Any:
    try:
        return func(*args, **kwargs)
    except NotImplementedError:
        # Such as the LSTM cell that PyTorch has for accelerators only: its shapes are those of the meta kernel.
        shapes = func(*pytree.tree_map(_on_meta, args), **pytree.tree_map(_on_meta, kwargs))
        return pytree.tree_map(
            lambda leaf: torch.zeros(leaf.shape, dtype=leaf.dtype) if isinstance(leaf, torch.Tensor) else leaf, shapes
        )


def _on_meta(leaf: Any) -> Any:
    return leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf
