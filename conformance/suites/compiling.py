"""Compile what a test calls, and count what torch.compile does meanwhile."""

from __future__ import annotations

import contextlib
import itertools
import time
import unittest
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from conformance.model.compilation import CompileAccount
from conformance.suites.account import TestAccount
from conformance.suites.samples import tensors
from conformance.suites.selection import ACTIVE

# Each compilation takes a tenth of a second and more, and dynamo gives up on a function after 8 of them.
COMPILED_SAMPLES = 3
_LOOKED_AT = 30


class Compiler:
    """Compile functions for a device with dynamo's caches empty, and count what that takes."""

    def __init__(self, backend: str, *, dynamic: bool, device: str) -> None:
        self._backend = backend
        self._dynamic = dynamic
        self._spent_s = 0.0
        self._started: float | None = None
        self._device: Any = getattr(torch, device, None)
        self._metrics = _metrics()
        torch._dynamo.utils.counters.clear()
        if self._metrics is not None:
            self._metrics[1]()
        reset_peak = getattr(self._device, "reset_peak_memory_stats", None)
        if reset_peak is not None:
            reset_peak()

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the compiled function; what was compiled before is forgotten, so that nothing of it is found again."""
        torch._dynamo.reset()
        self._listen()
        compiled: Callable[..., Any] = torch.compile(
            function, backend=self._backend, dynamic=self._dynamic, fullgraph=False
        )
        return compiled

    def _listen(self) -> None:
        """Take the time of each compilation; a reset has removed who listened before."""
        callbacks = _callbacks()
        if callbacks is not None:
            callbacks.register_start_callback(self._begun)
            callbacks.register_end_callback(self._ended)

    def _begun(self, *_: Any) -> None:  # called with an argument since torch 2.8
        self._started = time.perf_counter()

    def _ended(self, *_: Any) -> None:
        if self._started is not None:
            self._spent_s += time.perf_counter() - self._started
            self._started = None

    def account(self) -> CompileAccount:
        """Return what was counted since this compiler was made."""
        counters = torch._dynamo.utils.counters
        peak = getattr(self._device, "max_memory_allocated", None)
        return CompileAccount(
            backend=self._backend,
            compile_s=self._spent_s if _callbacks() is not None else None,
            graphs=int(counters["stats"]["unique_graphs"]),
            breaks=sum(counters["graph_break"].values()),
            recompilations=None if self._metrics is None else _recompilations(self._metrics[0]()),
            peak_bytes=None if peak is None else int(peak()),
        )


@contextlib.contextmanager
def compiler(counted: TestAccount, *, dynamic: bool) -> Iterator[Compiler]:
    """Lend a compiler to one test and keep with the test's account what it did.

    Raises ``unittest.SkipTest`` where nothing can be compiled for the device.
    """
    if ACTIVE.why_not_compiled:
        raise unittest.SkipTest(ACTIVE.why_not_compiled)
    lent = Compiler(ACTIVE.compile_backend, dynamic=dynamic, device=ACTIVE.device)
    try:
        yield lent
    finally:
        counted.compilation = lent.account()
        torch._dynamo.reset()  # or the graphs, and tensors they hold, would be there for the tests that follow


def of_different_shapes(samples: Iterable[tuple[int, str, Any]]) -> list[tuple[int, str, Any]]:
    """Return as many samples as are compiled, no two with tensors of the same shapes.

    Those come first whose tensors have the same numbers of dimensions as most others': for dynamic shapes they are one
    graph, and only they show whether it is.
    """
    found: dict[tuple[torch.Size, ...], tuple[int, str, Any]] = {}
    for one in itertools.islice(samples, _LOOKED_AT):
        sample = one[2]
        found.setdefault(tuple(tensor.shape for tensor in tensors((sample.input, sample.args, sample.kwargs))), one)
    alike: dict[tuple[int, ...], list[tuple[int, str, Any]]] = {}
    for shapes, one in found.items():
        alike.setdefault(tuple(len(shape) for shape in shapes), []).append(one)
    return [one for group in sorted(alike.values(), key=len, reverse=True) for one in group][:COMPILED_SAMPLES]


def _callbacks() -> Any:
    """Return who tells that a compilation begins and ends; None in a torch without it (torch 2.6 to 2.13 have it)."""
    return getattr(torch._dynamo, "callback_handler", None)


def _metrics() -> tuple[Callable[[], list[Any]], Callable[[], None]] | None:
    """Return how to read and how to clear the list of compilations; None without it (torch 2.6 to 2.13 have it)."""
    get = getattr(torch._dynamo.utils, "get_compilation_metrics", None)
    clear = getattr(torch._dynamo.utils, "clear_compilation_metrics", None)
    return None if get is None or clear is None else (get, clear)


def _recompilations(compilations: Iterable[Any]) -> int | None:
    """Count the compilations, named FRAME/NUMBER, of code that had been compiled before; failed ones left out."""
    found = 0
    for one in compilations:
        name = getattr(one, "compile_id", None)
        if name is None:
            return None
        number = str(name).rpartition("/")[2]
        found += number.isdecimal() and int(number) > 0 and getattr(one, "fail_type", None) is None
    return found
