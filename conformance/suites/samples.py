"""Make sample inputs on the CPU from a fixed seed and carry them to the device unchanged."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy
import torch
from torch.utils import _pytree as pytree

from conformance.suites.account import reference

SEED = 20261130


def seed_everything(seed: int = SEED) -> None:
    """Seed every generator that samples or operators draw from, so that each test sees the same numbers anywhere."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def on_cpu(call: Callable[[], Any], *, seed: int) -> tuple[Any, bool]:
    """Compute the CPU's answer; tell whether it drew random numbers, since then only its kind can be compared.

    Raises ``ReferenceRaised`` where the CPU itself cannot do it.
    """
    seed_everything(seed)
    before = torch.get_rng_state()
    with reference():
        result = call()
    return result, not torch.equal(before, torch.get_rng_state())


def move_tensor(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """Copy a CPU tensor to ``device`` with its sizes, strides, offset, conjugate and negative bits, and requires_grad.

    A plain ``.to`` would make expanded, strided and lazily conjugated inputs contiguous, and so test something else.
    """
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(move_tensor(tensor.data, device), requires_grad=tensor.requires_grad)
    with torch.no_grad():
        moved = _copy_with_layout(tensor.detach(), device)
    return moved.requires_grad_(tensor.requires_grad) if tensor.requires_grad else moved


def _copy_with_layout(plain: torch.Tensor, device: str) -> torch.Tensor:
    if plain.device.type != "cpu":
        return plain  # an error sample that is meant to be elsewhere
    if plain.layout != torch.strided or plain.is_quantized or plain.is_nested:
        return plain.clone() if device == "cpu" else plain.to(device)
    conjugate, negative = plain.is_conj(), plain.is_neg()
    if conjugate:
        plain = plain.conj()
    if negative:
        plain = torch._neg_view(plain)
    elements = _span(plain)
    if elements == plain.numel() and plain.storage_offset() == 0 and plain.is_contiguous():
        copy = plain.clone(memory_format=torch.preserve_format) if device == "cpu" else plain.to(device)
    else:
        flat = torch.as_strided(plain, (elements,), (1,), plain.storage_offset()) if elements else plain.new_empty(0)
        flat = flat.clone() if device == "cpu" else flat.to(device)
        copy = torch.as_strided(flat, plain.size(), plain.stride(), 0)
    if negative:
        copy = torch._neg_view(copy)
    return copy.conj() if conjugate else copy


def _span(tensor: torch.Tensor) -> int:
    if tensor.numel() == 0:
        return 0
    return 1 + int(sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True)))


class Carrier:
    """Carry nested values to one device; what is one tensor, or one memory, on the CPU is one on the device."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._seen: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._shared: dict[int, torch.Tensor] = {}

    def __call__(self, value: Any) -> Any:
        """Return ``value`` with every tensor and device in it carried over."""
        owners: dict[int, set[int]] = {}
        for tensor in tensors(value):
            if _has_memory(tensor):
                owners.setdefault(tensor.untyped_storage().data_ptr(), set()).add(id(tensor))
        overlapping = {pointer for pointer, ids in owners.items() if len(ids) > 1}
        return pytree.tree_map(lambda leaf: self._leaf(leaf, overlapping), value)

    def _leaf(self, value: Any, overlapping: set[int]) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self._seen:
                self._seen[id(value)] = (value, self._tensor(value, overlapping))
            return self._seen[id(value)][1]
        if isinstance(value, torch.device) and value.type == "cpu":
            return torch.device(self._device)
        if isinstance(value, str) and value == "cpu":
            return self._device
        return value

    def _tensor(self, tensor: torch.Tensor, overlapping: set[int]) -> torch.Tensor:
        if not _has_memory(tensor) or tensor.untyped_storage().data_ptr() not in overlapping:
            return move_tensor(tensor, self._device)
        pointer = tensor.untyped_storage().data_ptr()
        with torch.no_grad():
            if pointer not in self._shared:
                whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())  # type: ignore[call-overload,unused-ignore]
                self._shared[pointer] = whole.clone() if self._device == "cpu" else whole.to(self._device)
            whole = self._shared[pointer]
            typed = torch.empty(0, dtype=tensor.dtype, device=self._device)
            view = typed.set_(whole.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())
        return view.requires_grad_(tensor.requires_grad) if tensor.requires_grad else view


def _has_memory(tensor: torch.Tensor) -> bool:
    """Tell whether the tensor is a plain strided one whose storage can be looked at."""
    return (
        type(tensor) is torch.Tensor
        and tensor.layout == torch.strided
        and tensor.device.type == "cpu"
        and tensor.numel() > 0
        and not (tensor.is_nested or tensor.is_quantized or tensor.is_conj() or tensor.is_neg())
    )


def tensors(value: Any) -> list[torch.Tensor]:
    """Return every tensor in a nested value, in order."""
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def describe(value: Any) -> str:
    """Return one line with the shapes, dtypes and plain values of a nested sample."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        extra = "" if value.layout == torch.strided else f" {str(value.layout).removeprefix('torch.')}"
        if not extra and not value.is_contiguous():
            extra = f" strides {list(value.stride())}"
        return f"{dtype}{list(value.shape)}{extra}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}={describe(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(describe(item) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def describe_sample(index: int, sample: Any) -> str:
    """Return one line for an OpInfo sample: its index, input, arguments and keywords."""
    parts = [describe(sample.input), *(describe(item) for item in sample.args)]
    parts.extend(f"{key}={describe(item)}" for key, item in sample.kwargs.items())
    return f"sample {index}: {', '.join(parts)}"


def enumerate_samples(samples: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each sample of an OpInfo with its number, seeded so that it does not depend on those before it.

    A generator draws lazily: seeding between samples makes sample N the same whether or not the others were run.
    """
    iterator = iter(samples)
    index = 0
    while True:
        seed_everything(SEED + index)
        try:
            sample = next(iterator)
        except StopIteration:
            return
        yield index, sample
        index += 1


def forget_tracked_input() -> None:
    """Keep PyTorch from naming the last sample that was drawn as the cause of a failure.

    Its ``@ops`` wrapper adds the sample that is being iterated when a test raises; the suites raise after the last.
    """
    from torch.testing._internal import common_utils

    clear = getattr(common_utils, "clear_tracked_input", None)  # from torch 2.2 on
    if clear is not None:
        clear()
