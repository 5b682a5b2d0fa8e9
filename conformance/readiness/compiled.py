"""Compile a model for the device: into how many graphs, in what time, right or wrong, and what other sizes cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.devices import DeviceAdapter
from conformance.devices.compiling import compile_backend, why_not_compiled
from conformance.model.compilation import CompileMode
from conformance.readiness import steps
from conformance.readiness.compare import compared
from conformance.readiness.findings import Compilation, OtherSize
from conformance.readiness.subject import Subject
from conformance.suites.compiling import Compiler

_LONGEST = 300


def compilations(
    subject: Subject,
    plan: steps.Plan,
    adapter: DeviceAdapter,
    wanted: steps.Outcome,
    *,
    tolerance: float | None,
    wait: Callable[[], object] | None,
) -> tuple[Compilation, ...]:
    """Compile the forward of a subject that is on the device, once for static and once for dynamic shapes.

    ``wanted`` is what the CPU gave without compiling. Each is called with the subject's own inputs, then with inputs
    of other sizes, as far as the model takes those at all.
    """
    backend = compile_backend(adapter)
    why = why_not_compiled(adapter)
    if why:
        return (Compilation(CompileMode.STATIC.value, backend, problem=why),)
    subject.module.eval()
    sizes = [(what, args, kwargs) for what, args, kwargs in other_sizes(subject) if _is_taken(subject, args, kwargs)]
    return tuple(
        _compiled(subject, plan, adapter.device, backend, mode, wanted, sizes, tolerance=tolerance, wait=wait)
        for mode in CompileMode
    )


def _compiled(
    subject: Subject,
    plan: steps.Plan,
    device: str,
    backend: str,
    mode: CompileMode,
    wanted: steps.Outcome,
    sizes: list[tuple[str, Any, Any]],
    *,
    tolerance: float | None,
    wait: Callable[[], object] | None,
) -> Compilation:
    compiler = Compiler(backend, dynamic=mode is CompileMode.DYNAMIC, device=device)
    compiled = compiler.compile(subject.module)
    problem = difference = ""
    others: list[OtherSize] = []
    try:
        mine = steps.run(steps.FORWARD, replace(subject, module=compiled), plan, device=device, wait=wait)
        difference = compared(
            steps.FORWARD, mine.results, wanted.results, random=wanted.random, tolerance=tolerance
        ).difference
    except Exception as error:
        problem = _told(error)
    else:
        for what, args, kwargs in sizes:
            others.append(_other_size(compiler, compiled, what, args, kwargs))
    account = compiler.account()
    torch._dynamo.reset()
    return Compilation(
        mode=mode.value,
        backend=backend,
        compile_s=account.compile_s,
        graphs=account.graphs,
        breaks=account.breaks,
        recompilations=account.recompilations,
        peak_bytes=account.peak_bytes,
        difference=difference,
        problem=problem,
        sizes=tuple(others),
    )


def _other_size(compiler: Compiler, compiled: Any, what: str, args: Any, kwargs: Any) -> OtherSize:
    before = compiler.account().recompilations
    try:
        with torch.no_grad():
            compiled(*args, **kwargs)
    except Exception as error:
        return OtherSize(what, None, _told(error))
    after = compiler.account().recompilations
    return OtherSize(what, None if before is None or after is None else after - before)


def _is_taken(subject: Subject, args: Any, kwargs: Any) -> bool:
    try:
        with torch.no_grad():
            subject.module(*args, **kwargs)
    except Exception:
        return False
    return True


def other_sizes(subject: Subject) -> Iterator[tuple[str, Any, Any]]:
    """Yield inputs of other sizes: the first dimension twice and three times as long, the second one and two shorter.

    All inputs that have the same size in a dimension change together, as those of a batch or of a text do.
    """
    inputs = (subject.args, subject.kwargs)
    tensors = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
    for dimension, changes in ((0, (2.0, 3.0)), (1, (-1, -2))):
        size = next((tensor.shape[dimension] for tensor in tensors if tensor.dim() > dimension), 0)
        for change in changes:
            new = int(size * change) if isinstance(change, float) else size + change
            if size < 1 or new < 1:
                continue
            args, kwargs = pytree.tree_map(lambda leaf, d=dimension, s=size, n=new: _resized(leaf, d, s, n), inputs)
            yield f"dimension {dimension} of {new} instead of {size}", args, kwargs


def _resized(leaf: Any, dimension: int, size: int, new: int) -> Any:
    if not isinstance(leaf, torch.Tensor) or leaf.dim() <= dimension or leaf.shape[dimension] != size:
        return leaf
    if new <= size:
        return leaf.narrow(dimension, 0, new).contiguous()
    return torch.cat([leaf] * (new // size), dimension)


def _told(error: Exception) -> str:
    """Return the error in a line: dynamo wraps what the backend raised."""
    inner = getattr(error, "inner_exception", None) or error
    text = f"{type(inner).__name__}: {' '.join(str(inner).split())}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
