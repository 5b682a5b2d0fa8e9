"""How long tests took in earlier runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from conformance.model.run import RunState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.store.connection import Database


class Durations(NamedTuple):
    """Seconds by test id, as measured in the run with this key; empty where there is none."""

    key: str
    seconds: Mapping[str, float]


def durations_of_whole_run(db: Database, *, device: str, suites: Iterable[str]) -> Durations:
    """Return how long each test took in the newest complete run of these suites on the device that was no shard."""
    wanted = sorted(set(suites))
    for run_id, key, found in db.query(
        "SELECT run_id, key, suites FROM run WHERE device = ? AND state = ? AND shard IS NULL ORDER BY run_id DESC",
        (device, RunState.COMPLETE.value),
    ):
        if set(wanted) <= _names(found):
            return Durations(key, _seconds(db, run_id, 0.0))
    return Durations("", {})


def long_tests(db: Database, *, device: str, at_least_s: float) -> dict[str, float]:
    """Return the tests that took at least so long in one of the last three runs on the device, with their seconds."""
    found: dict[str, float] = {}
    runs = list(db.query("SELECT run_id FROM run WHERE device = ? ORDER BY run_id DESC LIMIT 3", (device,)))
    for (run_id,) in reversed(runs):
        found.update(_seconds(db, run_id, at_least_s))
    return found


def _seconds(db: Database, run_id: int, at_least_s: float) -> dict[str, float]:
    return dict(
        db.query(
            "SELECT test.test_id, max(result.duration_us) / 1e6 FROM result JOIN test ON test.id = result.test_ref"
            " WHERE result.run_id = ? AND result.duration_us >= ? AND result.outcome <> 'not_run' GROUP BY 1",
            (run_id, round(at_least_s * 1e6)),
        )
    )


def _names(suites: str) -> set[str]:
    import json

    return set(json.loads(suites))
