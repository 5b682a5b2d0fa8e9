"""Choose the run that the site shows, and the earlier ones that it may be held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.run import RunState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.store import RunRow

# How many earlier runs the curves and histories go back: a month of nightly runs.
RUNS_KEPT = 30

# What a run was told about its device besides the command line.
FAULTS = "CONFORMANCE_NEURON_FAULTS"
PROFILE = "CONFORMANCE_NEURON_PROFILE"


def is_whole(run: RunRow) -> bool:
    """Tell whether a run may make a headline: it is complete, and no shard of a larger one."""
    return str(run.state) == RunState.COMPLETE.value and run.shard is None


def best_run(runs: Sequence[RunRow]) -> RunRow | None:
    """Return the newest whole run, the newest of any kind where none is whole, None where there is none at all."""
    whole = [run for run in runs if is_whole(run)]
    return max(whole or runs, key=lambda run: run.id, default=None)


def overtaken_by(run: RunRow, runs: Sequence[RunRow]) -> RunRow | None:
    """Return the newest run of the same device that is younger than the one shown and not whole."""
    younger = [other for other in runs if other.id > run.id and _device(other) == _device(run) and not is_whole(other)]
    return max(younger, key=lambda other: other.id, default=None)


def wider_run(run: RunRow, runs: Sequence[RunRow]) -> RunRow | None:
    """Return the newest whole run of the same device without a selection, where the one shown has one."""
    if not run.selection:
        return None
    wider = [
        other
        for other in runs
        if is_whole(other) and not other.selection and _device(other) == _device(run) and other.planned > run.planned
    ]
    return max(wider, key=lambda other: other.id, default=None)


def series(run: RunRow, runs: Sequence[RunRow]) -> tuple[RunRow, ...]:
    """Return the whole runs of the same scope up to the one shown, oldest first, at most RUNS_KEPT of them.

    Runs of one scope asked the same of the same device: suites, selection, faults and profile are equal. Versions may
    differ; that is what a curve over time is about. A run that is not whole is in no series, its own neither.
    """
    same = [other for other in runs if is_whole(other) and other.id <= run.id and _scope(other) == _scope(run)]
    return tuple(sorted(same, key=lambda other: other.id)[-RUNS_KEPT:])


def selectable(run: RunRow, runs: Sequence[RunRow]) -> tuple[RunRow, ...]:
    """Return the runs that the page of comparisons offers, oldest first: the series, then the newest others."""
    chosen = {other.id: other for other in (*series(run, runs), run)}
    for other in sorted(runs, key=lambda other: other.id, reverse=True):
        if len(chosen) >= RUNS_KEPT:
            break
        chosen.setdefault(other.id, other)
    return tuple(chosen[number] for number in sorted(chosen))


def _device(run: RunRow) -> tuple[str, bool]:
    return run.device, run.emulated


def _scope(run: RunRow) -> tuple[object, ...]:
    told = tuple(run.environment.get(name, "").strip() for name in (FAULTS, PROFILE))
    return (*_device(run), run.device_name, tuple(sorted(run.suites)), run.selection, told)
