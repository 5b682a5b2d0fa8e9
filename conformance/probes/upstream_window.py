"""Open the operator-under-test window in PyTorch's own test files, without editing them.

Those files reach an operator through its OpInfo and a module through its ModuleInfo, so these are where windows open:

- ``torch.testing._internal.opinfo.core.OpInfo``: ``__call__``, ``get_op``, ``get_method``, ``get_inplace``,
  ``get_operator``, ``get_inplace_operator``, and the attributes that hold the same callables; of ``AliasInfo`` only
  ``__call__``, since test_ops_jit.py hands its attributes to the TorchScript compiler, which knows builtins by ``id``.
- ``torch.testing._internal.common_modules.ModuleInfo.module_cls``: from a test's first look at it until the test ends,
  calls of modules of exactly that class.
- ``torch.autograd._engine_run_backward``, through which every ``backward`` and ``torch.autograd.grad`` goes: in a test
  that has opened a window before. The gradients that a backward starts with are made before it, outside.

All were found in torch 2.6 and 2.13. Outside a watched test nothing differs; in one, only ``is`` and ``type()`` can
tell a callable from the one that stands for it, and the code of torch itself always gets the callable.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from conformance.errors import InfrastructureError
from conformance.probes.internals import require
from conformance.probes.probe import Probe
from conformance.probes.window import current_probe, operator_window
from conformance.probes.windowed import Windowed, bare, is_compiling

_NEEDED_BY = "the window of operators in PyTorch's own test files"
_OPINFO = "torch.testing._internal.opinfo.core"
_METHODS = ("get_op", "get_method", "get_inplace", "get_operator", "get_inplace_operator")
_VARIANTS = ("op", "method_variant", "inplace_variant", "operator_variant", "inplace_operator_variant")


def install() -> None:
    """Let windows open in this process; a second call does nothing.

    torch and the backend are loaded by now, test files need not be. Not for the device ``cpu``, from which nothing
    falls back. Raises InfrastructureError("unsupported-torch") where this torch lacks one of the places.
    """
    op_info = require(_OPINFO, "OpInfo", needed_by=_NEEDED_BY)
    if isinstance(op_info.__dict__.get("op"), property):
        return
    alias_info = require(_OPINFO, "AliasInfo", needed_by=_NEEDED_BY)
    module_info = require("torch.testing._internal.common_modules", "ModuleInfo", needed_by=_NEEDED_BY)
    autograd = require("torch", "autograd", needed_by=_NEEDED_BY)
    run_backward = require("torch.autograd", "_engine_run_backward", needed_by=_NEEDED_BY)
    methods = {name: require(_OPINFO, f"OpInfo.{name}", needed_by=_NEEDED_BY) for name in _METHODS}
    _require_fields(op_info, _VARIANTS)

    wrappers = _Wrappers()
    for cls in (op_info, alias_info):
        cls.__call__ = _in_window(cls.__call__)
    for name, method in methods.items():
        setattr(op_info, name, _giving(method, wrappers))
    for name in _VARIANTS:
        setattr(op_info, name, _attribute(name, op_info.__dict__.get(name), _variant(wrappers)))
    _read_all(op_info)
    module_info.module_cls = _attribute("module_cls", None, _module_class(set()))
    autograd._engine_run_backward = _after_a_window(run_backward)


def _require_fields(cls: Any, names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in getattr(cls, "__dataclass_fields__", {})]
    if missing:
        import torch

        raise InfrastructureError(
            "unsupported-torch",
            f"torch {torch.__version__} has no attribute {', '.join(missing)} of OpInfo, which {_NEEDED_BY} needs; "
            "use torch 2.6 to 2.13, or a newer torch-conformance",
        )


class _Wrappers:
    """One stand-in for one callable, as long as somebody holds it: ``is`` works between stand-ins."""

    def __init__(self) -> None:
        self._by_id: WeakValueDictionary[int, Windowed] = WeakValueDictionary()

    def wrap(self, value: Any) -> Any:
        if not callable(value) or type(value) is Windowed:
            return value
        found = self._by_id.get(id(value))  # the stand-in holds the callable: its id is not used again meanwhile
        if found is None:
            found = Windowed(value)
            self._by_id[id(value)] = found
        return found


def _attribute(name: str, default: Any, read: Callable[[Any, Probe], Any]) -> property:
    """Return a property over an attribute that instances keep in their ``__dict__``; ``read`` is asked in a test.

    torch.compile looks into properties, but in torch 2.6 not through ``__dict__`` at a name that has one: for it the
    value is kept under a second name too.
    """
    second = f"_bare_{name}"

    def get(self: Any) -> Any:
        if is_compiling():
            return getattr(self, second)
        value = self.__dict__.get(name, default)
        self.__dict__.setdefault(second, value)
        probe = current_probe()
        return read(value, probe) if probe.is_watching else value

    def put(self: Any, value: Any) -> None:
        self.__dict__[name] = self.__dict__[second] = bare(value)

    def delete(self: Any) -> None:
        del self.__dict__[name]
        self.__dict__.pop(second, None)

    return property(get, put, delete)


def _read_all(op_info: type[Any]) -> None:
    """Read the attributes of the OpInfos that were made before: torch.compile may be the next to do so."""
    module = sys.modules.get("torch.testing._internal.common_methods_invocations")
    for value in list(vars(module).values()) if module is not None else ():
        for op in value if isinstance(value, list) else ():
            if isinstance(op, op_info):
                for name in _VARIANTS:
                    getattr(op, name)


def _variant(wrappers: _Wrappers) -> Callable[[Any, Probe], Any]:
    """Read a callable of an OpInfo: tests get a stand-in, torch itself (which compares by ``is``) the callable."""

    def read(value: Any, probe: Probe) -> Any:  # noqa: ARG001 - the signature of a reader
        reader = sys._getframe(2)
        if reader.f_code.co_name == "__getattribute__" and reader.f_back is not None:
            reader = reader.f_back  # newer OpInfos have one
        of_torch = str(reader.f_globals.get("__name__")).startswith("torch.")
        return value if of_torch else wrappers.wrap(value)

    return read


def _module_class(under_test: set[type[Any]]) -> Callable[[Any, Probe], Any]:
    """Read the class of a ModuleInfo, which makes it a class under test until the test ends."""

    def read(value: Any, probe: Probe) -> Any:
        if isinstance(value, type) and value not in under_test:
            under_test.add(value)
            undo = _open_windows_for(value)
            probe.when_test_ends(undo)
            probe.when_test_ends(functools.partial(under_test.discard, value))
        return value

    return read


def _open_windows_for(cls: Any) -> Callable[[], None]:
    """Let calls of modules of exactly this class open windows; return what undoes it."""
    own = vars(cls).get("__call__")
    original: Callable[..., Any] = cls.__call__
    in_window = _in_window(original)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        return (in_window if type(self) is cls else original)(self, *args, **keywords)

    def undo() -> None:
        if own is None:
            del cls.__call__
        else:
            cls.__call__ = own

    cls.__call__ = call
    return undo


def _in_window(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if is_compiling() or not current_probe().is_watching:
            return function(*args, **keywords)
        with operator_window():
            return function(*args, **keywords)

    return call


def _giving(method: Callable[..., Any], wrappers: _Wrappers) -> Callable[..., Any]:
    @functools.wraps(method)
    def get(self: Any) -> Any:
        value = method(self)
        return wrappers.wrap(value) if current_probe().is_watching and not is_compiling() else value

    return get


def _after_a_window(run_backward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run_backward)
    def run(*args: Any, **keywords: Any) -> Any:
        probe = current_probe()
        if is_compiling() or not (probe.is_watching and probe.window_opened):
            return run_backward(*args, **keywords)
        with operator_window():
            return run_backward(*args, **keywords)

    return run
