"""First and second order gradients of an operator or module, taken the same way on any device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from conformance.suites.samples import move_tensor, tensors


def differentiable(value: Any) -> list[torch.Tensor]:
    """Return the tensors of a nested value that take part in autograd."""
    return [tensor for tensor in tensors(value) if tensor.requires_grad]


def cotangents(outputs: Sequence[torch.Tensor], *, seed: int) -> list[torch.Tensor]:
    """Return seeded CPU tensors, one shaped like each output, to start a backward with."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for output in outputs:
        real = torch.randn(output.shape, generator=generator, dtype=torch.float64)
        if output.dtype.is_complex:
            made.append(
                torch.complex(real, torch.randn(output.shape, generator=generator, dtype=torch.float64)).to(
                    output.dtype
                )
            )
        else:
            made.append(real.to(output.dtype))
    return made


def first_order(
    call: Callable[[], Any],
    inputs: Sequence[torch.Tensor],
    *,
    device: str,
    seed: int,
    window: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> tuple[Any, list[torch.Tensor | None]]:
    """Run ``call`` and its backward; return its result and one gradient (or None) for each input.

    ``window`` is opened around what the operator does, not around the making of what its backward starts with.
    """
    with window():
        result = call()
    outputs = differentiable(result)
    if not outputs or not inputs:
        return result, []
    starts = [move_tensor(start, device) for start in cotangents(outputs, seed=seed)]
    with window():
        return result, list(torch.autograd.grad(outputs, inputs, starts, allow_unused=True))


def second_order(
    call: Callable[[], Any],
    inputs: Sequence[torch.Tensor],
    *,
    device: str,
    seed: int,
    window: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> list[torch.Tensor | None]:
    """Run ``call``, its backward, and the backward of that; return one second-order gradient (or None) an input."""
    with window():
        outputs = differentiable(call())
    if not outputs or not inputs:
        return []
    starts = [move_tensor(start, device).requires_grad_() for start in cotangents(outputs, seed=seed)]
    with window():
        first = torch.autograd.grad(outputs, inputs, starts, allow_unused=True, create_graph=True)
    again = [gradient for gradient in first if gradient is not None and gradient.requires_grad]
    if not again:
        return []
    wanted = [*inputs, *starts]
    second_starts = [move_tensor(start, device) for start in cotangents(again, seed=seed + 1)]
    with window():
        return list(torch.autograd.grad(again, wanted, second_starts, allow_unused=True))
