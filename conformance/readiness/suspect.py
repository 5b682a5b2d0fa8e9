"""Find the first operator whose result on the device differs from what the CPU makes of the same inputs."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.probes.internals import require
from conformance.readiness import frames
from conformance.readiness.compare import compared
from conformance.readiness.findings import Trouble
from conformance.readiness.steps import named_tensors
from conformance.readiness.watch import described, overload_name

_Mode: Any = require("torch.utils._python_dispatch", "TorchDispatchMode", needed_by="`conformance model`")
_UNINITIALIZED = ("aten::empty", "aten::new_empty")


class Suspect(_Mode):  # type: ignore[misc,valid-type,unused-ignore]
    """Run every operator twice, on the device and on copies of its inputs on the CPU, until one differs."""

    def __init__(self, phase: str, *, tolerance: float | None) -> None:
        super().__init__()
        self.found: Trouble | None = None
        self._phase = phase
        self._tolerance = tolerance

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = overload_name(func)
        if self.found is not None or name is None or not _tells(func, name):
            return func(*args, **kwargs)
        copies = pytree.tree_map(_copied, (args, kwargs))  # before: the operator may write into its inputs
        inputs = described(args, kwargs)
        result = func(*args, **kwargs)
        try:
            want = func(*copies[0], **copies[1])
            found = compared(
                self._phase,
                named_tensors(result, "result"),
                named_tensors(want, "result"),
                random=False,
                tolerance=self._tolerance,
            )
        except Exception:
            return result  # the CPU cannot do it alone: nothing to hold it against
        if found.difference:
            message = f"for the same inputs {found.difference}"
            self.found = Trouble(self._phase, name, message, inputs, frames.of_here())
        return result


def _tells(func: Any, name: str) -> bool:
    random = getattr(torch.Tag, "nondeterministic_seeded", None)
    return name.startswith("aten::") and not name.startswith(_UNINITIALIZED) and random not in func.tags


def _copied(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        copy = leaf.detach().cpu()
        return copy.clone() if leaf.device.type == "cpu" else copy
    return torch.device("cpu") if isinstance(leaf, torch.device) else leaf
