"""Choose the run to ask where the run at hand has no answer of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.compilation import COMPILING_SUITES
from conformance.model.run import RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from conformance.store import CompileStatusRow, RunRow

# What an emulated device can be told: to misbehave, and to have other operators.
_TOLD = ("CONFORMANCE_NEURON_FAULTS", "CONFORMANCE_NEURON_PROFILE")


def runs_beside(run: RunRow, runs: Iterable[RunRow]) -> list[RunRow]:
    """Return the other runs of the same device, without those of an emulated one that was told something else."""
    return [other for other in runs if other.id != run.id and _device(other) == _device(run)]


def is_whole(run: RunRow) -> bool:
    """Tell whether a run is complete and no shard."""
    return run.state is RunState.COMPLETE and run.shard is None


def newest_compiled(
    run: RunRow, runs: Iterable[RunRow], read: Callable[[int], Sequence[CompileStatusRow]], *, noun: str
) -> tuple[RunRow, list[CompileStatusRow]] | None:
    """Return the run to ask about operators (or modules) under torch.compile, and its rows of them.

    That is the run itself, or else the newest one beside it in which a compiling test has a result, a whole one before
    a part; None where there is none.
    """
    others = sorted(runs_beside(run, runs), key=lambda other: (is_whole(other), other.id), reverse=True)
    for other in (run, *others):
        if not any(suite.value in other.suites for suite in COMPILING_SUITES):
            continue
        rows = [row for row in read(other.id) if (row.module if noun == "module" else row.op) is not None]
        if any(row.planned > row.not_run for row in rows):
            return other, rows
    return None


def _device(run: RunRow) -> tuple[object, ...]:
    return (run.device, run.emulated, *(run.environment.get(name, "").strip() for name in _TOLD))
