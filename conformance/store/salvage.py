"""Tell which rows of which table are still in a damaged database file."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.store.pages import BadPageError, Losses
from conformance.store.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.store.pages import PageFile, Row, Value

_TYPES: dict[str, type] = {"TEXT": str, "INTEGER": int, "BLOB": bytes}
_MASTER_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, its type in Python, and whether it may be NULL."""

    name: str
    type: type
    optional: bool

    def takes(self, value: Value) -> bool:
        """Tell whether the column may hold a value."""
        return self.optional if value is None else isinstance(value, self.type)


@dataclass(frozen=True, slots=True)
class Shape:
    """How the rows of a table lie in the file.

    ``columns`` are in the order of the records. ``rowid`` is the column that stands for the rowid, None where the table
    is WITHOUT ROWID. ``unique`` has the columns of each index that SQLite keeps for a UNIQUE, by the index's name;
    ``partial`` those of the indexes that leave rows out.
    """

    name: str
    columns: tuple[Column, ...]
    rowid: str | None
    unique: dict[str, tuple[str, ...]]
    partial: dict[str, tuple[str, ...]]

    def fits(self, row: Row) -> bool:
        """Tell whether a record may be one of this table's."""
        if (row.rowid is None) != (self.rowid is None) or len(row.values) != len(self.columns):
            return False
        return all(
            value is None if column.name == self.rowid else column.takes(value)
            for column, value in zip(self.columns, row.values, strict=True)
        )

    def named(self, row: Row) -> dict[str, Value]:
        """Return the values of a row that fits, by column."""
        values = {column.name: value for column, value in zip(self.columns, row.values, strict=True)}
        if self.rowid is not None:
            values[self.rowid] = row.rowid
        return values


@dataclass(slots=True)
class Salvage:
    """What is left of a damaged file's tables; ``losses`` of a table are filled while its rows are read.

    ``others`` are the trees (root page, whether a table's) of which nothing is needed: indexes, other tables.
    ``unassigned_pages`` hold rows that could be of several tables.
    """

    shapes: dict[str, Shape]
    roots: dict[str, int]
    others: list[tuple[int, bool]]
    schema_losses: Losses
    losses: dict[str, Losses] = field(default_factory=dict)
    unassigned_pages: int = 0

    def rows(self, pages: PageFile, table: str) -> Iterator[dict[str, Value]]:
        """Yield the rows of a table that its own tree leads to."""
        shape, losses = self.shapes[table], self.losses.setdefault(table, Losses())
        if table not in self.roots:
            return
        for row in pages.tree(self.roots[table], losses, is_table=shape.rowid is not None):
            if shape.fits(row):
                yield shape.named(row)
            else:
                losses.rows += 1

    def indexed(self, pages: PageFile, table: str, losses: Losses) -> Iterator[dict[str, Value]]:
        """Yield what the indexes of a table know of each row: their columns and the rowid.

        Where nothing is counted in ``losses``, each row that the table ever had is among them.
        """
        shape = self.shapes[table]
        if shape.rowid is None or not shape.unique.keys() <= self.roots.keys():
            losses.pages.add(0)
            return
        for index, columns in shape.unique.items():
            yield from self._index(pages, index, (*columns, shape.rowid), shape, losses)
        for index, columns in shape.partial.items():
            if index in self.roots:
                yield from self._index(pages, index, (*columns, shape.rowid), shape, Losses())

    def _index(
        self, pages: PageFile, index: str, names: tuple[str, ...], shape: Shape, losses: Losses
    ) -> Iterator[dict[str, Value]]:
        columns = {column.name: column for column in shape.columns}
        for row in pages.tree(self.roots[index], losses, is_table=False):
            values = dict(zip(names, row.values, strict=False))
            if len(row.values) == len(names) and all(columns[name].takes(value) for name, value in values.items()):
                yield values
            else:
                losses.rows += 1

    def strays(self, pages: PageFile) -> Iterator[tuple[str, list[dict[str, Value]]]]:
        """Yield (table, rows) of the pages that lost their place in a tree; call it after all trees were read.

        Only a table that has lost pages can miss one; a page whose rows would fit several tables is left out.
        """
        damaged = [shape for name, shape in self.shapes.items() if self.losses.get(name, Losses()).pages]
        for root, is_table in self.others:
            for _ in pages.tree(root, Losses(), is_table=is_table):
                pass  # their pages are no strays
        for is_table, rows, losses in pages.strays() if damaged else ():
            fitting = [
                shape
                for shape in damaged
                if (shape.rowid is not None) == is_table and all(shape.fits(row) for row in rows)
            ]
            if len(fitting) == 1:
                self.losses[fitting[0].name].rows += losses.rows
                yield fitting[0].name, [fitting[0].named(row) for row in rows]
            elif fitting:
                self.unassigned_pages += 1


def open_salvage(pages: PageFile) -> Salvage:
    """Read which tables a damaged file has and where they begin.

    What its schema does not say any more is taken from this harness's own: a file that was made by it has its tables
    in the same places. A place where rows of another shape lie is not believed.
    """
    declared, losses = _schema_of(pages)
    ours, our_roots = _our_schema(pages.page_size)
    shapes = {name: _shape(name, declared) or shape for name, shape in ours.items()}
    if losses.pages or losses.rows:
        for key, root in our_roots.items():
            if key not in declared and (key[0] == "index" or _may_begin(pages, root, shapes[key[1]])):
                declared[key] = root, ""
    read = {index for shape in shapes.values() for index in (*shape.unique, *shape.partial)}
    salvage = Salvage(
        shapes,
        roots={name: root for (_, name), (root, _) in declared.items()},
        others=[
            (root, kind == "table")
            for (kind, name), (root, _) in declared.items()
            if name not in shapes and name not in read
        ],
        schema_losses=losses,
    )
    if not losses.pages and not losses.rows:
        return salvage  # a table that the schema does not name is one that an older harness did not have
    for name in shapes:
        if name not in salvage.roots:
            salvage.losses[name] = Losses(pages={0})  # nobody knows where it began
    return salvage


def _schema_of(pages: PageFile) -> tuple[dict[tuple[str, str], tuple[int, str]], Losses]:
    """Return (root page, SQL) by (type, name), and what of the schema could not be read."""
    losses = Losses()
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for row in pages.tree(1, losses, is_table=True):
        match row.values:
            case (str() as kind, str() as name, str(), int() as root, sql) if root > 1 and kind in ("table", "index"):
                found[kind, name] = root, sql if isinstance(sql, str) else ""
            case _ if len(row.values) != _MASTER_COLUMNS:
                losses.rows += 1
            case _:
                pass  # a view, or a table of another program's
    return found, losses


def _our_schema(page_size: int) -> tuple[dict[str, Shape], dict[tuple[str, str], int]]:
    from conformance.store.migrations import migrate

    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute(f"PRAGMA page_size = {page_size}")
        migrate(connection)
        names = [statement.split()[2] for statement in TABLES if statement.startswith("CREATE TABLE")]
        shapes = {name: _shape_in(connection, name) for name in names}
        roots = {
            (kind, name): root
            for kind, name, table, root in connection.execute(
                "SELECT type, name, tbl_name, rootpage FROM sqlite_master WHERE type IN ('table', 'index')"
            )
            if table in shapes
        }
        return shapes, roots
    finally:
        connection.close()


def _shape(name: str, declared: dict[tuple[str, str], tuple[int, str]]) -> Shape | None:
    """Return the shape that the file itself declares for a table; None where SQLite does not take its statements."""
    _, sql = declared.get(("table", name), (0, ""))
    if not re.match(rf'CREATE TABLE "?{name}"?\s*\(', sql):
        return None
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute(sql)
        for (kind, _), (_, statement) in declared.items():
            if kind == "index" and re.match(rf'CREATE INDEX \w+ ON "?{name}"?\s*\(', statement):
                connection.execute(statement)
        return _shape_in(connection, name)
    except (sqlite3.Error, KeyError, ValueError):
        return None
    finally:
        connection.close()


def _shape_in(connection: sqlite3.Connection, name: str) -> Shape:
    without_rowid = connection.execute("SELECT wr FROM pragma_table_list(?)", (name,)).fetchone()[0]
    declared = connection.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (name,)).fetchall()
    keys = [column for column in declared if column[3]]
    rowid: str | None = None
    if without_rowid:
        # The key comes first in the records, in its own order.
        declared = sorted(keys, key=lambda column: int(column[3])) + [column for column in declared if not column[3]]
    else:
        ((rowid, *_),) = keys
    columns = tuple(
        Column(column, _TYPES[kind], optional=not (not_null or pk)) for column, kind, not_null, pk in declared
    )
    indexes: dict[str, dict[str, tuple[str, ...]]] = {"u": {}, "c": {}}
    for index, origin in connection.execute(
        "SELECT name, origin FROM pragma_index_list(?) WHERE origin IN ('u', 'c') ORDER BY name", (name,)
    ).fetchall():
        indexes[origin][index] = tuple(
            column for (column,) in connection.execute("SELECT name FROM pragma_index_info(?)", (index,))
        )
    return Shape(name, columns, rowid, unique=indexes["u"], partial=indexes["c"])


def _may_begin(pages: PageFile, root: int, shape: Shape) -> bool:
    """Tell whether a table's tree may begin at a page: it is of the right kind, and what lies on it fits."""
    try:
        is_table, rows = pages.peek(root)
    except BadPageError:
        return False
    return is_table == (shape.rowid is not None) and all(shape.fits(row) for row in rows)
