"""The steps that bring any database to the present schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sqlite_utils

from conformance.store.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES, VIEWS

if TYPE_CHECKING:
    import sqlite3

MIGRATIONS = sqlite_utils.Migrations("conformance")


@MIGRATIONS()
def m001_first_schema(db: sqlite_utils.Database) -> None:
    """Create every table and view."""
    reshape(db.conn)
    db.conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@MIGRATIONS()
def m002_attempts_shards_and_resumed_runs(db: sqlite_utils.Database) -> None:
    """Know the outcome flaky, and which part of a plan a run undertook."""
    reshape(db.conn)
    # Runs of the first schema undertook all that they had collected; the digest of that was not kept.
    db.conn.execute("UPDATE run SET collected = planned WHERE collected = 0")


@MIGRATIONS()
def m003_skiplists_registrations_and_architectures(db: sqlite_utils.Database) -> None:
    """Know which entry of a skiplist speaks of a test, what a backend registered, and the architecture of a model."""
    reshape(db.conn)


@MIGRATIONS()
def m004_kernels_that_compute_on_the_cpu(db: sqlite_utils.Database) -> None:
    """Know which kernels of the device computed on the CPU inside."""
    reshape(db.conn)


@MIGRATIONS()
def m005_compilations(db: sqlite_utils.Database) -> None:
    """Know what torch.compile did in a test, and keep its tests out of the status of operators."""
    reshape(db.conn)


def reshape(connection: sqlite3.Connection) -> None:
    """Give the database the tables, indexes and views of this version; the rows stay.

    A table that is declared otherwise is written anew with the columns that both have; new ones take their default.
    Foreign keys must be off: a table that others refer to is dropped and comes back.
    """
    existing = {
        (kind, name): _plain(sql)
        for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    }
    for kind, name in existing:
        if kind == "view":
            connection.execute(f'DROP VIEW "{name}"')
    for statement in TABLES:
        kind, name = _declared(statement)
        present = existing.get((kind, name))
        if present == statement:
            continue
        if present is None or kind == "index":
            if kind == "index":
                connection.execute(f'DROP INDEX IF EXISTS "{name}"')
            connection.execute(statement)
        else:
            _rewrite(connection, name, statement)
            # Indexes go with their table and are declared after it.
            existing = {key: sql for key, sql in existing.items() if key[0] != "index"}
    for statement in VIEWS:
        connection.execute(statement)
    if connection.execute("SELECT EXISTS (SELECT 1 FROM run)").fetchone()[0]:
        # Statistics of tables that were rewritten are gone, and without them some questions take minutes.
        connection.execute("ANALYZE main")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _rewrite(connection: sqlite3.Connection, name: str, statement: str) -> None:
    last = (
        connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (name,)).fetchall()
        if "AUTOINCREMENT" in statement
        else []
    )
    connection.execute(statement.replace(f"CREATE TABLE {name} (", f"CREATE TABLE new_{name} (", 1))
    old, new = (
        [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] for table in (name, f"new_{name}")
    )
    columns = ", ".join(column for column in old if column in new)
    connection.execute(f"INSERT INTO new_{name} ({columns}) SELECT {columns} FROM {name}")
    connection.execute(f"DROP TABLE {name}")
    connection.execute(f"ALTER TABLE new_{name} RENAME TO {name}")
    for (sequence,) in last:  # a number is never used twice, also after the run that had it was deleted
        connection.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (sequence, name))


def _declared(statement: str) -> tuple[str, str]:
    _, kind, name, *_ = statement.split(None, 3)
    return kind.lower(), name


def _plain(sql: str) -> str:
    """Return a statement as it was declared: SQLite quotes the name of a table that was renamed."""
    return re.sub(r'^CREATE TABLE "(\w+)"', r"CREATE TABLE \1", sql)


def migrate(connection: sqlite3.Connection) -> None:
    """Apply what is missing, all of it or nothing; a second process that does the same waits and finds it done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        MIGRATIONS.apply(sqlite_utils.Database(connection, recursive_triggers=False, execute_plugins=False))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
