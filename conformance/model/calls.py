"""Which overloads architectures call, as recorded once for a version of torch and one of transformers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ArchitectureCalls:
    """The overloads that reach a backend when the tiny model of an architecture computes, generates and trains.

    ``overloads`` has the sorted names by architecture. ``unseen`` has those architectures of which something could not
    be recorded, with the reason: what they call may be more, or is not known at all.
    """

    torch: str
    transformers: str
    overloads: Mapping[str, tuple[str, ...]]
    unseen: Mapping[str, str] = field(default_factory=dict)
