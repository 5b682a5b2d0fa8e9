"""The few functions of torch._C that have no public counterpart, looked up in one place."""

from __future__ import annotations

from typing import Any

from conformance.errors import InfrastructureError


def torch_internal(name: str) -> Any:
    """Return ``torch._C.<name>``; raise InfrastructureError("unsupported-torch") if this torch does not have it.

    Those that are asked for were found in torch 2.13.
    """
    import torch

    found = getattr(torch._C, name, None)
    if found is None:
        raise InfrastructureError(
            "unsupported-torch",
            f"torch {torch.__version__} has no torch._C.{name}, which the emulated neuron device needs; "
            "use torch 2.13, or a newer torch-conformance",
        )
    return found
