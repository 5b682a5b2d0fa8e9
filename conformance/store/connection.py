"""Open, create and check the database file; turn SQLite's errors into ours."""

from __future__ import annotations

import sqlite3
import stat
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.errors import ConformanceError, InfrastructureError, UsageError
from conformance.store.schema import APPLICATION_ID, SCHEMA_VERSION

if TYPE_CHECKING:
    from types import TracebackType

BUSY_TIMEOUT_S = 60.0

_MAGIC = b"SQLite format 3\0"

Parameters = Sequence[object] | Mapping[str, object]


class Database:
    """An open database file; a context manager that closes it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    @classmethod
    def create_or_open(cls, path: Path) -> Database:
        """Open the database for writing; create it when missing or empty, migrate it when older.

        Raises UsageError (``not-a-database``, ``database-newer``) or InfrastructureError (``database-unwritable``).
        """
        path = Path(path)
        _check_file(path, missing_allowed=True)
        connection = _connect(path, "rwc")
        database = cls(path, connection)
        try:
            with database.translated():
                _configure(connection)
                version = database._version(empty_allowed=True)
                if version > SCHEMA_VERSION:
                    raise _newer(path, version)
                if not version:
                    # Tracebacks of 1 to 3 KB leave a third of each page of 4 KB empty, and a seventh of one of 8 KB.
                    connection.execute("PRAGMA page_size = 8192")
                _write_ahead(connection)
                if version < SCHEMA_VERSION:
                    # sqlite_utils costs 0.2 s to import, and only a new or an old file needs it.
                    from conformance.store.migrations import migrate

                    migrate(connection)
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("PRAGMA synchronous = NORMAL")
                with database.transaction():
                    pass  # proves that the file can be written
        except BaseException:
            connection.close()
            raise
        return database

    @classmethod
    def open_existing(cls, path: Path) -> Database:
        """Open the database for reading; never create or migrate it, and make do with a read-only folder.

        Raises UsageError (``database-missing``, ``not-a-database``, ``database-newer``, ``database-old``) or
        InfrastructureError (``database-unwritable``).
        """
        path = Path(path)
        _check_file(path, missing_allowed=False)
        database = cls(path, _connect_reading(path))
        try:
            with database.translated():
                version = database._version(empty_allowed=False)
                if version > SCHEMA_VERSION:
                    raise _newer(path, version)
                if version < SCHEMA_VERSION:
                    raise UsageError(
                        "database-old",
                        f"the database {path} has schema {version}, this harness reads {SCHEMA_VERSION}; "
                        "`conformance run` or `conformance merge` into it brings it up to date",
                    )
        except BaseException:
            database.close()
            raise
        return database

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self.connection.close()

    def query(self, sql: str, parameters: Parameters = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a SELECT, with SQLite's errors turned into ours."""
        with self.translated():
            yield from self.connection.execute(sql, parameters)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Commit what the block writes, or nothing of it."""
        with self.translated():
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself after some errors, a full disk among them.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def translated(self) -> Generator[None]:
        """Turn the errors of SQLite in the block into errors that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise _translate(self.path, error) from error

    def _version(self, *, empty_allowed: bool) -> int:
        application_id = self.connection.execute("PRAGMA application_id").fetchone()[0]
        if application_id == APPLICATION_ID:
            version: int = self.connection.execute("PRAGMA user_version").fetchone()[0]
            return version
        tables = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables or not empty_allowed:
            raise UsageError(
                "not-a-database", f"{self.path} is a SQLite database, but not one of this harness; give another --db"
            )
        return 0


def _check_file(path: Path, *, missing_allowed: bool) -> None:
    """Refuse what is no SQLite file before SQLite touches it; a missing file and an empty one are the same."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise UsageError("not-a-database", f"{path} is a folder, not a database; give the path of a file by --db")
        if not stat.S_ISREG(status.st_mode):
            raise UsageError("not-a-database", f"{path} is no regular file; give the path of a file by --db")
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except FileNotFoundError:
        if not missing_allowed:
            raise UsageError(
                "database-missing", f"there is no database {path}; run `conformance run` first or give its path by --db"
            ) from None
        if not path.parent.is_dir():
            raise InfrastructureError(
                "database-unwritable", f"cannot create the database {path}: there is no folder {path.parent}"
            ) from None
        return
    except OSError as error:
        raise InfrastructureError(
            "database-unwritable", f"cannot open the database {path}: {error.strerror or error}"
        ) from error
    if not start and missing_allowed:
        return  # made by mktemp, or left behind by a process that ended just after it had created the file
    if start != _MAGIC:
        what = "is empty" if not start else "is no SQLite file"
        raise UsageError("not-a-database", f"{path} {what}, so it is not a database of this harness; give another --db")


def _connect(path: Path, mode: str, options: str = "") -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < (3, 37):
        raise InfrastructureError(
            "sqlite-too-old", f"Python's SQLite is {sqlite3.sqlite_version}, and STRICT tables need 3.37 or later"
        )
    try:
        return sqlite3.connect(
            f"{path.resolve().as_uri()}?mode={mode}{options}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            cached_statements=256,
        )
    except sqlite3.Error as error:
        raise _translate(path, error) from error


def _configure(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA cache_size = -65536")
    connection.execute("PRAGMA temp_store = MEMORY")


def _connect_reading(path: Path) -> sqlite3.Connection:
    """Connect so that nothing can be written.

    A database in WAL mode needs its -shm file even to be read. In a read-only folder there is none to be made, and
    SQLite reads it only when told that the file cannot change.
    """
    connection = _connect(path, "rw")
    try:
        connection.execute("PRAGMA query_only = ON")
        _configure(connection)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection
    except sqlite3.OperationalError as error:
        connection.close()
        if "unable to open" not in str(error) and "readonly" not in str(error):
            raise _translate(path, error) from error
    except sqlite3.Error as error:
        connection.close()
        raise _translate(path, error) from error
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise InfrastructureError(
            "database-unwritable",
            f"the last results of {path} are still in {log.name}, and the folder is read-only; "
            "copy both files to a folder that can be written and open the copy",
        )
    connection = _connect(path, "ro", "&immutable=1")
    _configure(connection)
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode; SQLite does not wait for another process that is doing the same, so this does."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _newer(path: Path, version: int) -> UsageError:
    return UsageError(
        "database-newer",
        f"the database {path} has schema {version}, this harness knows {SCHEMA_VERSION}; "
        "install a newer torch-conformance",
    )


def _translate(path: Path, error: sqlite3.Error) -> ConformanceError:
    """Return our error for one of SQLite's; its texts are part of its interface and the only thing Python 3.10 has."""
    text = str(error)
    match text:
        case "database or disk is full":
            what = "the disk is full; what was written before is intact, free some space"
        case "database is locked":
            what = f"another process has kept it locked for {BUSY_TIMEOUT_S:.0f} s; wait for it to end"
        case "attempt to write a readonly database":
            what = "the file or its folder is read-only; make both writable or give another --db"
        case "unable to open database file":
            what = "the file or its folder cannot be opened for writing; make both writable or give another --db"
        case _ if isinstance(error, sqlite3.OperationalError) and "I/O error" in text:
            what = "the disk failed (I/O error)"
        case "file is not a database" | "database disk image is malformed":
            return UsageError(
                "not-a-database", f"{path} is damaged or no SQLite database ({text}); give another --db or a backup"
            )
        case _ if text.startswith("malformed database schema"):
            return UsageError("not-a-database", f"{path} is damaged ({text}); give another --db or a backup")
        case _:
            return ConformanceError("database-error", f"SQLite refused a statement on {path}: {text}")
    return InfrastructureError("database-unwritable", f"cannot write the database {path}: {what}")
