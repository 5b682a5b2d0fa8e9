"""Give every repeated text its number, and remember those of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.store.text import digest

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Hashable


class _Table:
    """The numbers of the rows of one table, by the values that make a row unique."""

    def __init__(self, connection: sqlite3.Connection, table: str, unique: tuple[str, ...], more: str = "") -> None:
        columns = unique + ((more,) if more else ())
        self._connection = connection
        self._select = f"SELECT id FROM {table} WHERE {' AND '.join(f'{column} = ?' for column in unique)}"
        self._insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        self._numbers: dict[Hashable, int] = {}
        self._uncommitted: list[Hashable] = []

    def get(self, key: Hashable) -> int | None:
        return self._numbers.get(key)

    def number(self, key: Hashable, unique: tuple[object, ...], *more: object) -> tuple[int, bool]:
        """Return the row's number and whether the row was written just now."""
        row = self._connection.execute(self._select, unique).fetchone()
        number: int | None = row[0] if row else None
        if number is None:
            number = self._connection.execute(self._insert, (*unique, *more)).lastrowid
            assert number is not None
        self._numbers[key] = number
        self._uncommitted.append(key)
        return number, row is None

    def commit(self) -> None:
        self._uncommitted.clear()

    def rollback(self) -> None:
        for key in self._uncommitted:
            del self._numbers[key]
        self._uncommitted.clear()


class Interning:
    """The numbers of names, texts, signatures, spellings and fallback sets in one database.

    Call its methods inside a transaction, and ``commit`` or ``rollback`` after it: a number counts only when its row
    is there to stay. All texts must be storable (conformance.store.text).
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._names = _Table(connection, "name", ("name",))
        self._texts = _Table(connection, "text", ("digest",), "text")
        self._signatures = _Table(connection, "signature", ("signature",))
        self._spellings = _Table(connection, "spelling", ("head", "cut", "infix", "tail"))
        self._overloads = _Table(connection, "overload", ("overload",))
        self._fallback_sets = _Table(connection, "fallback_set", ("overloads",))
        self._tables = (
            self._names,
            self._texts,
            self._signatures,
            self._spellings,
            self._overloads,
            self._fallback_sets,
        )

    def name(self, name: str) -> int:
        """Return the number of a name."""
        return self._names.get(name) or self._names.number(name, (name,))[0]

    def optional_name(self, name: str | None) -> int | None:
        """Return the number of a name, or None for none."""
        return None if name is None else self.name(name)

    def text(self, text: str) -> int | None:
        """Return the number of a text, or None for an empty one."""
        if not text:
            return None
        key = digest(text)
        return self._texts.get(key) or self._texts.number(key, (key,), text)[0]

    def signature(self, signature: str) -> int | None:
        """Return the number of a signature, or None for an empty one."""
        if not signature:
            return None
        return self._signatures.get(signature) or self._signatures.number(signature, (signature,))[0]

    def spelling(self, spelling: tuple[str, int, str, int]) -> int:
        """Return the number of a spelling of node ids."""
        return self._spellings.get(spelling) or self._spellings.number(spelling, spelling)[0]

    def fallback_set(self, overloads: tuple[str, ...]) -> int:
        """Return the number of a set of overloads, sorted; the empty one has a number too."""
        number = self._fallback_sets.get(overloads)
        if number is not None:
            return number
        number, is_new = self._fallback_sets.number(overloads, (",".join(overloads),))
        if is_new:
            self._connection.executemany(
                "INSERT INTO fallback_set_overload (fallback_set_id, overload_id) VALUES (?, ?)",
                [(number, self.overload(overload)) for overload in overloads],
            )
        return number

    def commit(self) -> None:
        """Keep the numbers given out in the transaction that was just committed."""
        for table in self._tables:
            table.commit()

    def rollback(self) -> None:
        """Forget the numbers given out in the transaction that was just rolled back."""
        for table in self._tables:
            table.rollback()

    def overload(self, overload: str) -> int:
        """Return the number of an ATen overload."""
        return self._overloads.get(overload) or self._overloads.number(overload, (overload,))[0]
