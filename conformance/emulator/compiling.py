"""The dynamo backend ``neuron``: run a captured graph on the emulated device, refuse what the beta refuses."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.emulator.profile import Profile

BACKEND = "neuron"
# Where dynamo keeps its backends, and what it does not trace (looked at in torch 2.6 and 2.13).
_REGISTRY = "torch._dynamo.backends.registry"
_RULES = "torch._dynamo.trace_rules"


def provide(profile: Profile) -> None:
    """Make the backend known to dynamo, at once if dynamo is there, else as soon as somebody imports it.

    Importing dynamo takes a second and more, which a run that compiles nothing does not pay.
    """
    actions: dict[str, Callable[[Any], object]] = {
        _REGISTRY: lambda registry: registry.register_backend(_backend(profile), name=BACKEND),
        # The device's Python functions are no user code, no more than those of torch.cuda are.
        _RULES: lambda rules: rules.add("conformance.emulator"),
    }
    for name, action in actions.items():
        if name in sys.modules:
            action(sys.modules[name])
        else:
            sys.meta_path.insert(0, _Waiting(name, action))


def _backend(profile: Profile) -> Callable[[Any, Sequence[Any]], Callable[..., Any]]:
    def neuron(graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:  # noqa: ARG001
        refused = refusal(graph_module.graph.nodes, profile)
        if refused:
            raise NotImplementedError(refused)
        # Its operators are dispatched one by one, so that kernels and fallbacks are counted as in eager mode.
        run: Callable[..., Any] = graph_module.forward
        return run

    return neuron


def refusal(nodes: Iterable[Any], profile: Profile) -> str:
    """Return what of a graph the profile refuses to compile, in one line; empty where it refuses nothing."""
    for node in nodes:
        for value in _leaves(_value_of(node)):
            found = _refusal_of(value, profile)
            if found:
                where = "an input" if node.op == "placeholder" else f"the result of '{_called(node)}'"
                return f"torch.compile for 'neuron' does not support {found}, which {where} has"
    return ""


def _refusal_of(value: Any, profile: Profile) -> str:
    import torch

    sizes = value.shape if isinstance(value, torch.Tensor) else [value]
    if not profile.compiles_dynamic_shapes and any(map(_is_symbolic, sizes)):
        return "dynamic shapes"
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if dtype in profile.uncompiled_dtypes:
            return f"the dtype {dtype}"
    return ""


def _is_symbolic(size: Any) -> bool:
    """Tell whether a size is not known when the graph is compiled; dynamo may have found meanwhile that it is."""
    import torch
    from torch.fx.experimental.symbolic_shapes import is_concrete_int

    return isinstance(size, torch.SymInt) and not is_concrete_int(size)


def _value_of(node: Any) -> Any:
    # Dynamo notes the value it traced with as example_value, functionalised graphs as val.
    return node.meta.get("example_value", node.meta.get("val"))


def _leaves(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


def _called(node: Any) -> str:
    return node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))


class _Waiting(importlib.abc.MetaPathFinder):
    """Act on a module when it is imported: torch.compile imports dynamo when it is first called."""

    def __init__(self, name: str, action: Callable[[Any], object]) -> None:
        self._name = name
        self._action = action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module as Python would, to act on it once it is executed."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            spec: ModuleSpec | None = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Acting(spec.loader, self._action)
                return spec
        return None


class _Acting(importlib.abc.Loader):
    """Load a module as another loader does, then act on it."""

    def __init__(self, loader: Any, action: Callable[[Any], object]) -> None:
        self._loader = loader
        self._action = action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave it to the module's own loader."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, which keeps its own loader, and act on it."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._action(module)
