"""Write what a run knew of a skiplist, and of the kernels that a backend registered."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import TYPE_CHECKING

from conformance.errors import ConformanceError
from conformance.store.text import storable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from conformance.model.listed import ListedEntry
    from conformance.model.registration import Registration
    from conformance.store.interning import Interning


def write_entries(connection: sqlite3.Connection, run_id: int, entries: Iterable[ListedEntry]) -> dict[str, int]:
    """Write the entries in force in a run; return the number of each by its id. Call it in a transaction."""
    numbers: dict[str, int] = {}
    for entry in entries:
        if entry.entry_id in numbers:
            raise ConformanceError("duplicate-entry", f"two entries of the skiplist have the id '{entry.entry_id}'")
        *texts, guess = dataclasses.astuple(entry)
        values = (*map(storable, texts), int(guess))
        digest = _digest(values)
        row = connection.execute("SELECT id FROM skiplist_entry WHERE digest = ?", (digest,)).fetchone()
        number: int | None = row[0] if row else None
        if number is None:
            number = connection.execute(
                "INSERT INTO skiplist_entry (digest, entry, expect, category, reason, link, owner, added, expires,"
                " message, guess) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (digest, *values),
            ).lastrowid
            assert number is not None
        numbers[entry.entry_id] = number
    connection.executemany(
        "INSERT INTO run_skiplist_entry (run_id, entry_ref) VALUES (?, ?)",
        [(run_id, number) for number in sorted(numbers.values())],
    )
    return numbers


def write_registrations(
    connection: sqlite3.Connection, interning: Interning, run_id: int, registrations: Iterable[Registration]
) -> None:
    """Write the registrations unless equal ones are there, and let the run refer to them; call it in a transaction."""
    content = sorted((storable(each.overload), each.kind.value) for each in registrations)
    torch_version, device = connection.execute(
        "SELECT torch_version, device FROM run WHERE run_id = ?", (run_id,)
    ).fetchone()
    digest = _digest([torch_version, device, content])
    row = connection.execute("SELECT id FROM registration_set WHERE digest = ?", (digest,)).fetchone()
    number = row[0] if row else None
    if number is None:
        number = connection.execute(
            "INSERT INTO registration_set (digest, torch_version, device) VALUES (?, ?, ?)",
            (digest, torch_version, device),
        ).lastrowid
        connection.executemany(
            "INSERT INTO registration (registration_set_id, overload_id, kind) VALUES (?, ?, ?)",
            [(number, interning.overload(overload), kind) for overload, kind in content],
        )
    connection.execute("UPDATE run SET registration_set_id = ? WHERE run_id = ?", (number, run_id))


def _digest(content: object) -> bytes:
    return hashlib.blake2b(json.dumps(content).encode("utf-8"), digest_size=12).digest()
