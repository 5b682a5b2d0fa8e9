"""Find the run that ``--resume`` takes up, and what is left of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.errors import UsageError
from conformance.model.run import RunInfo, RunState
from conformance.store import LastAttempt, RunRow

_SAME = (
    *("device_name", "emulated", "torch_version", "backend", "backend_version", "harness_version"),
    *("probe", "seed", "retries", "skiplist", "run_skipped"),
)


def unfinished_run(
    rows: Sequence[RunRow], run: RunInfo, *, digest: str, shard: int | None, shards: int | None
) -> RunRow | None:
    """Return the run that ``run`` may continue: the newest of its device, suites and selection, if it is unfinished.

    None where there is none, or where it is complete. ``digest`` is of the tests collected now. Raises ``UsageError``
    (``cannot-resume``) where that run planned other tests or was made under other circumstances.
    """
    alike = [
        row
        for row in rows
        if (row.device, row.suites, row.selection, row.shard, row.shards)
        == (run.device, run.suites, run.selection, shard, shards)
    ]
    # A run that was merged while a shard was missing is finished by that shard.
    alike = [row for row in alike if not (row.shard is None and 0 < row.planned < row.collected)]
    if not alike or alike[-1].state is RunState.COMPLETE:
        return None
    row = alike[-1]
    differences = [
        f"{name.replace('_', ' ')} was {getattr(row, name)} and is {getattr(run, name)}"
        for name in _SAME
        if getattr(row, name) != getattr(run, name)
    ]
    if row.plan_digest and row.plan_digest != digest:
        differences.append("the tests that were collected are not the same")
    if differences:
        raise UsageError(
            "cannot-resume",
            f"run {row.id} is unfinished, but cannot be continued: {'; '.join(differences)}; "
            "make them equal, or leave --resume out to start a new run",
        )
    return row


def left_to_run(known: Mapping[str, LastAttempt], *, retries: int) -> set[str]:
    """Return the test ids that have no result yet, or a bad one and an attempt left."""
    return {
        test_id
        for test_id, last in known.items()
        if last.outcome is None or (last.outcome.is_bad and last.attempt <= retries)
    }
