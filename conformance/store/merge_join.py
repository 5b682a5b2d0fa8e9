"""Write one run made of the shards of one launch, or add shards to one that was made before.

The shards' own runs are rows of the attached database ``source``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from conformance.model.run import RunState
from conformance.store.merge_copy import refuse_if_written
from conformance.store.merge_decide import SHARD_COLUMNS, TESTS_HERE, Joining, decide
from conformance.store.merge_rows import copy_rows
from conformance.store.merge_shards import Shard, command_of, hosts_of, key_of, shard_of, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.store.connection import Database
    from conformance.store.merge_shards import Group
    from conformance.store.rows import RunRow

# What the shards of a launch agree on.
_EQUAL = (
    "device",
    "torch_version",
    "backend",
    "backend_version",
    "harness_version",
    "selection",
    "probe",
    "seed",
    "plan_digest",
    "collected",
    "split",
    "launch",
)


def join(database: Database, group: Group, staged: Sequence[RunRow]) -> tuple[Joining, int]:
    """Write the merged run in one transaction; return what was done and the run's number."""
    connection = database.connection
    with database.transaction():
        # Again: another merge may have written the run since.
        joining = decide(database, group, staged)
        if not joining.written:
            assert joining.here is not None
            return joining, joining.here.id
        if joining.here is None:
            run_id = connection.execute(
                """INSERT INTO run (key, created_at, state, suites, device, device_name, emulated, torch_version,
                    backend, backend_version, harness_version, python_version, host, operating_system, command,
                    selection, probe, seed, environment)
                VALUES (?, '', 'interrupted', '[]', '', '', 0, '', '', '', '', '', '', '', '', '', '', 0, '{}')""",
                (key_of(joining.shards.values()),),
            ).lastrowid
            assert run_id is not None
        else:
            run_id = joining.here.id
            refuse_if_written(database, run_id, joining.here.owner)
            _make_room(database, run_id, joining)
        first = _positions(joining.shards)
        parts = [(run.id, first[shard_of(run).shard]) for run in joining.written]
        _describe(database, run_id, joining)
        copy_rows(connection, parts, run_id, inventory_of=_fullest_inventory(database, run_id, joining.written))
        _write_shards(database, run_id, joining, group.count)
    return joining, run_id


def _positions(shards: Mapping[int, Shard]) -> dict[int, int]:
    """Return the first position of each shard: a merged run has the plans of its shards one after the other."""
    first = {}
    position = 0
    for number in sorted(shards):
        first[number] = position
        position += shards[number].planned
    return first


def _make_room(database: Database, run_id: int, joining: Joining) -> None:
    """Take out the shards that are written anew, and move the others to where they belong in the plan."""
    connection = database.connection
    for run in joining.written:
        if joining.replaces(run):
            for table in ("compilation", "result", "plan"):
                connection.execute(
                    f"DELETE FROM main.{table} WHERE run_id = :here AND test_ref IN ({TESTS_HERE})",
                    {"here": run_id, "there": run.id},
                )
    old, new = _positions(joining.before), _positions(joining.shards)
    for number in sorted(old, reverse=True):
        shift = new[number] - old[number]
        if shift:
            connection.execute(
                "UPDATE main.plan SET position = position + ? WHERE run_id = ? AND position >= ? AND position < ?",
                (shift, run_id, old[number], old[number] + joining.before[number].planned),
            )


def _describe(database: Database, run_id: int, joining: Joining) -> None:
    """Set the columns of the merged run; what has no rule of its own is taken from the first shard."""
    shards = [shard for shard in joining.shards.values() if shard.key]
    known = list(joining.written)
    if joining.here is not None:
        lowest = min(number for number, shard in joining.before.items() if shard.key)
        at = 0 if lowest < shard_of(known[0]).shard else len(known)
        known.insert(at, joining.here)
    first = known[0]
    started = [shard.started_at for shard in shards if shard.started_at]
    finished = [shard.finished_at for shard in shards if shard.finished_at]
    columns: dict[str, object] = {
        "key": key_of(shards),
        "created_at": min(run.created_at for run in known),
        "started_at": min(started, default=None),
        "finished_at": max(finished, default=None),
        "state": joining.state.value,
        "suites": json.dumps(sorted({suite for run in known for suite in run.suites}), ensure_ascii=False),
        "device_name": together(run.device_name for run in known),
        "emulated": int(first.emulated),
        "python_version": together(run.python_version for run in known),
        "operating_system": together(run.operating_system for run in known),
        "host": hosts_of(shards),
        "command": command_of(shards),
        "environment": json.dumps(dict(sorted(first.environment.items())), ensure_ascii=False),
        "retries": max(run.retries for run in known),
        "resumed": max(run.resumed for run in known),
        "skiplist": together(run.skiplist for run in known),
        "run_skipped": int(all(run.run_skipped for run in known)),
        "owner": "",
    }
    for name in _EQUAL:
        columns[name] = getattr(first, name)
    settings = ", ".join(f"{name} = ?" for name in columns)
    database.connection.execute(f"UPDATE main.run SET {settings} WHERE run_id = ?", (*columns.values(), run_id))


def _fullest_inventory(database: Database, run_id: int, written: Iterable[RunRow]) -> int | None:
    """Return the shard that declares most: one whose tests are all of local files declares nothing.

    None where the merged run has an inventory that is as full.
    """
    sizes = """SELECT (SELECT count(*) FROM {0}.inventory_operator AS one WHERE one.inventory_id = run.inventory_id)
        + (SELECT count(*) FROM {0}.inventory_module AS one WHERE one.inventory_id = run.inventory_id)
        FROM {0}.run AS run WHERE run_id = ? AND inventory_id IS NOT NULL"""
    best, fullest = next(iter(database.query(sizes.format("main"), (run_id,))), (-1,))[0], None
    for run in written:
        for (size,) in database.query(sizes.format("source"), (run.id,)):
            if size > best:
                best, fullest = size, run.id
    return fullest


def _write_shards(database: Database, run_id: int, joining: Joining, count: int) -> None:
    """Write a row for each shard; one that is missing has no key, and is complete if the plan has no test for it."""
    connection = database.connection
    connection.execute("DELETE FROM main.run_shard WHERE run_id = ?", (run_id,))
    absent = RunState.PLANNED if joining.missing else RunState.COMPLETE
    rows = []
    for number in range(1, count + 1):
        shard = joining.shards.get(number)
        rows.append(shard if shard and shard.key else Shard(number, "", absent, "", "", None, None, 0))
    connection.executemany(
        f"INSERT INTO main.run_shard (run_id, {', '.join(SHARD_COLUMNS)}) VALUES (?{', ?' * len(SHARD_COLUMNS)})",
        [(run_id, *(str(value) if isinstance(value, RunState) else value for value in row)) for row in rows],
    )
