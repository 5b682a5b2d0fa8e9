"""Decide which runs are the shards of one launch, and what the run that they make up is like. Pure functions."""

from __future__ import annotations

import shlex
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from conformance.errors import UsageError
from conformance.model.run import RunState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from conformance.store.rows import RunRow

# The name space of the keys of merged runs: a random UUID, fixed for good.
_NAMESPACE = uuid.UUID("6c2d2b5e-6a1f-4d6b-9a55-1f6e0a5b7c40")

# Two shards of one launch agree on all of these. Suites are not among them: a run names those of its own tests.
_AGREED = (
    ("torch_version", "torch"),
    ("backend", "backend"),
    ("backend_version", "backend version"),
    ("harness_version", "harness"),
    ("emulated", "emulated"),
    ("probe", "probe"),
    ("seed", "seed"),
    ("selection", "selection"),
    ("shards", "number of shards"),
    ("collected", "collected tests"),
    ("plan_digest", "plan"),
    ("split", "split by"),
)

# Options that differ between the shards of one launch, and say nothing about what was run.
_SHARD_OPTIONS = ("--shard", "--conformance-shard", "--db", "--conformance-db")


class Given(NamedTuple):
    """The run of a shard, and the file that holds it."""

    path: Path
    run: RunRow

    @property
    def number(self) -> int:
        """Return which part of the plan it undertook, from 1."""
        assert self.run.shard is not None
        return self.run.shard


@dataclass(frozen=True, slots=True)
class Group:
    """The shards of one launch on one device, by number; one of them may be there in several versions."""

    device: str
    launch: str
    given: tuple[Given, ...]

    @property
    def count(self) -> int:
        """Return into how many parts the plan was cut."""
        shards = self.given[0].run.shards
        assert shards is not None
        return shards

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys of the shards' own runs."""
        return frozenset(given.run.key for given in self.given)

    @property
    def numbers(self) -> frozenset[int]:
        """Return which shards are there."""
        return frozenset(given.number for given in self.given)

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the files, in the order of the shards in them."""
        return tuple(dict.fromkeys(given.path for given in self.given))

    @property
    def described(self) -> str:
        """Return how an error names the group."""
        return f"device {self.device}" + (f", launch {self.launch}" if self.launch else "")


class Shard(NamedTuple):
    """What a merged run keeps of one of its shards; a shard that is missing has no key."""

    shard: int
    key: str
    state: RunState
    host: str
    command: str
    started_at: str | None
    finished_at: str | None
    planned: int


def shard_of(run: RunRow) -> Shard:
    """Return what a merged run keeps of a shard."""
    assert run.shard is not None
    return Shard(run.shard, run.key, run.state, run.host, run.command, run.started_at, run.finished_at, run.planned)


def group_shards(given: Iterable[Given]) -> list[Group]:
    """Put the shards of one launch together, the earliest group first.

    Raises UsageError (``mixed-plans``, ``duplicate-shard``).
    """
    found: dict[tuple[str, str], list[Given]] = {}
    for one in given:
        found.setdefault((one.run.device, one.run.launch), []).append(one)
    groups = [
        Group(device, launch, tuple(sorted(members, key=lambda member: (member.number, str(member.path)))))
        for (device, launch), members in found.items()
    ]
    for group in groups:
        _refuse_mixed_plans(group)
        _refuse_two_runs_of_one_shard(group)
    return sorted(groups, key=lambda group: (min(one.run.created_at for one in group.given), min(group.keys)))


def agree(one: RunRow, other: RunRow) -> bool:
    """Tell whether a merged run can have a shard; how many shards the merged run has stands in its rows for them."""
    names = [name for name, _ in _AGREED if name != "shards"]
    return all(getattr(one, name) == getattr(other, name) for name in ("device", "launch", *names))


def key_of(shards: Iterable[Shard]) -> str:
    """Return the key of the run that these shards make up, the same in whatever order they come."""
    return uuid.uuid5(_NAMESPACE, "\n".join(sorted(shard.key for shard in shards if shard.key))).hex


def state_of(shards: Iterable[Shard], *, missing: bool) -> RunState:
    """Return the state of a merged run."""
    complete = not missing and all(shard.state is RunState.COMPLETE for shard in shards if shard.key)
    return RunState.COMPLETE if complete else RunState.INTERRUPTED


def hosts_of(shards: Iterable[Shard]) -> str:
    """Return every host once, in the order of the shards."""
    return together(shard.host for shard in shards)


def together(values: Iterable[str]) -> str:
    """Return each value once; a value may be such a list itself."""
    return ", ".join(dict.fromkeys(part for value in values for part in value.split(", ") if part))


def command_of(shards: Iterable[Shard]) -> str:
    """Return the command that would have run the whole plan; all of them where they differ in more than the shard."""
    commands = list(dict.fromkeys(shard.command for shard in shards if shard.command))
    whole = list(dict.fromkeys(_without_shard(command) for command in commands))
    return whole[0] if len(whole) == 1 else " ; ".join(commands)


def missing_numbers(shards: Mapping[int, Shard], count: int) -> tuple[int, ...]:
    """Return the shards that are not there."""
    return tuple(number for number in range(1, count + 1) if number not in shards or not shards[number].key)


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers as people write them, such as ``1-3, 5``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)


def _refuse_mixed_plans(group: Group) -> None:
    differences = []
    for name, label in _AGREED:
        files: dict[object, list[str]] = {}
        for one in group.given:
            names = files.setdefault(getattr(one.run, name), [])
            if str(one.path) not in names:
                names.append(str(one.path))
        if len(files) > 1:
            values = [f"{_short(name, value)} in {', '.join(paths)}" for value, paths in files.items()]
            differences.append(f"{label}: {'; '.join(values)}")
    if differences:
        raise UsageError(
            "mixed-plans",
            f"these shards ({group.described}) are not of one plan: {' | '.join(differences[:2])}; "
            "merge the shards of each launch by themselves",
        )


def _short(name: str, value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case str() if name in ("plan_digest", "split"):
            return value[:8] or "none"
        case _:
            return str(value) or "none"


def _refuse_two_runs_of_one_shard(group: Group) -> None:
    first: dict[int, Given] = {}
    for one in group.given:
        other = first.setdefault(one.number, one)
        if other.run.key != one.run.key:
            raise UsageError(
                "duplicate-shard",
                f"shard {one.number} of {group.count} ({group.described}) was run twice: "
                f"{other.run.key[:8]} in {other.path} and {one.run.key[:8]} in {one.path}; "
                "leave one of them out, or merge the shards of each launch by themselves",
            )


def _without_shard(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _SHARD_OPTIONS:
            skip = True
        elif word.partition("=")[0] not in _SHARD_OPTIONS:
            kept.append(word)
    return shlex.join(kept)
