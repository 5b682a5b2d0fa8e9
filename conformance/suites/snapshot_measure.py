"""Measure which overloads an operator reaches, by running its samples on the CPU."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.analysis.signature import signature
from conformance.model.overload import Phase, Unmeasured
from conformance.suites import gradients
from conformance.suites.parametrize import preferred_dtype
from conformance.suites.samples import enumerate_samples, seed_everything, tensors
from conformance.suites.selection import SEED
from conformance.suites.snapshot_watch import Watch

DTYPES = "the first that the OpInfo declares of each kind: floating-point, complex, integer, bool"
MAKING_SAMPLES = "samples"
_REASON_LIMIT = 160
_KINDS: tuple[Callable[[torch.dtype], bool], ...] = (
    lambda dtype: dtype.is_floating_point,
    lambda dtype: dtype.is_complex,
    lambda dtype: not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool),
    lambda dtype: dtype == torch.bool,
)


def dtypes_to_measure(supported: Sequence[torch.dtype] | set[torch.dtype]) -> list[torch.dtype]:
    """Return the dtypes that ``DTYPES`` describes; the first is float32, or the next that PyTorch prefers."""
    kinds = ([dtype for dtype in supported if kind(dtype)] for kind in _KINDS)
    return [dtype for kind in kinds for dtype in preferred_dtype(kind) if dtype is not None]


@dataclass(slots=True)
class Measured:
    """What came out for one operator; the fields are those of OperatorRecord."""

    samples: dict[str, int] = field(default_factory=dict)
    complete: bool = True
    _reached: dict[Phase, set[str]] = field(default_factory=lambda: {phase: set() for phase in Phase})
    _unmeasured: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    @property
    def reached(self) -> dict[Phase, tuple[str, ...]]:
        """Return the overloads of each phase, sorted."""
        return {phase: tuple(sorted(overloads)) for phase, overloads in self._reached.items()}

    @property
    def unmeasured(self) -> tuple[Unmeasured, ...]:
        """Return what raised, with the number of samples for each dtype, phase and reason, sorted."""
        return tuple(
            Unmeasured(dtype=dtype, phase=phase, samples=count, reason=reason)
            for (dtype, phase, reason), count in sorted(self._unmeasured.items())
        )

    def watch(self, dtype: str, phase: Phase, call: Callable[[], Any]) -> tuple[bool, Any]:
        """Run a call and add what it reaches; return whether it could be run, and its result.

        A call may raise only because it is watched: then composites are not looked into, or it is not watched at all,
        and that is recorded too. What was seen up to there counts.
        """
        deep, flat = Watch(), Watch(deep=False)
        notes = []
        for watch, what in ((deep, "composites not looked into"), (flat, "not watched"), (nullcontext(), "")):
            seed_everything(SEED)
            try:
                with watch:
                    result = call()
            except Exception as error:
                notes.append(f"{what}: {_reason(error)}" if what else _reason(error))
                continue
            self._reached[phase] |= deep.seen | flat.seen
            if notes:
                self.note(dtype, phase.value, notes[-1])
            return True, result
        self.note(dtype, phase.value, notes[-1])
        return False, None

    def note(self, dtype: str, phase: str, reason: str, *, samples: int = 1) -> None:
        """Record that a sample could not be measured."""
        self._unmeasured[dtype, phase, reason] += samples


def measure(op: Any, *, limit: int) -> Measured:
    """Run at most ``limit`` samples of each dtype to be measured: all forms of the operator, and its backward."""
    measured = Measured()
    chosen = dtypes_to_measure(op.supported_dtypes("cpu"))
    if not chosen:
        measured.note("", MAKING_SAMPLES, "declares no dtype for the CPU", samples=0)
    differentiable = op.supported_backward_dtypes("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations of operators say nothing about what they reach
        for dtype in chosen:
            name = str(dtype).removeprefix("torch.")
            measured.samples[name] = 0
            for sample in _samples(measured, op, dtype, limit, requires_grad=False):
                measured.samples[name] += 1
                _measure_forms(measured, op, name, sample)
            if dtype in differentiable:
                for sample in _samples(measured, op, dtype, limit, requires_grad=True):
                    _measure_backward(measured, op, name, sample)
            if not measured.samples[name] and not any(item.dtype == name for item in measured.unmeasured):
                measured.note(name, MAKING_SAMPLES, "PyTorch gives no sample", samples=0)
    return measured


def _samples(measured: Measured, op: Any, dtype: torch.dtype, limit: int, *, requires_grad: bool) -> Iterator[Any]:
    """Yield samples up to the limit; note where there are more, or where PyTorch cannot make them."""
    # Not by way of sample_inputs, which a variable lets choose a single sample.
    samples = enumerate_samples(op.sample_inputs_func(op, "cpu", dtype, requires_grad))
    try:
        for _, sample in itertools.islice(samples, limit):
            yield sample
        if next(samples, None) is not None:
            measured.complete = False
    except Exception as error:
        measured.note(str(dtype).removeprefix("torch."), MAKING_SAMPLES, _reason(error), samples=0)


def _measure_forms(measured: Measured, op: Any, dtype: str, sample: Any) -> None:
    # In inference mode autograd takes no composite apart before it can be seen.
    with torch.inference_mode():
        ran, result = measured.watch(dtype, Phase.FORWARD, lambda: _call(op, sample))
        if not ran:
            return
        for form, in_place in _forms(op, sample):
            if in_place and not fits_in_place(sample, result):
                continue
            first = sample.input.clone() if in_place else sample.input
            measured.watch(dtype, Phase.VARIANTS, partial(form, first, *sample.args, **sample.kwargs))
        if op.supports_out and tensors(result):
            out = pytree.tree_map(lambda x: torch.empty_like(x) if isinstance(x, torch.Tensor) else x, result)
            measured.watch(dtype, Phase.OUT, lambda: _call(op, sample, out=out))


def _measure_backward(measured: Measured, op: Any, dtype: str, sample: Any) -> None:
    ran, result = measured.watch(dtype, Phase.FORWARD, lambda: _call(op, sample))
    outputs = gradients.differentiable(result)
    inputs = gradients.differentiable((sample.input, sample.args, sample.kwargs))
    if not ran or not outputs or not inputs:
        return
    try:
        starts = _cotangents(sample, result, outputs)
    except Exception as error:
        measured.note(dtype, Phase.BACKWARD.value, _reason(error))
        return
    through = [(output, start) for output, start in zip(outputs, starts, strict=True) if start is not None]
    if not through:
        return
    measured.watch(
        dtype,
        Phase.BACKWARD,
        lambda: torch.autograd.grad(
            [output for output, _ in through],
            inputs,
            [start for _, start in through],
            allow_unused=True,
            retain_graph=True,  # a call that raises while it is watched is tried again
        ),
    )


def _cotangents(sample: Any, result: Any, outputs: list[torch.Tensor]) -> Sequence[torch.Tensor | None]:
    """Return what the backward of the operator starts with, one for each output.

    The sample's own function takes out of the result what is free to choose, such as the phase of an eigenvector; only
    then is a gradient defined. Its backward is gone through here, so that it is not taken for the operator's.
    """
    ends = gradients.differentiable(sample.output_process_fn_grad(result))
    starts = gradients.cotangents(ends, seed=SEED)
    return list(torch.autograd.grad(ends, outputs, starts, allow_unused=True, retain_graph=True))


def _forms(op: Any, sample: Any) -> Iterator[tuple[Any, bool]]:
    """Yield the other forms of an operator that the sample can be given to, and whether each works in place."""
    operands = not sample.kwargs and len(sample.args) <= 1  # a symbol such as + takes its operands and nothing else
    for form, in_place, fits in (
        (op.method_variant, False, True),
        (op.operator_variant, False, operands),
        (op.inplace_variant, True, True),
        (op.inplace_operator_variant, True, operands),
    ):
        if form is not None and fits:
            yield form, in_place


def fits_in_place(sample: Any, result: Any) -> bool:
    """Tell whether the result of an operator fits into the sample's first input."""
    first = sample.input
    return (
        isinstance(first, torch.Tensor)
        and isinstance(result, torch.Tensor)
        and not sample.broadcasts_input
        and first.dtype == result.dtype
        and first.shape == result.shape
    )


def _call(op: Any, sample: Any, **more: Any) -> Any:
    return op(sample.input, *sample.args, **sample.kwargs, **more)


def _reason(error: Exception) -> str:
    """Return one short line that is the same each time."""
    text = signature(f"{type(error).__name__}: {error}")
    return text if len(text) <= _REASON_LIMIT else f"{text[: _REASON_LIMIT - 3].rstrip()}..."
