"""Make the model that was named, on the CPU; every way in which that fails is one line."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import ConformanceError, InfrastructureError, UsageError
from conformance.readiness import frames
from conformance.readiness.target import Target, TargetKind

_OBVIOUS = ("model", "make_model", "build_model", "get_model", "build", "make", "create_model")
_RETURNS = "it must return a torch.nn.Module and its example inputs: a tensor, a tuple or a dict"
# What a missing network looks like: exceptions of the standard library, of requests, httpx and huggingface_hub.
_NETWORK_TYPES = (
    *("ConnectionError", "ConnectTimeout", "ConnectError", "MaxRetryError", "NewConnectionError", "URLError"),
    *("gaierror", "NameResolutionError", "OfflineModeIsEnabled", "LocalEntryNotFoundError", "HfHubHTTPError"),
    *("ProxyError", "SSLError", "ReadTimeout"),
)
_NETWORK_TEXTS = (
    *("couldn't connect to", "offline mode", "name resolution", "max retries exceeded"),
    "if you were trying to load it from",
)
_MEMORY_TEXTS = ("can't allocate memory", "out of memory", "not enough memory", "cannot allocate memory")


@dataclass(slots=True)
class Subject:
    """A model on the CPU and the inputs of one call."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    description: str
    use_cache: bool = True

    @property
    def parameters(self) -> int:
        """Return the number of parameters, those that are shared once."""
        return sum(weight.numel() for weight in self.module.parameters())

    @property
    def parameter_bytes(self) -> int:
        """Return the size of parameters and buffers."""
        tensors = [*self.module.parameters(), *self.module.buffers()]
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def load(target: Target, *, seed: int) -> Subject:
    """Make the model and its inputs.

    Raises ``UsageError`` (``unknown-model``, ``bad-model``, ``model-needs-network``) or ``InfrastructureError``
    (``model-too-big``, ``no-transformers``).
    """
    import torch

    torch.manual_seed(seed)
    if target.kind is TargetKind.ARCHITECTURE:
        return _architecture(target.place, seed=seed)
    function = _function(target)
    name = f"{Path(target.place).name if target.kind is TargetKind.FILE else target.place}:{function.__name__}"
    made = _guarded(function, f"{name}()")
    return _subject(made, name)


def _architecture(name: str, *, seed: int) -> Subject:
    import torch

    from conformance.suites.models import tiny

    try:
        known = tiny.architectures()
    except InfrastructureError as error:
        raise type(error)(
            error.slug, f"'{name}' names neither a file nor module:function; as an architecture: {error}"
        ) from error
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"near: {', '.join(near)}" if near else "give module:function or a file for a model of your own"
        raise UsageError(
            "unknown-model",
            f"transformers {tiny.transformers_version()} has no text-generation architecture '{name}'; {hint}",
        )
    try:
        module = tiny.tiny_model(name, seed=seed)
    except tiny.NotTinyError as error:
        raise UsageError("bad-model", f"no tiny model of '{name}' can be made: {error}") from error
    recipe = tiny.sheet().recipe(name)
    text = torch.randint(3, 100, (1, recipe.tokens), generator=torch.Generator().manual_seed(seed))
    what = f"{name} of transformers {tiny.transformers_version()}, tiny, with random weights"
    return Subject(module, (text,), {}, what, use_cache=recipe.cache)


def _function(target: Target) -> Callable[[], Any]:
    if target.kind is TargetKind.FILE:
        module = _guarded(lambda: _import_file(Path(target.place)), f"importing {target.place}")
    else:
        if "" not in sys.path:
            sys.path.insert(0, "")
        module = _guarded(lambda: _import_module(target.place), f"importing {target.place}")
    own = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    if not target.function:
        return _obvious(own, target)
    function: Any = module
    for part in target.function.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        near = difflib.get_close_matches(target.function, own, n=2)
        hint = f"near: {', '.join(near)}" if near else f"it has {', '.join(sorted(own)) or 'no functions'}"
        raise UsageError("unknown-model", f"{target.place} has no function '{target.function}'; {hint}")
    return function  # type: ignore[no-any-return]


def _obvious(own: Mapping[str, Callable[..., Any]], target: Target) -> Callable[[], Any]:
    without_arguments = {name: function for name, function in own.items() if not _required(function)}
    if len(without_arguments) == 1:
        return next(iter(without_arguments.values()))
    named = [name for name in _OBVIOUS if name in without_arguments]
    if len(named) == 1:
        return without_arguments[named[0]]
    there = ", ".join(sorted(without_arguments)) or "none"
    raise UsageError(
        "bad-target",
        f"which function of {target.text} makes the model? add it, as in {target.text}:model; "
        f"functions without arguments: {there}",
    )


def _required(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    positional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [item.name for item in parameters if item.default is item.empty and item.kind not in positional]


def _import_module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(
                "unknown-model", f"there is no module '{name}' here; give the path of a file, or set PYTHONPATH"
            ) from error
        raise


def _import_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError("bad-target", f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _guarded(call: Callable[[], Any], what: str) -> Any:
    """Call the user's code; turn whatever it raises into one line."""
    try:
        return call()
    except ConformanceError:
        raise
    except (Exception, SystemExit) as error:
        raise explained(error, what) from error


def explained(error: BaseException, what: str) -> ConformanceError:
    """Return the one line for an error of the user's code."""
    text = " ".join(str(error).split())[:300]
    chain = _chain(error)
    if is_memory(error):
        return InfrastructureError(
            "model-too-big", f"{what}: there is not enough memory on this machine: {text}; take a smaller model"
        )
    if any(type(item).__name__ in _NETWORK_TYPES for item in chain) or any(
        word in str(item).lower() for item in chain for word in _NETWORK_TEXTS
    ):
        return UsageError(
            "model-needs-network",
            f"{what} needs the network, and could not reach it: {type(error).__name__}: {text}; "
            "load the weights from a local folder, or make the model from its configuration",
        )
    inner = frames.of_traceback(error.__traceback__)
    where = f" at {inner[-1]}" if inner else ""
    return UsageError("bad-model", f"{what} raised {type(error).__name__}: {text}{where}; correct the function")


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found


def is_memory(error: BaseException) -> bool:
    """Tell whether an error means that there was not enough memory, of the host or of a device."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, (RuntimeError, OSError)) and any(text in str(error).lower() for text in _MEMORY_TEXTS)


def _subject(made: Any, name: str) -> Subject:
    import torch

    if isinstance(made, torch.nn.Module):
        raise UsageError("bad-model", f"{name}() returned a module without inputs; {_RETURNS}")
    if not isinstance(made, (tuple, list)) or len(made) not in (2, 3):
        raise UsageError("bad-model", f"{name}() returned a {type(made).__name__}; {_RETURNS}")
    module, given = made[0], made[1]
    if not isinstance(module, torch.nn.Module):
        raise UsageError("bad-model", f"{name}() returned a {type(module).__name__} first; {_RETURNS}")
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    if isinstance(given, Mapping):
        kwargs = dict(given)
    elif isinstance(given, (tuple, list)):
        args = tuple(given)
    elif isinstance(given, torch.Tensor):
        args = (given,)
    else:
        raise UsageError("bad-model", f"{name}() returned a {type(given).__name__} as the inputs; {_RETURNS}")
    if len(made) == 3:
        if not isinstance(made[2], Mapping):
            raise UsageError("bad-model", f"{name}() returned a {type(made[2]).__name__} third, where a dict may stand")
        kwargs |= made[2]
    elsewhere = {str(weight.device) for weight in module.parameters() if weight.device.type != "cpu"}
    if elsewhere:
        raise UsageError(
            "bad-model",
            f"{name}() returned a module on {', '.join(sorted(elsewhere))}; leave it on the CPU",
        )
    return Subject(module, args, kwargs, f"{type(module).__name__} of {name}")


def quiet_environment() -> dict[str, str]:
    """Return the variables under which models are made: libraries that draw progress bars draw none."""
    return {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "TOKENIZERS_PARALLELISM": "false", **os.environ}
