"""Write the plan of a run, and the identities of its tests."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from conformance.errors import ConformanceError
from conformance.store.text import spelling, storable

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Mapping

    from conformance.model.identity import Identity, PlannedTest
    from conformance.store.connection import Database
    from conformance.store.interning import Interning

# Another process that writes to the database waits no longer than one such chunk takes (about 30 ms).
_CHUNK = 5_000

_Description = tuple[str, int, int, int, "int | None", "int | None", "int | None", "int | None"]


def plan_digest(test_ids: Iterable[str]) -> str:
    """Return what two plans of the same tests have in common, whatever their order: 32 hexadecimal digits."""
    found = hashlib.blake2b(digest_size=16)
    for test_id in sorted(map(storable, test_ids)):
        found.update(test_id.encode("utf-8") + b"\0")
    return found.hexdigest()


def write_plan(
    database: Database,
    interning: Interning,
    run_id: int,
    tests: list[PlannedTest],
    planned: Collection[str],
    entries: Mapping[str, int],
) -> dict[str, int]:
    """Write the tests after those that are ``planned`` already; return the number of each by its stored test id.

    ``entries`` are the numbers of the skiplist's entries, by their ids.

    Identities go in chunks, since it does no harm if they are there without a plan; the plan goes in one piece.
    """
    test_ids = [storable(test.identity.test_id) for test in tests]
    _refuse_duplicates(test_ids, planned, tests)
    refs: dict[str, int] = {}
    # In the order of the ids the index over them is filled page by page, not in a hundred thousand places.
    order = sorted(range(len(tests)), key=test_ids.__getitem__)
    for start in range(0, len(order), _CHUNK):
        chunk = {test_ids[index]: tests[index].identity for index in order[start : start + _CHUNK]}
        with _transaction(database, interning):
            refs.update(_identities(database, interning, chunk))
    position = len(planned)
    with _transaction(database, interning):
        rows = [
            (
                run_id,
                refs[test_id],
                position + offset,
                interning.spelling(spelling(test_id, storable(test.node_id))),
                entries[test.entry_id] if test.entry_id else None,
            )
            for offset, (test_id, test) in enumerate(zip(test_ids, tests, strict=True))
        ]
        rows.sort(key=lambda row: row[:2])
        database.connection.executemany(
            "INSERT INTO plan (run_id, test_ref, position, spelling_id, entry_ref) VALUES (?, ?, ?, ?, ?)", rows
        )
        database.connection.execute("UPDATE run SET planned = planned + ? WHERE run_id = ?", (len(rows), run_id))
    return refs


def _refuse_duplicates(test_ids: list[str], planned: Collection[str], tests: list[PlannedTest]) -> None:
    seen: dict[str, str] = {}
    for test_id, test in zip(test_ids, tests, strict=True):
        if test_id in seen or test_id in planned:
            both = f"'{seen[test_id]}' and '{test.node_id}'" if test_id in seen else f"'{test.node_id}' and an earlier"
            raise ConformanceError("duplicate-test-id", f"two tests of the plan, {both}, have the test id '{test_id}'")
        seen[test_id] = test.node_id


def _identities(database: Database, interning: Interning, chunk: dict[str, Identity]) -> dict[str, int]:
    """Return the number of each identity, and write those that are not there in just this form."""
    connection = database.connection
    known: dict[str, dict[_Description, int]] = {}
    revisions: dict[str, int] = {}
    for number, test_id, revision, *description in connection.execute(
        "SELECT id, test_id, revision, suite, file_id, class_id, template_id, op_id, module_id, dtype_id,"
        " architecture_id FROM test WHERE test_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(chunk)),),
    ):
        known.setdefault(test_id, {})[tuple(description)] = number
        revisions[test_id] = max(revision, revisions.get(test_id, -1))
    (following,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM test").fetchone()
    refs: dict[str, int] = {}
    new: list[tuple[object, ...]] = []
    for test_id, identity in chunk.items():
        description = (
            identity.suite.value,
            interning.name(storable(identity.file)),
            interning.name(storable(identity.class_name)),
            interning.name(storable(identity.template)),
            interning.optional_name(_storable(identity.op)),
            interning.optional_name(_storable(identity.module)),
            interning.optional_name(_storable(identity.dtype)),
            interning.optional_name(_storable(identity.architecture)),
        )
        found = known.get(test_id, {}).get(description)
        if found is None:
            found = following
            following += 1
            new.append((found, test_id, revisions.get(test_id, -1) + 1, *description))
        refs[test_id] = found
    connection.executemany(
        "INSERT INTO test (id, test_id, revision, suite, file_id, class_id, template_id, op_id, module_id, dtype_id,"
        " architecture_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        new,
    )
    return refs


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)


@contextmanager
def _transaction(database: Database, interning: Interning) -> Generator[None]:
    try:
        with database.transaction():
            yield
    except BaseException:
        interning.rollback()
        raise
    interning.commit()
