"""Open the databases that are merged, so that none of them changes."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import InfrastructureError, UsageError
from conformance.model.run import RunState
from conformance.store.connection import Database
from conformance.store.queries import runs

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from contextlib import ExitStack

    from conformance.store.rows import RunRow

_READING = ("?mode=ro", "?mode=ro&immutable=1")


@dataclass(frozen=True, slots=True)
class Source:
    """A database that is read: what the user called it, where its rows are read from, and its runs.

    ``joined`` holds the keys of the shards of each run that was merged from shards, by that run's number.
    """

    path: Path
    database: Database
    runs: tuple[RunRow, ...]
    joined: Mapping[int, frozenset[str]]

    @contextmanager
    def attached(self, reader: Database) -> Generator[None]:
        """Let ``reader`` see the rows as the schema ``source``; errors of a damaged source name the source."""
        _attach(reader, self)
        try:
            yield
        except UsageError as error:
            if error.slug == "not-a-database" and not _is_sound(reader):
                raise damaged(self.path, "PRAGMA quick_check finds errors in it") from error
            raise
        finally:
            with reader.translated():
                reader.connection.execute("DETACH DATABASE source")


def damaged(path: Path, what: str) -> UsageError:
    """Return the error for a source whose rows do not go together."""
    return UsageError(
        "not-a-database",
        f"{path} is damaged ({what}); leave it out, or rescue what can be read by `conformance doctor`",
    )


def is_empty(run: RunRow) -> bool:
    """Tell whether the run was killed, or is being begun, before its plan was stored: nothing is known of it."""
    return run.planned == 0 and run.state is RunState.PLANNED


def check_paths(target: Path, paths: Sequence[Path]) -> list[Path]:
    """Return the files to read, each once, whatever it was called where it was given again.

    Raises UsageError (``merge-into-itself``, ``database-missing``) before anything is opened.
    """
    known: dict[tuple[int, int], Path] = {}
    mine = _identity(target)
    for path in paths:
        identity = _identity(path)
        if identity is None:
            raise UsageError("database-missing", f"there is no database {path} to merge; check the path")
        if identity == mine:
            raise UsageError(
                "merge-into-itself", f"{path} is the file that is merged into; leave it out, or give another --into"
            )
        known.setdefault(identity, path)
    return list(known.values())


def open_source(path: Path, scratch: Path, stack: ExitStack) -> Source:
    """Open a database for reading until the stack is left; read an older one through a copy in ``scratch``.

    Raises UsageError (``not-a-database``, ``database-newer``) or InfrastructureError (``database-unwritable``).
    """
    log = Path(f"{path}-wal")
    with suppress(OSError):
        if log.stat().st_size:
            # Whoever closes a database last folds its log into it. This one cannot, and is closed after the next.
            stack.enter_context(_holding(path))
    try:
        database = stack.enter_context(Database.open_existing(path))
    except UsageError as error:
        if error.slug == "database-old":
            database = stack.enter_context(_migrated_copy(path, scratch))
        elif error.slug == "not-a-database":
            what = str(error).partition("; give ")[0]
            raise UsageError("not-a-database", f"{what}; leave it out, or give a backup") from error
        else:
            raise
    return describe(path, database)


def describe(path: Path, database: Database) -> Source:
    """Return an open database as a source under the name that the user knows."""
    keys: dict[int, set[str]] = {}
    for run_id, key in database.query("SELECT run_id, key FROM run_shard WHERE key <> ''"):
        keys.setdefault(run_id, set()).add(key)
    joined = {run_id: frozenset(found) for run_id, found in keys.items()}
    return Source(path, database, tuple(runs(database)), joined)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def _holding(path: Path) -> Generator[None]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        with suppress(sqlite3.Error):  # the next to open it says what is wrong
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield


def _migrated_copy(path: Path, scratch: Path) -> Database:
    """Return a copy of an older database, brought up to date; the file itself stays as it is."""
    copy = scratch / f"{len(list(scratch.iterdir()))}.sqlite"
    with closing(sqlite3.connect(copy)) as new:
        for reading in _READING:
            try:
                with closing(sqlite3.connect(f"{path.resolve().as_uri()}{reading}", uri=True)) as old:
                    old.backup(new)
                break
            except sqlite3.OperationalError as error:
                if reading == _READING[-1]:
                    raise InfrastructureError(
                        "database-unwritable",
                        f"cannot copy {path} to {scratch}, which an older database needs: {error}",
                    ) from error
            except sqlite3.Error as error:
                raise damaged(path, str(error)) from error
    return Database.create_or_open(copy)


def _attach(reader: Database, source: Source) -> None:
    """Attach the source for reading only: a transaction that writes would lock it otherwise."""
    for reading in _READING:
        uri = f"{source.database.path.resolve().as_uri()}{reading}"
        try:
            reader.connection.execute("ATTACH DATABASE ? AS source", (uri,))
            reader.connection.execute("SELECT count(*) FROM source.sqlite_master").fetchone()
            return
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                reader.connection.execute("DETACH DATABASE source")
            # In a folder that cannot be written SQLite reads a database only when told that it cannot change.
            refused = "unable to open" in str(error) or "readonly" in str(error)
            if reading == _READING[-1] or not refused:
                with source.database.translated():
                    raise


def _is_sound(reader: Database) -> bool:
    try:
        return reader.connection.execute("PRAGMA source.quick_check(1)").fetchall() == [("ok",)]
    except sqlite3.Error:
        return False
