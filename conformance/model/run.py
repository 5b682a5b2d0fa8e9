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
    holds the effective values of the variables that matter. ``launch`` is what the shards of one launch have in common,
    such as the number of a CI run; it is empty when nothing says so. ``retries`` is how many further attempts a test
    has after a failure. ``skiplist`` names the lists in force, ``run_skipped`` says that what they skip was run all the
    same. ``versions`` are those of what works beneath the backend: compiler, runtime, driver.
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
    launch: str = ""
    retries: int = 0
    skiplist: str = ""
    run_skipped: bool = False
    versions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PlanScope:
    """What part of the collected tests a run undertakes.

    ``digest`` is of all ``collected`` test ids. ``shard`` of ``shards`` says which part; both are None for all of it.
    ``split`` says how the parts were cut: ``count``, or the digest of the durations they were cut by.
    """

    digest: str
    collected: int
    shard: int | None = None
    shards: int | None = None
    split: str = ""
