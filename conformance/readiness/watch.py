"""See every operator that a model calls, below autograd: how often, for how long, and what fell back meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.probes import Probe
from conformance.probes.internals import require
from conformance.readiness import frames
from conformance.readiness.crumb import Crumb
from conformance.readiness.findings import Frame, OverloadUse, Standing

_Mode: Any = require("torch.utils._python_dispatch", "TorchDispatchMode", needed_by="`conformance model`")
# Not work of the model: marks for the profiler, and the emulated device's own switches.
_NOT_WORK = ("profiler", "conformance_neuron")


@dataclass(slots=True)
class Seen:
    """What has been seen of one overload so far."""

    calls: int = 0
    seconds: float = 0.0
    fallback_calls: int = 0
    moved_bytes: int = 0
    fallbacks: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    phases: list[str] = field(default_factory=list)
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class Raised:
    """An operator that raised: the error, what it was given, and the user's lines that led there."""

    error: BaseException
    overload: str
    inputs: str
    frames: tuple[Frame, ...]


class Watch:
    """Record the calls of a model in several phases; ``wait`` lets the device finish what it was given."""

    def __init__(self, *, probe: Probe | None, wait: Callable[[], object] | None, crumb: Crumb) -> None:
        self.seen: dict[str, Seen] = {}
        self.raised: Raised | None = None
        self._probe = probe
        self._wait = wait
        self._crumb = crumb
        self._phase = ""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Attribute to this phase what is called in the block."""
        self._phase = name
        self._crumb.enter(name)
        with _copies_shown(), _Calls(self):
            yield

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one operator and record it."""
        name = overload_name(func)
        if name is None or name.partition("::")[0] in _NOT_WORK:
            return func(*args, **kwargs)
        seen = self.seen.setdefault(name, Seen())
        if self._phase not in seen.phases:
            seen.phases.append(self._phase)
        seen.calls += 1
        seen.dtypes.add(dtype_of(args, kwargs))
        self._crumb.operator(name)
        try:
            result, seconds, fallbacks = self._observed(func, args, kwargs)
        except BaseException as error:
            self.raised = Raised(error, name, described(args, kwargs), frames.of_here())
            raise
        self._crumb.operator("")
        seen.seconds += seconds
        if fallbacks is None:
            seen.unseen = True
        elif fallbacks:
            seen.fallback_calls += 1
            seen.fallbacks.update(fallbacks)
            seen.moved_bytes += size_of((args, kwargs)) + size_of(result)
        return result

    def _observed(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, float, tuple[str, ...] | None]:
        probe = self._probe
        if self._wait is not None:
            self._wait()
        if probe is None:
            begin = time.perf_counter()
            result = func(*args, **kwargs)
            return result, time.perf_counter() - begin, None
        probe.begin_test(only_windows=True)
        account = None
        try:
            probe.open_window()
            begin = time.perf_counter()
            result = func(*args, **kwargs)
            if self._wait is not None:
                self._wait()
            seconds = time.perf_counter() - begin
        finally:
            account = probe.end_test()
        return result, seconds, None if account is None else account.operator

    def uses(self, *, timed: bool) -> tuple[OverloadUse, ...]:
        """Return what was seen, in the order of the first calls."""
        found = []
        for name, seen in self.seen.items():
            standing = Standing.FALLBACK if seen.fallbacks else Standing.UNSEEN if seen.unseen else Standing.NATIVE
            if self.raised is not None and self.raised.overload == name:
                standing = Standing.FAILS
            found.append(
                OverloadUse(
                    name=name,
                    calls=seen.calls,
                    phases=tuple(seen.phases),
                    dtypes=tuple(sorted(seen.dtypes - {""})),
                    standing=standing,
                    seconds=seen.seconds if timed else None,
                    fallback_calls=seen.fallback_calls,
                    fallbacks=tuple(sorted(seen.fallbacks)),
                    moved_bytes=seen.moved_bytes,
                )
            )
        return tuple(found)


@contextmanager
def _copies_shown() -> Iterator[None]:
    """Let ``torch.tensor([1], device=...)`` copy to the device where it can be seen, and not before.

    torch/csrc/utils/tensor_new.cpp, internal_new_from_data: the copy is hidden from dispatch modes, unless this is set,
    as it is for fake tensors.
    """
    change = getattr(torch._C, "_set_only_lift_cpu_tensors", None)  # torch 2.13 has it
    ask = getattr(torch._C, "_only_lift_cpu_tensors", None)
    if change is None or ask is None:
        yield
        return
    before = ask()
    change(True)
    try:
        yield
    finally:
        change(before)


class _Calls(_Mode):  # type: ignore[misc,valid-type,unused-ignore]
    """Hand every call below autograd to a Watch."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._watch.call(func, args, kwargs or {})


def overload_name(func: Any) -> str | None:
    """Return ``aten::add.Tensor`` of an overload; None for what is none, such as an operator of higher order."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return None
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def dtype_of(args: Any, kwargs: Any) -> str:
    """Return the dtype by which PyTorch's own tests would name a call; empty where it is not known.

    It is that of the first tensor that is no mask, else of the first, else of the one that the call makes.
    """
    dtypes = [leaf.dtype for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    for dtype in sorted(dtypes, key=lambda dtype: dtype is torch.bool):
        return str(dtype).removeprefix("torch.")
    made = kwargs.get("dtype")
    return str(made).removeprefix("torch.") if isinstance(made, torch.dtype) else ""


def size_of(value: Any) -> int:
    """Return the bytes of all tensors in a nested value."""
    leaves = pytree.tree_leaves(value)
    return sum(leaf.numel() * leaf.element_size() for leaf in leaves if isinstance(leaf, torch.Tensor))


def described(args: Any, kwargs: Any) -> str:
    """Return dtypes and shapes of the tensors of a call, such as ``float32[2, 3], int64[4]``, without their values."""
    tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    shown = [f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}" for tensor in tensors[:6]]
    return ", ".join([*shown, *(["..."] if len(tensors) > 6 else [])])
