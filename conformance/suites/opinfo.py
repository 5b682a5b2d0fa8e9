"""The suite ``opinfo``: every operator of the installed torch's op_db, compared with the CPU, template by template.

pytest collects this file by its path; the tests are instantiated when it is imported, for the active selection.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase
from torch.testing._internal.opinfo.core import SampleInput
from torch.utils import _pytree as pytree

from conformance.probes import operator_window
from conformance.suites import account, compiling, gradients
from conformance.suites.compare import UNINITIALIZED, assert_like_reference, assert_same
from conformance.suites.parametrize import (
    SelectedOps,
    UpstreamTest,
    instantiate,
    narrow,
    selected_ops,
)
from conformance.suites.samples import (
    Carrier,
    describe_sample,
    error_inputs,
    on_cpu,
    sample_inputs,
    seed_everything,
    tensors,
)
from conformance.suites.selection import ACTIVE, SEED

_COMPARE = UpstreamTest("TestCommon", "test_compare_cpu")
_NONCONTIGUOUS = UpstreamTest("TestCommon", "test_noncontiguous_samples")
_VARIANTS = UpstreamTest("TestCommon", "test_variant_consistency_eager")
_OUT = UpstreamTest("TestCommon", "test_out")


def _dtypes(op: Any, device: str) -> list[torch.dtype | None]:
    return narrow(op.supported_dtypes(device), ACTIVE.selection, every=False)


def _every_dtype(op: Any, device: str) -> list[torch.dtype | None]:
    return narrow(op.supported_dtypes(device), ACTIVE.selection, every=True)


def _differentiable_dtypes(op: Any, device: str) -> list[torch.dtype | None]:
    return narrow(op.supported_backward_dtypes(device), ACTIVE.selection, every=False)


def _complex_dtypes(op: Any, device: str) -> list[torch.dtype | None]:
    supported = {dtype for dtype in op.supported_dtypes(device) if dtype in (torch.complex64, torch.complex128)}
    return narrow(supported, ACTIVE.selection, every=False)


def _signed_dtypes(op: Any, device: str) -> list[torch.dtype | None]:
    supported = {d for d in op.supported_dtypes(device) if d.is_floating_point or d.is_complex}
    return narrow(supported, ACTIVE.selection, every=False)


def _no_dtype(op: Any, device: str) -> list[torch.dtype | None]:  # noqa: ARG001
    return [None]


def _template(
    name: str,
    *,
    applies: Callable[[Any], bool] = lambda _: True,
    choose: Callable[[Any, str], Sequence[torch.dtype | None]] = _dtypes,
    upstream: Sequence[UpstreamTest],
) -> Any:
    return SelectedOps(selected_ops(op_db, name, applies), choose=choose, upstream=upstream)


def _has_variants(op: Any) -> bool:
    return bool(op.method_variant or op.inplace_variant or op.operator_variant or op.inplace_operator_variant)


def _has_reference(op: Any) -> bool:
    return callable(op.ref) and not getattr(op.ref, "__module__", "").startswith("torch._refs")


class TestOperators(TestCase):
    """One test for each template, operator and dtype; the templates are the methods.

    Each sample is computed on the CPU first: where that raises, there is nothing to hold the device to.
    """

    @contextlib.contextmanager
    def _counted(self) -> Iterator[account.TestAccount]:
        counted = account.begin()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations of operators under test would drown the report
            yield counted
        counted.conclude()

    def _samples(self, op: Any, dtype: torch.dtype, *, requires_grad: bool = False) -> Iterator[tuple[int, str, Any]]:
        """Yield (seed, description, CPU sample)."""
        for index, sample in sample_inputs(op, dtype, requires_grad=requires_grad):
            # For autograd both sides are copies: some generators give views made without gradients, which get none.
            mine = _carried(sample, "cpu") if requires_grad else sample
            yield SEED + index, describe_sample(index, sample), mine

    def _pairs(
        self, op: Any, device: str, dtype: torch.dtype, *, requires_grad: bool = False
    ) -> Iterator[tuple[int, str, Any, Any]]:
        """Yield (seed, description, CPU sample, the same sample on the device)."""
        for seed, text, mine in self._samples(op, dtype, requires_grad=requires_grad):
            yield seed, text, mine, _carried(mine, device)

    @_template("forward", choose=_every_dtype, upstream=[_COMPARE])
    def test_forward(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """The result on the device equals the result on the CPU."""
        self._compare_forward(op, device, dtype, change=None)

    @_template("noncontiguous", upstream=[_COMPARE, _NONCONTIGUOUS])
    def test_noncontiguous(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """Strided inputs with gaps give the same result as the CPU gives for contiguous ones."""
        self._compare_forward(op, device, dtype, change=lambda sample: sample.noncontiguous())

    @_template(
        "conj_view",
        applies=lambda op: op.test_conjugated_samples,
        choose=_complex_dtypes,
        upstream=[UpstreamTest("TestMathBits", "test_conj_view")],
    )
    def test_conj_view(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """Lazily conjugated inputs give the same result as the CPU gives for plain ones."""
        self._compare_forward(op, device, dtype, change=partial(_lazily, torch.conj, torch.conj_physical))

    @_template(
        "neg_view",
        applies=lambda op: op.test_neg_view,
        choose=_signed_dtypes,
        upstream=[UpstreamTest("TestMathBits", "test_neg_view")],
    )
    def test_neg_view(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """Lazily negated inputs give the same result as the CPU gives for plain ones."""
        self._compare_forward(op, device, dtype, change=partial(_lazily, torch._neg_view, torch.neg))

    def _compare_forward(
        self, op: Any, device: str, dtype: torch.dtype, *, change: Callable[[Any], Any] | None
    ) -> None:
        """Compare the device's result for changed samples with the CPU's for plain ones.

        A sample is set aside where the CPU's own result for the changed sample is another, or an error.
        """
        with self._counted() as counted:
            for seed, text, mine in self._samples(op, dtype):
                with counted.sample(text):
                    with account.reference():
                        changed = mine if change is None else change(mine)
                    theirs = _carried(changed, device)
                    again = None if change is None else _carried(changed, "cpu")
                    want, random = on_cpu(partial(_call, op, mine), seed=seed)
                    comparable = not random and op.full_name not in UNINITIALIZED
                    # Takes out what is free to choose, such as the sign of an eigenvector.
                    settle = mine.output_process_fn_grad if comparable else _unchanged
                    want = settle(want)
                    if again is not None:
                        with account.reference():
                            other = settle(on_cpu(partial(_call, op, again), seed=seed)[0])
                            assert_same(self, other, want, device="cpu", values=comparable, what="on the CPU: ")
                    seed_everything(seed)
                    with _window(theirs, device):
                        got = _call(op, theirs)
                    assert_same(self, settle(got), want, device=self.device_type, values=comparable)

    @_template("compile", upstream=[_COMPARE])
    def test_compile(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """What torch.compile makes of the operator for static shapes gives the CPU's result."""
        self._compare_compiled(op, device, dtype, dynamic=False)

    @_template("compile_dynamic", upstream=[_COMPARE])
    def test_compile_dynamic(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """What torch.compile makes of the operator for dynamic shapes gives the CPU's result."""
        self._compare_compiled(op, device, dtype, dynamic=True)

    def _compare_compiled(self, op: Any, device: str, dtype: torch.dtype, *, dynamic: bool) -> None:
        """Compare what one compiled function gives for samples of different shapes with the CPU's eager results."""
        operator = op.get_op()

        def call(first: Any, args: Any, kwargs: Any) -> Any:
            return operator(first, *args, **kwargs)

        with self._counted() as counted, compiling.compiler(counted, dynamic=dynamic) as compiler:
            compiled = compiler.compile(call)
            for seed, text, mine in compiling.of_different_shapes(self._samples(op, dtype)):
                with counted.sample(text):
                    theirs = _carried(mine, device)
                    want, random = on_cpu(partial(_call, op, mine), seed=seed)
                    comparable = not random and op.full_name not in UNINITIALIZED
                    settle = mine.output_process_fn_grad if comparable else _unchanged
                    want = settle(want)
                    seed_everything(seed)
                    with _window(theirs, device):
                        got = compiled(theirs.input, theirs.args, theirs.kwargs)
                    assert_same(self, settle(got), want, device=self.device_type, values=comparable)

    @_template(
        "backward",
        applies=lambda op: op.supports_autograd,
        choose=_differentiable_dtypes,
        upstream=[_COMPARE, _NONCONTIGUOUS],
    )
    def test_backward(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """The gradients of every input on the device equal those on the CPU; so does requires_grad of the results."""

        def run(sample: Any, place: str, seed: int, window: Any) -> Any:
            result, found = gradients.first_order(
                lambda: _wrapped(op, sample), _leaves(sample), device=place, seed=seed, window=window
            )
            return [tensor.requires_grad for tensor in tensors(result)], found

        self._with_gradients(op, device, dtype, run, what="gradient: ")

    @_template(
        "second_order",
        applies=lambda op: op.supports_autograd and op.supports_gradgrad,
        choose=_differentiable_dtypes,
        upstream=[_COMPARE, _NONCONTIGUOUS],
    )
    def test_second_order(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """The gradients of the gradients on the device equal those on the CPU."""

        def run(sample: Any, place: str, seed: int, window: Any) -> Any:
            return [], gradients.second_order(
                lambda: _wrapped(op, sample), _leaves(sample), device=place, seed=seed, window=window
            )

        self._with_gradients(op, device, dtype, run, what="second-order gradient: ")

    def _with_gradients(
        self, op: Any, device: str, dtype: torch.dtype, run: Callable[[Any, str, int, Any], Any], *, what: str
    ) -> None:
        with self._counted() as counted:
            for seed, text, mine, theirs in self._pairs(op, device, dtype, requires_grad=True):
                with counted.sample(text):
                    (want_flags, want), random = on_cpu(
                        partial(run, mine, "cpu", seed, contextlib.nullcontext), seed=seed
                    )
                    seed_everything(seed)
                    got_flags, got = run(theirs, device, seed, partial(_window, theirs, device))
                    if got_flags != want_flags:
                        raise AssertionError(f"requires_grad of the results is {got_flags}, on the CPU {want_flags}")
                    assert_same(self, got, want, device=self.device_type, values=not random, what=what)

    @_template("out", applies=lambda op: op.supports_out, upstream=[_OUT])
    def test_out(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """``out=`` fills the given tensors, keeps their memory and strides, and resizes an empty one."""
        with self._counted() as counted:
            for seed, text, mine, theirs in self._pairs(op, device, dtype):
                for prepare in (_same_shape, _strided, _empty):
                    what = f"out= with a {prepare.__name__.strip('_').replace('_', '-')} tensor: "
                    with counted.sample(f"{text}, {what.strip(': ')}"):
                        self._check_out(op, device, seed, mine, theirs, prepare, what)

    def _check_out(
        self, op: Any, device: str, seed: int, mine: Any, theirs: Any, prepare: Callable[[Any], Any], what: str
    ) -> None:
        def reference() -> Any:
            plain = _call(op, mine)
            seed_everything(seed)
            own = prepare(plain)
            fill(mine, own)
            return plain, own

        def fill(sample: Any, out: Any) -> None:
            before = [(tensor.data_ptr(), tensor.stride()) for tensor in tensors(out)]
            result = _call(op, sample, out=out)
            after = [(tensor.data_ptr(), tensor.stride()) for tensor in tensors(out)]
            if prepare is not _empty and before != after:
                raise AssertionError(f"{what}the tensor was moved or its strides were changed")
            if any(a is not b for a, b in zip(tensors(result), tensors(out), strict=True)):
                raise AssertionError(f"{what}the result is not the tensor that was given")

        (want, own), random = on_cpu(reference, seed=seed)
        comparable = not random and op.full_name not in UNINITIALIZED
        with account.reference():
            assert_same(self, tensors(own), tensors(want), device="cpu", values=comparable, what="on the CPU: ")
        out = Carrier(device)(prepare(want))
        seed_everything(seed)
        with _window(theirs, device):
            fill(theirs, out)
        assert_same(self, tensors(out), tensors(want), device=self.device_type, values=comparable, what=what)

    @_template("variants", applies=_has_variants, upstream=[_VARIANTS])
    def test_variants(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """The method, operator and in-place variants equal the function on the CPU."""
        symbols = (op.operator_variant, op.inplace_operator_variant)
        plain = [variant for variant in (op.method_variant, op.operator_variant) if variant is not None]
        inplace = [variant for variant in (op.inplace_variant, op.inplace_operator_variant) if variant is not None]
        with self._counted() as counted:
            for seed, text, mine, theirs in self._pairs(op, device, dtype):
                for variant in (*plain, *inplace):
                    if variant in symbols and (mine.kwargs or len(mine.args) > 1):
                        continue  # a symbol such as + takes its operands and nothing else
                    name = getattr(variant, "__name__", "method")
                    with counted.sample(f"{text}, variant {name}"):
                        self._check_variant(op, seed, mine, theirs, variant, in_place=variant in inplace)

    def _check_variant(self, op: Any, seed: int, mine: Any, theirs: Any, variant: Any, *, in_place: bool) -> None:
        want, random = on_cpu(partial(_call, op, mine), seed=seed)
        comparable = not random and op.full_name not in UNINITIALIZED
        what = f"{'in-place ' if in_place else ''}variant {getattr(variant, '__name__', 'method')}: "
        if not in_place:
            seed_everything(seed)
            with operator_window():
                got = variant(theirs.input, *theirs.args, **theirs.kwargs)
            assert_same(self, got, want, device=self.device_type, values=comparable, what=what)
            return
        if not _fits_in_place(mine, want):
            raise account.ReferenceRaised("the result does not fit into the input")
        target = theirs.input.clone()
        pointer = target.data_ptr()
        seed_everything(seed)
        with operator_window():
            got = variant(target, *theirs.args, **theirs.kwargs)
        if got is not target and got.data_ptr() != pointer:
            raise AssertionError(f"{what}the result is not the tensor it was called on")
        assert_same(self, target, want, device=self.device_type, values=comparable, what=what)

    @_template("dtypes", choose=_no_dtype, upstream=[UpstreamTest("TestCommon", "test_dtypes")])
    def test_dtypes(self, device: str, op: Any) -> None:
        """Every dtype that the OpInfo declares works on the device for its first sample, forward and backward."""
        backward = op.supported_backward_dtypes(device)

        def run(sample: Any, place: str, window: Any) -> None:
            gradients.first_order(lambda: _wrapped(op, sample), _leaves(sample), device=place, seed=SEED, window=window)

        with self._counted() as counted:
            for dtype in narrow(op.supported_dtypes(device), ACTIVE.selection, every=True):
                pairs = self._pairs(op, device, dtype, requires_grad=dtype in backward)
                with counted.sample(f"dtype {str(dtype).removeprefix('torch.')}"):
                    with account.reference():
                        first = next(pairs, None)
                        if first is None:
                            raise account.ReferenceRaised("PyTorch gives no sample for this dtype")
                        run(first[2], "cpu", contextlib.nullcontext)
                    run(first[3], device, partial(_window, first[3], device))

    @_template(
        "errors",
        applies=lambda op: op.error_inputs_func is not None,
        choose=_no_dtype,
        upstream=[UpstreamTest("TestCommon", "test_errors")],
    )
    def test_errors(self, device: str, op: Any) -> None:
        """Inputs that PyTorch documents as wrong raise the documented error."""
        with self._counted() as counted:
            for index, wrong in error_inputs(op):
                sample = wrong.sample_input
                with counted.sample(describe_sample(index, sample)):
                    carried = _carried(sample, device)
                    with account.reference(), self.assertRaisesRegex(wrong.error_type, wrong.error_regex):
                        _call(op, sample)
                    with self.assertRaisesRegex(wrong.error_type, wrong.error_regex), operator_window():
                        for tensor in tensors(_call(op, carried)):
                            tensor.cpu()  # a device that queues its work reports the error here

    @_template(
        "reference",
        applies=_has_reference,
        upstream=[
            UpstreamTest("TestCommon", "test_numpy_ref"),
            UpstreamTest("TestUnaryUfuncs", "test_reference_numerics_normal"),
        ],
    )
    def test_reference(self, device: str, dtype: torch.dtype, op: Any) -> None:
        """The result on the device equals that of the OpInfo's NumPy or Python reference, where the CPU's does."""
        with self._counted() as counted:
            for seed, text, mine, theirs in self._pairs(op, device, dtype):
                with counted.sample(text):
                    with account.reference():
                        numpy = mine.numpy()
                        want = op.ref(numpy.input, *numpy.args, **numpy.kwargs)
                        own = on_cpu(partial(_call, op, mine), seed=seed)[0]
                        assert_like_reference(self, own, want, device="cpu")
                    seed_everything(seed)
                    with _window(theirs, device):
                        got = _call(op, theirs)
                    assert_like_reference(self, got, want, device=self.device_type)


@contextlib.contextmanager
def _window(sample: Any, device: str) -> Iterator[None]:
    """Open the window of the operator under test; a sample that names no device makes its result on this one."""
    nowhere = not tensors((sample.input, sample.args, sample.kwargs))
    with torch.device(device) if nowhere else contextlib.nullcontext(), operator_window():
        yield


def _leaves(sample: Any) -> list[torch.Tensor]:
    return gradients.differentiable((sample.input, sample.args, sample.kwargs))


def _call(op: Any, sample: Any, **more: Any) -> Any:
    return op(sample.input, *sample.args, **sample.kwargs, **more)


def _wrapped(op: Any, sample: Any) -> Any:
    """Call as PyTorch's gradient checks do: inputs made symmetric or the like, gauge freedom taken out."""
    return sample.output_process_fn_grad(op.gradcheck_wrapper(op.get_op(), sample.input, *sample.args, **sample.kwargs))


def _carried(sample: Any, device: str) -> Any:
    carry = Carrier(device)
    first, args, kwargs = carry((sample.input, list(sample.args), sample.kwargs))
    return SampleInput(
        first,
        args=tuple(args),
        kwargs=kwargs,
        output_process_fn_grad=sample.output_process_fn_grad,
        broadcasts_input=sample.broadcasts_input,
        name=sample.name,
    )


def _lazily(
    view: Callable[[torch.Tensor], torch.Tensor], physical: Callable[[torch.Tensor], torch.Tensor], sample: Any
) -> Any:
    """Return the sample with its first input replaced by an equal one whose bit for a pending operation is set."""

    def transform(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
            return value
        return view(physical(value.detach()))

    return SampleInput(
        pytree.tree_map(transform, sample.input),
        args=sample.args,
        kwargs=sample.kwargs,
        output_process_fn_grad=sample.output_process_fn_grad,
        broadcasts_input=sample.broadcasts_input,
        name=sample.name,
    )


def _unchanged(value: Any) -> Any:
    return value


def _same_shape(value: Any) -> Any:
    return _filled(value, lambda t: torch.full_like(t, _filler(t)))


def _strided(value: Any) -> Any:
    return _filled(value, _with_gaps)


def _empty(value: Any) -> Any:
    return _filled(value, lambda t: torch.empty(0, dtype=t.dtype, device=t.device))


def _with_gaps(tensor: torch.Tensor) -> torch.Tensor:
    wide = torch.full((*tensor.shape, 2), _filler(tensor), dtype=tensor.dtype, device=tensor.device)
    return wide.select(-1, 0)


def _filler(tensor: torch.Tensor) -> float | int:
    return float("nan") if tensor.is_floating_point() or tensor.is_complex() else 1


def _filled(value: Any, make: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return make(value)
    return tuple(make(item) for item in value)


def _fits_in_place(sample: Any, result: Any) -> bool:
    first = sample.input
    return (
        isinstance(first, torch.Tensor)
        and isinstance(result, torch.Tensor)
        and not sample.broadcasts_input
        and first.dtype == result.dtype
        and first.shape == result.shape
    )


instantiate(TestOperators, globals())
