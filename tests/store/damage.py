"""Make databases and damage them: what tests of the doctor and of the rescue start from."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

from conformance.store import Database, schema
from conformance.store.pages import BadPageError, PageFile
from conformance.store.salvage import open_salvage
from tests.sample_run import build_sample

TABLES = [statement.split()[2] for statement in schema.TABLES if statement.startswith("CREATE TABLE")]
RESULTS = "SELECT run_id, test_id, outcome, message, fallback_ops, attempt FROM test_results"


def sample(path: Path, *, runs: int = 2, operators: int = 24) -> Path:
    return build_sample(path, runs=runs, operators=operators)


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def edit(path: Path, *statements: str) -> None:
    """Change a database past all its rules, as other programs can."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


def page_size(path: Path) -> int:
    size: int = select(path, "PRAGMA page_size")[0][0]
    return size


def zero_page(path: Path, number: int) -> None:
    size = page_size(path)
    data = bytearray(path.read_bytes())
    data[(number - 1) * size : number * size] = bytes(size)
    path.write_bytes(data)


def leaves(path: Path, table: str) -> list[int]:
    """Return the pages that hold rows of a table and are not where its tree begins."""
    found = []
    with PageFile(path) as pages:
        salvage = open_salvage(pages)
        shape = salvage.shapes[table]
        for number in range(2, pages.count + 1):
            try:
                is_table, rows = pages.peek(number)
            except BadPageError:
                continue
            same = rows and is_table == (shape.rowid is not None) and all(shape.fits(row) for row in rows)
            if same and number != salvage.roots[table]:
                found.append(number)
    return found


def as_killed(path: Path, copy: Path) -> Path:
    """Copy an open database as a process that is killed leaves it: with its write-ahead log."""
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    return copy


def beside(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


def is_sound(path: Path) -> bool:
    with Database.open_existing(path) as database:
        return list(database.query("PRAGMA integrity_check")) == [("ok",)] and not list(
            database.query("PRAGMA foreign_key_check")
        )
