"""What a backend has registered for one ATen overload."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class RegistrationKind(str, Enum):
    """What PyTorch's dispatcher finds for an overload on a device: the static answer, next to the measured one."""

    KERNEL = "kernel"
    COMPOSITE = "composite"
    FALLBACK = "fallback"
    MISSING = "missing"

    def __str__(self) -> str:
        return self.value

    @property
    def definition(self) -> str:
        """Return one sentence that says when an overload has this kind."""
        return _DEFINITIONS[self]


_DEFINITIONS = {
    RegistrationKind.KERNEL: (
        "The backend registered a kernel of its own; that kernel may still compute on the CPU inside."
    ),
    RegistrationKind.COMPOSITE: (
        "PyTorch makes it of other operators, which run where they are registered; it needs no kernel."
    ),
    RegistrationKind.FALLBACK: (
        "The backend has no kernel and its fallback takes the call; the CPU has a kernel to run it."
    ),
    RegistrationKind.MISSING: "Nobody has a kernel that could run it: neither the backend nor the CPU; a call raises.",
}


@dataclass(frozen=True, slots=True)
class Registration:
    """One ATen overload (``aten::add.Tensor``) and what is registered for it."""

    overload: str
    kind: RegistrationKind
