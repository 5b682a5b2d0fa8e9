"""The suite ``modules``: every module of the installed torch's module_db, compared with the CPU, template by template.

pytest collects this file by its path; the tests are instantiated when it is imported, for the active selection.
"""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_utils import TestCase

from conformance.probes import operator_window
from conformance.suites import account, compiling, gradients
from conformance.suites.compare import assert_same
from conformance.suites.parametrize import SelectedModules, UpstreamTest, instantiate, narrow
from conformance.suites.samples import Carrier, describe, on_cpu, seed_everything, tensors
from conformance.suites.selection import ACTIVE, SEED


def _upstream(name: str) -> UpstreamTest:
    return UpstreamTest("TestModule", name)


_FORWARD = _upstream("test_forward")
_PARITY = _upstream("test_cpu_gpu_parity")


def _template(
    name: str,
    *,
    applies: Callable[[Any], bool] = lambda _: True,
    every: bool = False,
    upstream: Sequence[UpstreamTest],
) -> Any:
    selection = ACTIVE.selection
    chosen = [
        info
        for info in module_db
        if selection.has_template(name) and selection.has_name(info.name, info.formatted_name) and applies(info)
    ]
    return SelectedModules(
        chosen,
        choose=lambda info, device: narrow(info.supported_dtypes(device), selection, every=every),
        upstream=upstream,
    )


@dataclass(slots=True)
class _Pair:
    """One module input: the module and its forward arguments on the CPU, and the same on the device."""

    description: str
    seed: int
    on_cpu: torch.nn.Module
    cpu_args: tuple[Any, ...]
    cpu_kwargs: dict[str, Any]
    on_device: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def call_on_cpu(self) -> Any:
        """Run the CPU's module forward."""
        return self.on_cpu(*self.cpu_args, **self.cpu_kwargs)


class TestModules(TestCase):
    """One test for each template, module, dtype and mode; the templates are the methods."""

    @contextlib.contextmanager
    def _counted(self) -> Iterator[account.TestAccount]:
        counted = account.begin()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield counted
        counted.conclude()

    def _inputs(self, module_info: Any, dtype: torch.dtype, *, training: bool, requires_grad: bool) -> list[Any]:
        seed_everything()
        return list(
            module_info.module_inputs_func(
                module_info, device="cpu", dtype=dtype, requires_grad=requires_grad, training=training
            )
        )

    def _each_input(
        self,
        module_info: Any,
        dtype: torch.dtype,
        *,
        training: bool,
        requires_grad: bool = False,
    ) -> Iterator[tuple[str, int, Any]]:
        """Yield (description, seed, module input) for each input that has something to run forward."""
        inputs = self._inputs(module_info, dtype, training=training, requires_grad=requires_grad)
        for index, module_input in enumerate(inputs):
            if module_input.forward_input is None:
                continue
            constructor = module_input.constructor_input
            parts = [describe(item) for item in constructor.args]
            parts.extend(f"{key}={describe(item)}" for key, item in constructor.kwargs.items())
            forward = [describe(item) for item in module_input.forward_input.args]
            forward.extend(f"{key}={describe(item)}" for key, item in module_input.forward_input.kwargs.items())
            text = f"input {index}: {module_info.name}({', '.join(parts)})({', '.join(forward)})"
            yield text, SEED + index, module_input

    @_template("forward", every=True, upstream=[_FORWARD, _PARITY])
    def test_forward(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        """The module's result on the device equals its result on the CPU."""
        kind = self.device_type
        with self._counted() as counted:
            for text, seed, module_input in self._each_input(module_info, dtype, training=training):
                with counted.sample(text):
                    pair = _pair(text, seed, module_info, module_input, device, dtype, training=training)
                    want, random = on_cpu(pair.call_on_cpu, seed=seed)
                    seed_everything(seed)
                    with operator_window():
                        got = pair.on_device(*pair.args, **pair.kwargs)
                    assert_same(self, got, want, device=kind, values=not random)

    @_template("compile", upstream=[_FORWARD, _PARITY])
    def test_compile(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        """What torch.compile makes of the module for static shapes gives the CPU's result."""
        self._compare_compiled(module_info, device, dtype, training=training, dynamic=False)

    @_template("compile_dynamic", upstream=[_FORWARD, _PARITY])
    def test_compile_dynamic(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        """What torch.compile makes of the module for dynamic shapes gives the CPU's result."""
        self._compare_compiled(module_info, device, dtype, training=training, dynamic=True)

    def _compare_compiled(
        self, module_info: Any, device: str, dtype: torch.dtype, *, training: bool, dynamic: bool
    ) -> None:
        inputs = self._each_input(module_info, dtype, training=training)
        with self._counted() as counted, compiling.compiler(counted, dynamic=dynamic) as compiler:
            for text, seed, module_input in itertools.islice(inputs, compiling.COMPILED_SAMPLES):
                with counted.sample(text):
                    pair = _pair(text, seed, module_info, module_input, device, dtype, training=training)
                    want, random = on_cpu(pair.call_on_cpu, seed=seed)
                    compiled = compiler.compile(pair.on_device)
                    seed_everything(seed)
                    with operator_window():
                        got = compiled(*pair.args, **pair.kwargs)
                    assert_same(self, got, want, device=self.device_type, values=not random)

    @_template("backward", upstream=[_FORWARD, _PARITY])
    def test_backward(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        """The gradients of inputs and parameters on the device equal those on the CPU."""
        kind = self.device_type
        with self._counted() as counted:
            for text, seed, module_input in self._each_input(module_info, dtype, training=training, requires_grad=True):
                with counted.sample(text):
                    pair = _pair(text, seed, module_info, module_input, device, dtype, training=training)
                    (_, want), random = on_cpu(
                        lambda: gradients.first_order(
                            pair.call_on_cpu,  # noqa: B023
                            _leaves(pair.on_cpu, pair.cpu_args, pair.cpu_kwargs),  # noqa: B023
                            device="cpu",
                            seed=seed,  # noqa: B023
                        ),
                        seed=seed,
                    )
                    seed_everything(seed)
                    _, got = gradients.first_order(
                        lambda: pair.on_device(*pair.args, **pair.kwargs),  # noqa: B023
                        _leaves(pair.on_device, pair.args, pair.kwargs),
                        device=device,
                        seed=seed,
                        window=operator_window,
                    )
                    assert_same(self, got, want, device=kind, values=not random, what="gradient: ")

    @_template("noncontiguous", upstream=[_FORWARD, _PARITY, _upstream("test_non_contiguous_tensors")])
    def test_noncontiguous(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        """Strided inputs with gaps give the same result as the CPU gives for contiguous ones."""
        from torch.testing._internal.common_utils import noncontiguous_like

        def spread(value: Any) -> Any:
            strided = isinstance(value, torch.Tensor) and value.layout == torch.strided and value.numel() > 1
            return noncontiguous_like(value) if strided else value

        def change(args: Any) -> Any:
            with torch.no_grad():
                return torch.utils._pytree.tree_map(spread, args)

        self._with_changed_inputs(module_info, device, dtype, training=training, change=change)

    @_template(
        "memory_format",
        applies=lambda info: not info.is_lazy,
        upstream=[_FORWARD, _PARITY, _upstream("test_memory_format")],
    )
    def test_memory_format(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        """Channels-last inputs give the same result as the CPU gives for contiguous ones."""

        def rearrange(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.dim() in (4, 5):
                wanted = torch.channels_last if value.dim() == 4 else torch.channels_last_3d
                return value.contiguous(memory_format=wanted)
            return value

        self._with_changed_inputs(
            module_info,
            device,
            dtype,
            training=training,
            change=lambda args: torch.utils._pytree.tree_map(rearrange, args),
            only=lambda args: any(t.layout == torch.strided and t.dim() in (4, 5) for t in tensors(args)),
        )

    def _with_changed_inputs(
        self,
        module_info: Any,
        device: str,
        dtype: torch.dtype,
        *,
        training: bool,
        change: Callable[[Any], Any],
        only: Callable[[Any], bool] = lambda _: True,
    ) -> None:
        kind = self.device_type
        with self._counted() as counted:
            for text, seed, module_input in self._each_input(module_info, dtype, training=training):
                forward = module_input.forward_input
                if not only((forward.args, forward.kwargs)):
                    continue
                with counted.sample(text):
                    pair = _pair(text, seed, module_info, module_input, device, dtype, training=training)
                    carry = Carrier(device)
                    args = carry(change(list(pair.cpu_args)))
                    kwargs = carry(change(pair.cpu_kwargs))
                    want, random = on_cpu(pair.call_on_cpu, seed=seed)
                    seed_everything(seed)
                    with operator_window():
                        got = pair.on_device(*args, **kwargs)
                    assert_same(self, got, want, device=kind, values=not random)

    @_template("state_dict", upstream=[_FORWARD])
    def test_state_dict(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        """A state_dict saved from the device loads on the CPU and on the device, value for value."""
        kind = self.device_type

        def check(pair: _Pair) -> None:
            buffer = io.BytesIO()
            torch.save(pair.on_device.state_dict(), buffer)
            for place in (kind, "cpu"):
                buffer.seek(0)
                loaded = torch.load(buffer, map_location=device if place == kind else "cpu", weights_only=True)
                assert_same(
                    self, dict(loaded), dict(pair.on_cpu.state_dict()), device=place, what=f"loaded on {place}: "
                )
            fresh = copy.deepcopy(pair.on_device)
            with torch.no_grad():
                for parameter in fresh.parameters():
                    parameter.zero_()
            fresh.load_state_dict(pair.on_device.state_dict())
            assert_same(self, dict(fresh.state_dict()), dict(pair.on_cpu.state_dict()), device=kind, what="restored: ")

        self._with_pairs(module_info, device, dtype, training=training, check=check)

    @_template("pickle", upstream=[_FORWARD, _upstream("test_pickle")])
    def test_pickle(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        """A module pickled on the device comes back on the device and computes the same."""
        kind = self.device_type

        def check(pair: _Pair) -> None:
            again = pickle.loads(pickle.dumps(pair.on_device))
            want, random = on_cpu(pair.call_on_cpu, seed=pair.seed)
            seed_everything(pair.seed)
            with operator_window():
                got = again(*pair.args, **pair.kwargs)
            assert_same(self, got, want, device=kind, values=not random)

        self._with_pairs(module_info, device, dtype, training=training, check=check)

    @_template("to", upstream=[_FORWARD])
    def test_to(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        """Moving a module to the device and back keeps every parameter and buffer, value for value."""
        kind = self.device_type

        def check(pair: _Pair) -> None:
            assert_same(
                self, dict(pair.on_device.state_dict()), dict(pair.on_cpu.state_dict()), device=kind, what="moved: "
            )
            back = copy.deepcopy(pair.on_device).to("cpu")
            assert_same(
                self, dict(back.state_dict()), dict(pair.on_cpu.state_dict()), device="cpu", what="moved back: "
            )
            again = back.to(device)
            assert_same(
                self, dict(again.state_dict()), dict(pair.on_cpu.state_dict()), device=kind, what="moved again: "
            )

        self._with_pairs(module_info, device, dtype, training=training, check=check)

    def _with_pairs(
        self, module_info: Any, device: str, dtype: torch.dtype, *, training: bool, check: Callable[[_Pair], None]
    ) -> None:
        with self._counted() as counted:
            for text, seed, module_input in self._each_input(module_info, dtype, training=training):
                with counted.sample(text):
                    check(_pair(text, seed, module_info, module_input, device, dtype, training=training))


def _pair(
    text: str, seed: int, module_info: Any, module_input: Any, device: str, dtype: torch.dtype, *, training: bool
) -> _Pair:
    """Build the module once on the CPU and copy it, so that both sides hold the same parameters."""
    seed_everything(seed)
    constructor, forward = module_input.constructor_input, module_input.forward_input
    with account.reference():
        host = module_info.module_cls(*constructor.args, **constructor.kwargs).to(device="cpu", dtype=dtype)
    host.train(training)
    on_device = copy.deepcopy(host).to(device)
    carry = Carrier(device)
    args, kwargs = tuple(carry(list(forward.args))), carry(dict(forward.kwargs))
    if module_info.is_lazy:
        # A lazy module draws its parameters at its first call: both sides make that call, then share the numbers.
        with account.reference():
            host(*copy.deepcopy(forward.args), **copy.deepcopy(forward.kwargs))
        on_device(*args, **kwargs)
        on_device.load_state_dict(host.state_dict())
    return _Pair(text, seed, host, forward.args, forward.kwargs, on_device, args, kwargs)


def _leaves(module: torch.nn.Module, args: Any, kwargs: Any) -> list[torch.Tensor]:
    return [*gradients.differentiable((args, kwargs)), *(p for p in module.parameters() if p.requires_grad)]


instantiate(TestModules, globals())
