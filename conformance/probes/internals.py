"""Parts of torch that are not public, looked up in one place: what is missing is one clear line."""

from __future__ import annotations

import importlib
from typing import Any

from conformance.errors import InfrastructureError


def require(module: str, path: str, *, needed_by: str) -> Any:
    """Return ``path`` (dotted) of a module of torch; raise InfrastructureError("unsupported-torch") if it is missing.

    ``needed_by`` is what cannot work without it. All that are asked for were found in torch 2.6 and 2.13, unless the
    place that asks says otherwise.
    """
    import torch

    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise InfrastructureError(
            "unsupported-torch",
            f"torch {torch.__version__} has no {module}.{path}, which {needed_by} needs; use torch 2.6 to 2.13, "
            "or a newer torch-conformance",
        ) from error
    return found
