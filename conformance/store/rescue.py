"""Copy what can be read of a damaged database into a new file, and account for what cannot."""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from conformance.errors import InfrastructureError, UsageError
from conformance.store.connection import Database
from conformance.store.doctor import examine
from conformance.store.mending import DERIVED, mend
from conformance.store.pages import Losses, PageFile
from conformance.store.salvage import open_salvage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from conformance.store.pages import Value
    from conformance.store.salvage import Salvage, Shape

_BATCH = 1000
_CAUTIONS = {
    "integrity": "rows that were changed and still make sense cannot be told from others: they are as they were found",
    "journal": "the journal beside the file was not used: the half of a change that it takes back is in the new file",
}


@dataclass(frozen=True, slots=True)
class TableRescue:
    """What became of one table.

    ``rescued`` rows are in the new file as they were. ``lost_rows`` are known to have existed; how many rows were on
    the ``lost_pages`` is not known, and 0 of them count where an index still tells every row. ``placeholders`` are rows
    that others refer to and that say of themselves that they were lost.
    """

    table: str
    rescued: int
    lost_rows: int
    lost_pages: int
    placeholders: int


@dataclass(frozen=True, slots=True)
class Rescue:
    """What a rescue brought into the file ``path``; ``notes`` say what else was lost, in one line each."""

    path: Path
    tables: tuple[TableRescue, ...]
    notes: tuple[str, ...]

    @property
    def lost_nothing(self) -> bool:
        """Tell whether every row that was ever committed is in the new file."""
        return not self.notes and all(
            table.lost_rows == table.lost_pages == table.placeholders == 0 for table in self.tables
        )


def rescue(damaged: Path, new: Path) -> Rescue:
    """Copy every row of ``damaged`` that can be read into ``new``, which must not exist; ``damaged`` stays as it is.

    In the new file every reference leads somewhere and every count is right: a lost row that others need is replaced by
    one that says so, and a planned test whose result was lost is ``not_run``. Raises UsageError (``rescue-exists``,
    ``database-in-use``, ``nothing-to-rescue``, ``not-a-database``, ``database-missing``, ``database-newer``) or
    InfrastructureError (``database-unwritable``).
    """
    if os.path.lexists(new):
        raise UsageError("rescue-exists", f"{new} exists already; give --rescue the name of a new file")
    if not new.parent.is_dir():
        raise InfrastructureError("database-unwritable", f"cannot create {new}: there is no folder {new.parent}")
    examination = examine(damaged)
    if examination.holder is not None:
        raise UsageError(
            "database-in-use",
            f"process {examination.holder or 'of another container'} has {damaged} open; wait for it to end",
        )
    partial = new.with_name(f".{new.name}.{os.getpid()}")
    try:
        with PageFile(damaged) as pages, Database.create_or_open(partial) as database:
            tables, notes = _fill(database, pages, damaged)
        partial.rename(new)
    except OSError as error:
        raise InfrastructureError(
            "database-unwritable", f"cannot write the database {new}: {error.strerror or error}"
        ) from error
    finally:
        for suffix in ("", "-wal", "-shm"):
            partial.with_name(partial.name + suffix).unlink(missing_ok=True)
    notes += [_CAUTIONS[kind] for kind in sorted({finding.kind for finding in examination.findings} & _CAUTIONS.keys())]
    return Rescue(new, tables, tuple(notes))


def _fill(database: Database, pages: PageFile, damaged: Path) -> tuple[tuple[TableRescue, ...], list[str]]:
    database.connection.execute("PRAGMA foreign_keys = OFF")
    salvage = open_salvage(pages)
    copies = {name: _Copy(database, shape) for name, shape in salvage.shapes.items() if name not in DERIVED}
    for name, copy in copies.items():
        copy.take(salvage.rows(pages, name))
    for name in DERIVED:
        deque(salvage.rows(pages, name), maxlen=0)  # its pages are no strays
        del salvage.losses[name]
    for copy in copies.values():
        copy.read_indexes(pages, salvage)
    for name, rows in salvage.strays(pages):  # needs all trees read
        copies[name].take(rows)
    known = {name: copy.complete() for name, copy in copies.items()}
    if not any(copy.rescued for copy in copies.values()):
        raise UsageError("nothing-to-rescue", f"not one row can be read in {damaged}; restore it from a backup")
    damage = {name for name, copy in copies.items() if copy.lost_rows(salvage) or copy.lost_pages(salvage)}
    with database.transaction():
        mended = mend(database.connection, known, damage)
    with suppress(InfrastructureError), database.transaction():
        database.connection.execute("PRAGMA analysis_limit = 400")
        database.connection.execute("ANALYZE")
    if "fallback_set" not in damage:
        damage.discard("fallback_set_overload")  # the sets say what their members are
    tables = tuple(
        TableRescue(
            table=name,
            rescued=copy.rescued,
            lost_rows=copy.lost_rows(salvage) if name in damage else 0,
            lost_pages=copy.lost_pages(salvage) if name in damage else 0,
            placeholders=mended.placeholders.get(name, 0),
        )
        for name, copy in copies.items()
    )
    differing = [
        f"{copy.differing} rows of the table {name} are not what an index of it says: one of the two was changed"
        for name, copy in copies.items()
        if copy.differing
    ]
    return tables, [*_notes_of(pages, salvage), *differing, *mended.notes()]


def _notes_of(pages: PageFile, salvage: Salvage) -> list[str]:
    notes = []
    if salvage.unassigned_pages:
        notes.append(f"{salvage.unassigned_pages} pages hold rows that could be of several tables: they were left out")
    if pages.log_rest:
        notes.append(
            f"the write-ahead log has {pages.log_rest} pages behind a damaged one: what they would have changed is lost"
        )
    return notes


class _Copy:
    """The copying of one table."""

    def __init__(self, database: Database, shape: Shape) -> None:
        self._database = database
        self.shape = shape
        self.rescued = 0
        self._refused = 0
        self._missing: int | None = None  # rows; None where no index tells
        self._indexed: dict[int, dict[str, Value]] = {}
        self._index_losses = Losses()
        self.differing = 0  # rows of which an index says something else
        present = {
            name for (name,) in database.connection.execute("SELECT name FROM pragma_table_info(?)", (shape.name,))
        }
        self._columns = [column.name for column in shape.columns if column.name in present]
        self._insert = (
            f"INSERT INTO {shape.name} ({', '.join(self._columns)}) VALUES ({', '.join('?' * len(self._columns))})"
        )

    def take(self, rows: Iterable[dict[str, Value]]) -> None:
        """Write rows; those that break a rule of the schema are counted as lost."""
        waiting = iter(rows)
        while batch := [tuple(row[name] for name in self._columns) for row in islice(waiting, _BATCH)]:
            with self._database.transaction():
                # The savepoint is inside, since a translated error would not tell a bad row from a full disk.
                self._database.connection.execute("SAVEPOINT batch")
                try:
                    self._database.connection.executemany(self._insert, batch)
                    self.rescued += len(batch)
                except (sqlite3.IntegrityError, sqlite3.DataError):
                    self._database.connection.execute("ROLLBACK TO batch")
                    self._one_by_one(batch)

    def _one_by_one(self, batch: list[tuple[Value, ...]]) -> None:
        for row in batch:
            try:
                self._database.connection.execute(self._insert, row)
                self.rescued += 1
            except (sqlite3.IntegrityError, sqlite3.DataError):
                self._refused += 1

    def read_indexes(self, pages: PageFile, salvage: Salvage) -> None:
        """Keep what the indexes know of the rows that the table's own tree did not lead to."""
        rowid = self.shape.rowid
        if rowid is None:
            return
        columns = sorted({column for index in self.shape.unique.values() for column in index} & set(self._columns))
        present = {
            number: dict(zip(columns, values, strict=True))
            for number, *values in self._database.query(f"SELECT {rowid}, {', '.join(columns)} FROM {self.shape.name}")
        }
        differing = set()
        for part in salvage.indexed(pages, self.shape.name, self._index_losses):
            number = part[rowid]
            if not isinstance(number, int):
                continue
            if number not in present:
                self._indexed.setdefault(number, {}).update(part)
            elif any(present[number].get(column, value) != value for column, value in part.items()):
                differing.add(number)
        self.differing = len(differing)

    def complete(self) -> dict[int, dict[str, Value]]:
        """Add the rows that an index still has whole; return what the indexes know of the others, by rowid."""
        if self.shape.rowid is None:
            return {}
        present = self._present()
        found = {number: row for number, row in self._indexed.items() if number not in present}
        before = self.rescued
        self.take(row for row in found.values() if row.keys() >= set(self._columns))
        if not self._index_losses.pages and not self._index_losses.rows:
            self._missing = len(found) - (self.rescued - before)
        return {number: row for number, row in found.items() if not row.keys() >= set(self._columns)}

    def _present(self) -> set[int]:
        return {number for (number,) in self._database.query(f"SELECT {self.shape.rowid} FROM {self.shape.name}")}

    def lost_rows(self, salvage: Salvage) -> int:
        """Return how many rows are known to be lost."""
        if self._missing is not None:
            return self._missing
        losses = salvage.losses.get(self.shape.name)
        return self._refused + (losses.rows if losses else 0)

    def lost_pages(self, salvage: Salvage) -> int:
        """Return how many pages with an unknown number of rows are lost."""
        losses = salvage.losses.get(self.shape.name)
        return len(losses.pages) if losses and self._missing is None else 0
