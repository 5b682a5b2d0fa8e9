"""The steps that bring any database to the present schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlite_utils

from conformance.store.schema import APPLICATION_ID, TABLES, VIEWS

if TYPE_CHECKING:
    import sqlite3

MIGRATIONS = sqlite_utils.Migrations("conformance")


@MIGRATIONS()
def m001_first_schema(db: sqlite_utils.Database) -> None:
    """Create every table and view."""
    for statement in TABLES + VIEWS:
        db.conn.execute(statement)
    db.conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.conn.execute("PRAGMA user_version = 1")


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
