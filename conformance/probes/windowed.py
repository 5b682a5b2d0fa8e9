"""A callable that opens the operator-under-test window while it runs, and otherwise passes for what it stands for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from conformance.probes.window import operator_window


class Windowed:
    """Stand for a callable under test: only calling it differs, and only in that the window is open meanwhile.

    It equals what it stands for, hashes, pickles, copies and prints like it, and has its class and attributes. Only
    ``is`` and ``type()`` can tell them apart.
    """

    __slots__ = ("__weakref__", "_callable")

    def __init__(self, callable_: Callable[..., Any]) -> None:
        object.__setattr__(self, "_callable", callable_)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call what this stands for in a window."""
        if is_compiling():
            return self._callable(*args, **keywords)
        with operator_window():
            return self._callable(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._callable, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._callable, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._callable, name)

    def __dir__(self) -> list[str]:
        return dir(self._callable)

    def __eq__(self, other: object) -> bool:
        return bool(self._callable == bare(other))

    def __hash__(self) -> int:
        return hash(self._callable)

    def __repr__(self) -> str:
        return repr(self._callable)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _itself, (self._callable,)

    def __copy__(self) -> Windowed:
        return self

    def __deepcopy__(self, memo: Any) -> Windowed:
        return self

    @property
    def __class__(self) -> Any:
        return self._callable.__class__

    @__class__.setter
    def __class__(self, value: Any) -> None:
        self._callable.__class__ = value

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self._callable.__doc__

    @property
    def __module__(self) -> Any:  # type: ignore[override]
        return self._callable.__module__

    @property
    def __signature__(self) -> Any:
        """Let ``inspect.signature`` say of this what it says of the callable, also that it has none (ValueError)."""
        return inspect.signature(self._callable)


def bare(value: Any) -> Any:
    """Return what ``value`` stands for, or itself."""
    return object.__getattribute__(value, "_callable") if type(value) is Windowed else value


def _itself(value: Any) -> Any:
    return value


def is_compiling() -> bool:
    """Tell whether this code is being traced by torch.compile, of which windows are to be no part."""
    import torch

    return bool(torch.compiler.is_compiling())
