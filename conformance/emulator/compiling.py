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
# Where dynamo keeps its backends; a module of its own since torch 2.0.
_REGISTRY = "torch._dynamo.backends.registry"


def provide(profile: Profile) -> None:
    """Register the backend, at once if dynamo is there, else as soon as somebody imports it.

    Importing dynamo takes a second and more, which a run that compiles nothing does not pay.
    """
    registry = sys.modules.get(_REGISTRY)
    if registry is not None:
        _register(registry, profile)
    else:
        sys.meta_path.insert(0, _WaitForDynamo(profile))


def _register(registry: ModuleType, profile: Profile) -> None:
    registry.register_backend(_backend(profile), name=BACKEND)


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
                where = f"the input '{node.name}'" if node.op == "placeholder" else f"the result of '{_called(node)}'"
                return f"torch.compile for 'neuron' does not support {found} ({where})"
    return ""


def _refusal_of(value: Any, profile: Profile) -> str:
    import torch

    if not profile.compiles_dynamic_shapes:
        if isinstance(value, torch.SymInt):
            return f"dynamic shapes: {value} is not known when the graph is compiled"
        if isinstance(value, torch.Tensor) and any(isinstance(size, torch.SymInt) for size in value.shape):
            return f"dynamic shapes: {list(value.shape)} is not known when the graph is compiled"
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if dtype in profile.uncompiled_dtypes:
            return f"the dtype {dtype}"
    return ""


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


class _WaitForDynamo(importlib.abc.MetaPathFinder):
    """Register the backend when dynamo's registry is imported, which torch.compile does when it is first called."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the registry as Python would, and have the backend registered once it is executed."""
        if fullname != _REGISTRY:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec: ModuleSpec | None = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Registering(spec.loader, self._profile)
                return spec
        return None


class _Registering(importlib.abc.Loader):
    """Load a module as another loader does, then register the backend in it."""

    def __init__(self, loader: Any, profile: Profile) -> None:
        self._loader = loader
        self._profile = profile

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave it to the module's own loader."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, whose own loader it keeps, and register the backend."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _register(module, self._profile)
