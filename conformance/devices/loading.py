"""Import torch and backends, and turn what goes wrong into one line."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from conformance.errors import InfrastructureError


def import_torch() -> Any:
    """Return torch; raise ``InfrastructureError`` where it, or a backend that loads with it, cannot be imported."""
    try:
        import torch
    except Exception as error:  # a backend that loads with torch may raise anything
        raise InfrastructureError(
            "no-torch",
            f"torch cannot be imported: {type(error).__name__}: {error}; if an installed backend is to blame, "
            "TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps it from loading",
        ) from error
    return torch


def import_backend(module: str, *, device: str) -> Any:
    """Return an imported backend; raise ``InfrastructureError`` where it cannot be imported."""
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise InfrastructureError(
            "no-device",
            f"the device '{device}' needs {module}, which cannot be imported: {type(error).__name__}: {error}",
        ) from error


def function_of(module: Any, name: str) -> Any | None:
    """Return a function that a module really has, None otherwise.

    Some backends answer a question for any name by starting their runtime (a ``__getattr__`` that initialises), so
    the name is looked up without asking.
    """
    try:
        inspect.getattr_static(module, name)
    except AttributeError:
        return None
    found = getattr(module, name)
    return found if callable(found) else None
