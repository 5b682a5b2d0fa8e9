"""Examine a database file: whether it is whole, its counts agree, and its runs were finished.

Nothing is changed. Do not call this in a process that has the same file open: POSIX locks are lost when any descriptor
of the file is closed.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
import sys
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from conformance.errors import InfrastructureError, UsageError
from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.store.connection import Database
from conformance.store.mending import CLOSED, RECOUNT_ALL
from conformance.store.pages import Losses, PageFile
from conformance.store.resuming import is_alive
from conformance.store.salvage import open_salvage
from conformance.store.schema import APPLICATION_ID, SCHEMA_VERSION
from conformance.store.text import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_COMPLAINTS = 100
_OUR_TABLE = b"CREATE TABLE fallback_set_overload ("
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_RESCUE = "`conformance doctor --rescue NEWFILE` copies what can be read, and counts it anew, into a new file"
_BACKUP = f"restore a backup, or {_RESCUE}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: ``kind`` is a word for scripts, ``remedy`` what to do about it."""

    kind: str
    text: str
    remedy: str
    run_id: int | None = None
    table: str | None = None


@dataclass(slots=True)
class Examination:
    """What was found about one file.

    ``size``, ``log_size`` are in bytes; ``log_size`` is that of the write-ahead log. ``holder`` is the process that has
    the file open, 0 for one that cannot be named, None for none. ``runs`` and ``results`` (one an attempt) are None
    where they could not be counted. ``notes`` say what is worth knowing and not wrong.
    """

    path: Path
    size: int
    log_size: int = 0
    page_size: int = 0
    pages: int = 0
    free_pages: int = 0
    schema_version: int | None = None
    holder: int | None = None
    runs: int | None = None
    results: int | None = None
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, kind: str, text: str, remedy: str, *, run_id: int | None = None, table: str | None = None) -> None:
        """Keep a finding."""
        self.findings.append(Finding(kind, text, remedy, run_id=run_id, table=table))


def examine(path: Path, *, now: datetime | None = None) -> Examination:
    """Examine the database; ``now`` is what the age of an unfinished run is counted to.

    Raises UsageError (``database-missing``, ``not-a-database``, ``database-newer``) where it is no damaged database of
    this harness but something else, InfrastructureError (``database-unwritable``) where it cannot be read at all.
    """
    with _open_pages(path) as pages:
        found = Examination(path, path.stat().st_size, holder=holder_of(path))
        readable = _examine_file(found, pages)
    if readable:
        _examine_rows(found, now or datetime.now(timezone.utc))
    if not readable or any(finding.kind == "integrity" for finding in found.findings):
        _name_damaged_tables(found)
    return found


def _open_pages(path: Path) -> PageFile:
    """Open a file that is, or was, a database of this harness; raise what ``examine`` raises for any other.

    One whose beginning was overwritten is known by its schema, or by nothing but zeros in the place of it.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UsageError("not-a-database", f"{path} is no regular file; give the path of a database by --db")
        if not status.st_size:
            raise UsageError(
                "not-a-database",
                f"{path} is empty: nothing was stored in it, or all of it was cut off; restore a backup if it had runs",
            )
        pages = PageFile(path)
    except FileNotFoundError:
        raise UsageError("database-missing", f"there is no database {path}; give its path by --db") from None
    except OSError as error:
        raise InfrastructureError(
            "database-unwritable", f"cannot read the database {path}: {error.strerror or error}"
        ) from error
    if pages.application_id != APPLICATION_ID and any(pages.header) and not pages.mentions(_OUR_TABLE):
        pages.close()
        what = "is a SQLite database, but not one of this harness" if pages.whole_header else "is no SQLite file"
        raise UsageError("not-a-database", f"{path} {what}; give another --db")
    return pages


def holder_of(path: Path) -> int | None:
    """Return a process that has the database open: 0 if it cannot be named, None if there is none or no way to know.

    SQLite holds a shared lock on an open database in WAL mode (https://sqlite.org/lockingv3.html). This process's own
    locks do not show.
    """
    if sys.platform != "linux" or struct.calcsize("P") != 8:
        return None
    import fcntl

    layout = "hhqqi4x"  # struct flock of 64-bit Linux: type, whence, start, length, process
    wanted = struct.pack(layout, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        with path.open("rb") as file:
            kind, _, _, _, process = struct.unpack(layout, fcntl.fcntl(file, fcntl.F_GETLK, wanted))
    except OSError:
        return None
    return max(process, 0) if kind != fcntl.F_UNLCK else None


def _examine_file(found: Examination, pages: PageFile) -> bool:
    """Look at what surrounds the rows; tell whether SQLite can be asked about them."""
    path = found.path
    whole, version = pages.whole_header, pages.user_version
    found.page_size, found.pages, missing = pages.page_size, pages.count, pages.missing()
    if version is not None and version > SCHEMA_VERSION:
        raise UsageError(
            "database-newer",
            f"the database {path} has schema {version}, this harness knows {SCHEMA_VERSION}; "
            "install a newer torch-conformance",
        )
    found.schema_version = version
    log, shared, journal = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))
    found.log_size = log.stat().st_size if log.exists() else 0
    if found.log_size and found.holder is None:
        found.add(
            "log",
            f"{log.name} holds {found.log_size:,} bytes: a process was ended before they were moved into the database",
            "keep both files together; the next `conformance run` or `conformance report` takes it in",
        )
    if pages.log_rest:
        found.add("log", f"{log.name} is damaged: {pages.log_rest} of its pages cannot be used", _BACKUP)
    if shared.exists() and not log.exists():
        found.add(
            "log",
            f"{shared.name} is there without {log.name}: the last results may have been removed with it",
            f"put {log.name} back if there is a copy; otherwise resume the run that was not finished",
        )
    if found.holder is None and _is_hot(journal):
        found.add(
            "journal",
            f"{journal.name} is there: a process was ended in the middle of a change, half of which is in the database",
            f"keep both files together and run `sqlite3 {path} 'SELECT 1 FROM run'`, which takes that half back",
        )
    if not whole:
        found.add("header", "the beginning of the file was overwritten: SQLite cannot open it", _BACKUP)
    elif pages.application_id != APPLICATION_ID:
        found.add("header", "the mark was overwritten by which this harness knows its databases", _BACKUP)
    if missing:
        found.add(
            "truncated", f"the file was cut off: the last {missing} of its {found.pages} pages are missing", _BACKUP
        )
    return whole and not missing


def _is_hot(journal: Path) -> bool:
    try:
        with journal.open("rb") as file:
            return file.read(len(_JOURNAL_MAGIC)) == _JOURNAL_MAGIC
    except OSError:
        return False


def _examine_rows(found: Examination, now: datetime) -> None:
    checks: tuple[Callable[[sqlite3.Connection, Examination], None], ...] = (
        _check_integrity,
        _check_references,
        _check_schema,
        _check_counts,
        _check_outcomes,
        _check_texts,
        lambda connection, examination: _check_unfinished(connection, examination, now),
    )
    with closing(_connect(found)) as connection:
        try:
            connection.execute("BEGIN")  # one state of the database for all checks, though a run goes on
            found.free_pages = connection.execute("PRAGMA freelist_count").fetchone()[0]
        except (sqlite3.Error, UnicodeDecodeError) as error:  # a message may quote what is damaged
            if "unable to open" in str(error) or "readonly" in str(error):
                found.add(
                    "log",
                    "the rows were not looked at: SQLite cannot read the log in a folder that is read-only",
                    "copy both files to a folder that can be written, and examine the copy",
                )
            elif isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
                with Database(found.path, connection).translated():
                    raise
            else:
                found.add("integrity", f"SQLite cannot read the file: {error}", _BACKUP)
            return
        for check in checks:
            try:
                check(connection, found)
            except (sqlite3.Error, UnicodeDecodeError) as error:  # a message may quote what is damaged
                if not any(finding.kind == "integrity" for finding in found.findings):
                    found.add("integrity", f"SQLite cannot read on: {error}", _BACKUP)


def _connect(found: Examination) -> sqlite3.Connection:
    """Connect so that neither the file nor its folder changes: where there is no log, SQLite need not look for one."""
    fixed = not found.log_size and found.holder is None
    uri = f"{found.path.resolve().as_uri()}?mode=ro{'&immutable=1' if fixed else ''}"
    connection = sqlite3.connect(uri, uri=True, timeout=60, isolation_level=None)
    connection.text_factory = lambda text: text.decode("utf-8", "backslashreplace")  # SQLite quotes damaged text
    return connection


def _check_integrity(connection: sqlite3.Connection, found: Examination) -> None:
    complaints = [
        line
        for (text,) in connection.execute(f"PRAGMA integrity_check({_COMPLAINTS})")
        for line in str(text).splitlines()
        if not line.startswith("***")
    ]
    if complaints == ["ok"]:
        return
    number = f"{len(complaints)}{' or more' if len(complaints) >= _COMPLAINTS else ''}"
    found.add(
        "integrity", f"the file is damaged: SQLite's check has {number} complaints, the first: {complaints[0]}", _BACKUP
    )


def _check_references(connection: sqlite3.Connection, found: Examination) -> None:
    missing: dict[tuple[str, str], int] = {}
    for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        missing[table, parent] = missing.get((table, parent), 0) + 1
    for (table, parent), count in sorted(missing.items()):
        found.add(
            "references",
            f"{count} rows of the table {table} refer to rows of the table {parent} that are not there",
            _BACKUP,
            table=table,
        )


def _check_schema(connection: sqlite3.Connection, found: Examination) -> None:
    if found.schema_version != SCHEMA_VERSION:
        found.add(
            "schema",
            f"the database has schema {found.schema_version}, this harness writes {SCHEMA_VERSION}: reports refuse it",
            "`conformance run` or `conformance merge` into it brings it up to date and keeps all runs",
        )
        return
    present, declared = _objects(connection), _declared()
    for name, sql in declared.items():
        if name not in present:
            found.add("schema", f"the {' '.join(name)} is missing", _RESCUE, table=name[1])
        elif present[name] != sql:
            found.add("schema", f"the {' '.join(name)} is not as this harness makes it", _RESCUE, table=name[1])
    others = sorted(" ".join(name) for name in present.keys() - declared.keys() if "sqlite_" not in name[1])
    if others:
        found.notes.append(f"not of this harness, and not looked at: {', '.join(others)}")


def _check_counts(connection: sqlite3.Connection, found: Examination) -> None:
    found.runs = connection.execute("SELECT count(*) FROM run").fetchone()[0]
    found.results = connection.execute("SELECT count(*) FROM result").fetchone()[0]
    in_plan = dict(connection.execute("SELECT run_id, count(*) FROM plan GROUP BY run_id"))
    without = dict(
        connection.execute(
            """SELECT run_id, count(*) FROM plan WHERE NOT EXISTS (
                SELECT 1 FROM result WHERE result.run_id = plan.run_id AND result.test_ref = plan.test_ref
            ) GROUP BY run_id"""
        )
    )
    has_shards = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'run_shard'").fetchone()
    closing = CLOSED if has_shards else "SELECT run_id FROM run WHERE state IN ('complete', 'interrupted')"
    closed = {run_id for (run_id,) in connection.execute(closing)}
    counted = _by_run(connection.execute(RECOUNT_ALL))
    recorded = _by_run(connection.execute("SELECT run_id, outcome, tests FROM run_outcome WHERE tests <> 0"))
    for run_id, state, planned in connection.execute("SELECT run_id, state, planned FROM run ORDER BY run_id"):
        if planned != in_plan.get(run_id, 0):
            found.add(
                "plan",
                f"run {run_id} says that it planned {planned} tests, and its plan has {in_plan.get(run_id, 0)}",
                _RESCUE,
                run_id=run_id,
            )
        if run_id in closed and without.get(run_id):
            found.add(
                "results",
                f"run {run_id} is {state}, but {without[run_id]} of its planned tests have no result",
                _BACKUP,
                run_id=run_id,
            )
        differing = _differing(counted.get(run_id, {}), recorded.get(run_id, {}))
        if differing:
            found.add(
                "counts",
                f"run {run_id}: the outcomes kept for it are not those of its results: {differing}",
                _RESCUE,
                run_id=run_id,
            )


def _check_outcomes(connection: sqlite3.Connection, found: Examination) -> None:
    outcomes = {outcome.value for outcome in Outcome}
    for run_id, outcome, count in connection.execute(
        "SELECT run_id, outcome, count(*) FROM result GROUP BY 1, 2 ORDER BY 1, 2"
    ):
        if outcome not in outcomes:
            found.add(
                "outcome",
                f"run {run_id}: {count} results have the outcome {outcome!r}, which does not exist",
                _BACKUP,
                run_id=run_id,
            )
    states = {state.value for state in RunState}
    for run_id, state in connection.execute("SELECT run_id, state FROM run ORDER BY run_id"):
        if state not in states:
            found.add("outcome", f"run {run_id} is in the state {state!r}, which does not exist", _BACKUP)


def _check_texts(connection: sqlite3.Connection, found: Examination) -> None:
    """Compare messages and tracebacks with their digests: SQLite does not see a change inside a row."""
    changed = sum(
        not isinstance(text, str) or stored != digest(text)
        for stored, text in connection.execute("SELECT digest, text FROM text")
    )
    if changed:
        found.add(
            "texts", f"{changed} messages or tracebacks were changed after they were stored", _BACKUP, table="text"
        )


def _check_unfinished(connection: sqlite3.Connection, found: Examination, now: datetime) -> None:
    known = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('run')")}
    owner = "owner" if "owner" in known else "''"
    for run_id, state, moment, process in connection.execute(
        f"SELECT run_id, state, CAST(coalesce(started_at, created_at) AS TEXT), CAST({owner} AS TEXT) FROM run"
        " WHERE state IN ('planned', 'running') ORDER BY run_id"
    ):
        started = f"run {run_id} ({state}, begun {_age(moment, now)})"
        if is_alive(process):
            found.notes.append(f"{started} is being carried out by process {process.partition('@')[0]}")
        elif found.holder == 0 or (found.holder is not None and not process):
            found.notes.append(f"{started} may still go on: {_holder(found.holder)} has the file open")
        else:
            found.add(
                "unfinished",
                f"{started} was not finished, and the process that carried it out is gone",
                "the same command with --resume finishes it; until then its tests without a result count as not run",
                run_id=run_id,
            )


def _name_damaged_tables(found: Examination) -> None:
    """Say how much of each table cannot be read, since SQLite only says on which page it stopped."""
    with PageFile(found.path) as pages:
        salvage = open_salvage(pages)
        for table in salvage.shapes:
            for _ in salvage.rows(pages, table):
                pass
            losses = salvage.losses.get(table, Losses())
            parts = [
                f"{count} {noun}{'' if count == 1 else 's'}"
                for count, noun in ((len(losses.pages), "page"), (losses.rows, "row"))
                if count
            ]
            if parts:
                found.add("damage", f"{' and '.join(parts)} of the table {table} cannot be read", _BACKUP, table=table)


def _objects(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return the SQL of each table, index and view, without the quotes and spaces that a change of it brings along."""
    return {
        (kind, name): " ".join(sql.replace('"', "").split())
        for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    }


def _declared() -> dict[tuple[str, str], str]:
    from conformance.store.migrations import migrate

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        return {name: sql for name, sql in _objects(connection).items() if "sqlite_" not in name[1]}


def _by_run(rows: Iterator[tuple[int, str, int]]) -> dict[int, dict[str, int]]:
    counts: dict[int, dict[str, int]] = {}
    for run_id, outcome, tests in rows:
        counts.setdefault(run_id, {})[str(outcome)] = tests  # a damaged row may hold anything
    return counts


def _differing(counted: dict[str, int], recorded: dict[str, int]) -> str:
    return ", ".join(
        f"{outcome} {recorded.get(outcome, 0)} instead of {counted.get(outcome, 0)}"
        for outcome in sorted(counted.keys() | recorded.keys())
        if counted.get(outcome, 0) != recorded.get(outcome, 0)
    )


def _age(moment: str, now: datetime) -> str:
    try:
        then = datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return "at an unknown time"
    seconds = int((now - then).total_seconds())
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now" if seconds == 0 else f"at {moment}, which is in the future"


def _holder(holder: int) -> str:
    return f"process {holder}" if holder else "a process of another container"
