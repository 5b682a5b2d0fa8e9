"""One execution of a plan on one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class RunState(str, Enum):
    """How far a run got."""

    PLANNED = "planned"
    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Everything about a run that is known before its first test.

    ``key`` is a UUID in hexadecimal, unique across machines. ``created_at`` is UTC in ISO 8601 with a trailing ``Z``.
    ``emulated`` is True when a stand-in ran in place of the device. ``selection`` says which part of the suites was
    asked for, in the words of the command line (``--ops add``); it is empty when all of them were. ``environment``
    holds the effective values of the variables that matter.
    """

    key: str
    created_at: str
    suites: tuple[str, ...]
    device: str
    device_name: str
    emulated: bool
    torch_version: str
    backend: str
    backend_version: str
    harness_version: str
    python_version: str
    host: str
    operating_system: str
    command: str
    selection: str = ""
    probe: str = ""
    seed: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
