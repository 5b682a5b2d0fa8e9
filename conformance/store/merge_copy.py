"""Copy one run from the attached database ``source``, or bring the version that is here up to date."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from conformance.errors import UsageError
from conformance.model.run import RunState
from conformance.store.merge_rows import copy_rows
from conformance.store.merge_versions import Verdict, compare
from conformance.store.resuming import is_alive

if TYPE_CHECKING:
    import sqlite3

    from conformance.store.connection import Database

# The number is this database's; nobody writes the run here; the rest is set with the rows it counts or refers to.
_OWN = ("run_id", "owner", "inventory_id", "registration_set_id", "planned")


class Action(str, Enum):
    """What a merge did with a run."""

    COPIED = "copied"
    JOINED = "joined"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    NO_PLAN = "no plan"
    REFUSED = "refused"

    def __str__(self) -> str:
        return self.value


class Here(NamedTuple):
    """The version of a run that is here already."""

    run_id: int
    state: RunState
    planned: int
    owner: str


def copy_run(database: Database, key: str) -> tuple[Action, int | None]:
    """Copy the source's run with this key in one transaction; return what was done and the run's number here.

    The run may have gone since the source was listed: then there is nothing to do and no number. Raises UsageError
    (``run-diverged``, ``run-in-use``) and DanglingRows, and changes nothing then.
    """
    connection = database.connection
    with database.transaction():
        row = connection.execute("SELECT run_id, state FROM source.run WHERE key = ?", (key,)).fetchone()
        if row is None:
            return Action.UNCHANGED, None
        there, state = row
        here = _version_here(database, key, there)
        if here is None:
            columns = _columns(connection)
            run_id = connection.execute(
                f"INSERT INTO main.run ({columns}) SELECT {columns} FROM source.run WHERE run_id = ?", (there,)
            ).lastrowid
            assert run_id is not None
            _copy_content(connection, there, run_id)
            return Action.COPIED, run_id
        if _is_plainly_equal(connection, here, there):
            return Action.UNCHANGED, here.run_id
        match compare(
            connection,
            here=here.run_id,
            there=there,
            state_here=here.state,
            state_there=RunState(state),
            planned_here=here.planned,
        ):
            case Verdict.EQUAL | Verdict.BEHIND:
                return Action.UNCHANGED, here.run_id
            case Verdict.DIVERGED:
                raise diverged(database, here.run_id, key)
            case Verdict.FURTHER:
                pass
        refuse_if_written(database, here.run_id, here.owner)
        for table in ("compilation", "result", "plan", "run_shard", "run_skiplist_entry"):
            connection.execute(f"DELETE FROM main.{table} WHERE run_id = ?", (here.run_id,))
        columns = _columns(connection)
        connection.execute(
            f"""UPDATE main.run SET owner = '', ({columns}) = (SELECT {columns} FROM source.run WHERE run_id = ?)
            WHERE run_id = ?""",
            (there, here.run_id),
        )
        _copy_content(connection, there, here.run_id)
        return Action.UPDATED, here.run_id


def diverged(database: Database, run_id: int, key: str) -> UsageError:
    """Return the error for two versions of one run that each have what the other lacks."""
    return UsageError(
        "run-diverged",
        f"run {run_id} of {database.path} (key {key[:8]}) was continued in both files, with different results; "
        "it stays as it is. Merge the other version into a new file",
    )


def refuse_if_written(database: Database, run_id: int, owner: str) -> None:
    """Raise UsageError (``run-in-use``) if a process of this machine is writing the run."""
    if is_alive(owner):
        raise UsageError(
            "run-in-use",
            f"run {run_id} in {database.path} is still being carried out by process {owner.partition('@')[0]}; "
            "wait for it, or end it first",
        )


def _copy_content(connection: sqlite3.Connection, there: int, here: int) -> None:
    copy_rows(connection, [(there, 0)], here, inventory_of=there)
    columns = "shard, key, state, host, command, started_at, finished_at, planned"
    connection.execute(
        f"INSERT INTO main.run_shard (run_id, {columns}) SELECT ?, {columns} FROM source.run_shard WHERE run_id = ?",
        (here, there),
    )


def _version_here(database: Database, key: str, there: int) -> Here | None:
    """Find the run by its key; a run merged from shards has had other keys before it was complete."""
    found = database.connection.execute(
        """SELECT run_id, state, planned, owner FROM main.run WHERE key = :key OR run_id IN (
            SELECT run_id FROM main.run_shard WHERE key IN (
                SELECT key FROM source.run_shard WHERE run_id = :there AND key <> ''
            )
        ) ORDER BY key <> :key""",
        {"key": key, "there": there},
    ).fetchall()
    if len(found) > 1:
        numbers = " and ".join(str(row[0]) for row in found)
        raise UsageError(
            "run-diverged",
            f"shards of the merged run {key[:8]} are in the runs {numbers} of {database.path}; "
            "they stay as they are. Merge the shards' own files into a new file",
        )
    return Here(found[0][0], RunState(found[0][1]), *found[0][2:]) if found else None


def _is_plainly_equal(connection: sqlite3.Connection, here: Here, there: int) -> bool:
    """Tell without a look at each test whether nothing happened to a finished run since it was copied."""
    facts = []
    for schema, run_id in (("main", here.run_id), ("source", there)):
        facts.append(
            connection.execute(
                f"""SELECT key, state, finished_at, resumed, planned,
                    (SELECT count(*) FROM {schema}.result WHERE run_id = run.run_id)
                FROM {schema}.run AS run WHERE run_id = ? AND finished_at IS NOT NULL""",
                (run_id,),
            ).fetchone()
        )
    return facts[0] is not None and facts[0] == facts[1]


def _columns(connection: sqlite3.Connection) -> str:
    names = [row[1] for row in connection.execute("PRAGMA main.table_info(run)")]
    return ", ".join(name for name in names if name not in _OWN)
