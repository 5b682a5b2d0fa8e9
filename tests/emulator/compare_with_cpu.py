"""Compare the emulated device with the CPU over PyTorch's operator database, float32, forward and backward.

Run as a script: ``python compare_with_cpu.py PROFILE`` prints one JSON object.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections import Counter
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

SAMPLES_PER_OPERATOR = 40

# What these return is uninitialised memory: only shape, strides and dtype can be equal.
_UNDEFINED = frozenset({"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"})


class Mover:
    """Moves the arguments of one call to the device, with their strides and with the memory they share."""

    def __init__(self) -> None:
        self._moved: dict[tuple[int, torch.dtype], torch.Tensor] = {}

    def __call__(self, value: Any) -> Any:
        return pytree.tree_map(self._move, value)

    def _move(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.layout is torch.strided:
                moved = self._whole(value).as_strided(value.size(), value.stride(), value.storage_offset())
            else:
                moved = value.to("neuron")
            return moved.detach().requires_grad_(value.requires_grad)
        if isinstance(value, torch.device):
            return torch.device("neuron")
        return "neuron" if isinstance(value, str) and value == "cpu" else value

    def _whole(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        key = (storage._cdata, tensor.dtype)
        if key not in self._moved:
            self._moved[key] = torch.empty(0, dtype=tensor.dtype).set_(storage).to("neuron")
        return self._moved[key]


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _run(operator: Any, arguments: tuple[Any, Any, Any], *, backward: bool) -> tuple[list[Any], list[Any]]:
    """Return an operator's results, and the gradients of a sum of them with a different weight for each element."""
    first, args, kwargs = arguments
    torch.manual_seed(7)
    results = _tensors(operator(first, *args, **kwargs))
    gradients: list[Any] = []
    outputs = [t for t in results if t.requires_grad and t.is_floating_point()]
    if backward and outputs:
        inputs = [t for t in _tensors(arguments) if t.requires_grad]
        weights = [torch.arange(1, t.numel() + 1, dtype=t.dtype).view(t.shape).to(t.device) for t in outputs]
        loss = sum((t * w).sum() / max(t.numel(), 1) for t, w in zip(outputs, weights, strict=True))
        gradients = list(torch.autograd.grad(loss, inputs, allow_unused=True))
    return [t.detach().cpu() for t in results], [None if g is None else g.detach().cpu() for g in gradients]


def _compare(ours: list[Any], theirs: list[Any], *, undefined: bool) -> None:
    assert [t is None for t in ours] == [t is None for t in theirs]
    for x, y in zip(ours, theirs, strict=True):
        if undefined:
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
        elif x is not None:
            torch.testing.assert_close(x, y, equal_nan=True)


def main(profile: str) -> None:
    """Print how many samples of each operator were refused or different, and what fell back.

    Operators without a sample that runs on the CPU are left out.
    """
    from conformance import emulator

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    emulator.load(profile)
    report: dict[str, Any] = {}
    for op in op_db:
        if torch.float32 not in op.dtypes:
            continue
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        backward = op.supports_autograd and torch.float32 in op.backward_dtypes
        torch.manual_seed(3)
        samples = op.sample_inputs("cpu", torch.float32, requires_grad=backward)
        outcomes: Counter[str] = Counter()
        first = ""
        fallback: set[str] = set()
        gradients = compared = 0
        for sample in itertools.islice(samples, SAMPLES_PER_OPERATOR):
            arguments = (sample.input, sample.args, sample.kwargs)
            try:
                expected = _run(op.op, arguments, backward=backward)
            except Exception:  # jiterator operators are for CUDA only; a few samples show errors on purpose
                continue
            compared += 1
            try:
                moved = Mover()(arguments)
                emulator.counts()
                try:
                    got = _run(op.op, moved, backward=backward)
                finally:
                    fallback.update(emulator.counts().fallback)
            except NotImplementedError as error:
                outcomes["refused"] += 1
                first = first or str(error).splitlines()[0]
                continue
            except Exception as error:
                outcomes["forward different"] += 1
                first = first or f"{type(error).__name__}: {error}".splitlines()[0]
                continue
            for part, ours, theirs in zip(("forward", "backward"), got, expected, strict=True):
                try:
                    _compare(ours, theirs, undefined=name in _UNDEFINED)
                except AssertionError as error:
                    outcomes[f"{part} different"] += 1
                    first = first or " ".join(str(error).split())
            gradients += sum(g is not None for g in expected[1])
        if compared:
            report[name] = {**outcomes, "first": first, "fallback": sorted(fallback), "gradients": gradients}
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
