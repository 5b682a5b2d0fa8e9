"""Make sample inputs on the CPU from a fixed seed and carry them to the device unchanged."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from unittest import mock

import numpy
import torch
from torch.utils import _pytree as pytree

from conformance.suites.account import reference
from conformance.suites.selection import ACTIVE, SEED


def seed_everything(seed: int = SEED) -> None:
    """Seed every generator that samples or operators draw from, so that each test sees the same numbers anywhere.

    ``torch.manual_seed`` also seeds the devices that are not in use: for each it formats a stack trace and queues a
    call, which took a quarter of a run.
    """
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.default_generator.manual_seed(seed)
    if ACTIVE.device != "cpu":
        seed_device = getattr(getattr(torch, ACTIVE.device, None), "manual_seed_all", None)
        if seed_device is not None:
            seed_device(seed)


def on_cpu(call: Callable[[], Any], *, seed: int) -> tuple[Any, bool]:
    """Compute the CPU's answer; tell whether it drew random numbers, since then only its kind can be compared.

    Raises ``ReferenceRaised`` where the CPU itself cannot do it.
    """
    seed_everything(seed)
    before = torch.get_rng_state()
    with _watched_seeding() as drew, reference():
        result = call()
    return result, bool(drew) or not torch.equal(before, torch.get_rng_state())


@contextlib.contextmanager
def _watched_seeding() -> Iterator[list[bool]]:
    """Notice random numbers that an OpInfo draws from a seed of its own, leaving the generator as it was.

    ``torch.testing._utils.wrapper_set_seed``, by the name that common_methods_invocations.py calls it, does so.
    """
    from torch.testing._internal import common_methods_invocations

    drew: list[bool] = []
    original = getattr(common_methods_invocations, "wrapper_set_seed", None)  # since torch 1.11
    if original is None:
        yield drew
        return

    def watched(op: Any, *args: Any, **keywords: Any) -> Any:
        def run(*args: Any, **keywords: Any) -> Any:
            before = torch.get_rng_state()
            result = op(*args, **keywords)
            if not torch.equal(before, torch.get_rng_state()):
                drew.append(True)
            return result

        return original(run, *args, **keywords)

    with mock.patch.object(common_methods_invocations, "wrapper_set_seed", watched):
        yield drew


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


def sample_inputs(op: Any, dtype: torch.dtype, *, requires_grad: bool) -> Iterator[tuple[int, Any]]:
    """Yield the samples of an OpInfo, made on the CPU, with their numbers.

    This is ``OpInfo.sample_inputs`` without its tracking of the sample at hand, which walks the whole call stack for
    every test: it took half of a run. ``PYTORCH_OPINFO_SAMPLE_INPUT_INDEX`` still chooses one sample.
    """
    return _chosen(enumerate_samples(op.sample_inputs_func(op, "cpu", dtype, requires_grad)))


def error_inputs(op: Any) -> Iterator[tuple[int, Any]]:
    """Yield the samples that an OpInfo documents as errors, made on the CPU, with their numbers."""
    return _chosen(enumerate_samples(op.error_inputs_func(op, "cpu")))


def _chosen(samples: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    wanted = os.environ.get("PYTORCH_OPINFO_SAMPLE_INPUT_INDEX")
    return samples if not wanted else ((index, sample) for index, sample in samples if str(index) == wanted)


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
