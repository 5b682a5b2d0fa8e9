"""Copy the plan, the results and the inventory of runs from the attached database ``source``.

Numbers differ between two databases, so each kind of number gets a temporary table: ``there`` in the source, ``here``
in the database that is written. All functions are to be called in a transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

# What makes a row of these tables unique.
_INTERNED: Mapping[str, tuple[str, ...]] = {
    "name": ("name",),
    "text": ("digest",),
    "signature": ("signature",),
    "spelling": ("head", "cut", "infix", "tail"),
    "overload": ("overload",),
    "fallback_set": ("overloads",),
    "skiplist_entry": ("digest",),
}
_MORE_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "skiplist_entry": (
        *("entry", "expect", "category", "reason", "link", "owner", "added", "expires", "message", "guess"),
    ),
}

_MAPS = (*_INTERNED, "test")

_OF_PART = "run_id IN (SELECT run_id FROM temp.part)"
_TESTS = "source.test WHERE id IN (SELECT there FROM temp.test_map)"
_INVENTORY = "inventory_id IN (SELECT there FROM temp.inventory_map)"

_NAME_COLUMNS = (
    *((column, _TESTS) for column in ("file_id", "class_id", "template_id", "op_id", "module_id", "dtype_id")),
    ("architecture_id", _TESTS),
    ("worker_id", f"source.result WHERE {_OF_PART}"),
    ("backend_id", f"source.compilation WHERE {_OF_PART}"),
    ("op_id", f"source.inventory_operator WHERE {_INVENTORY}"),
    ("group_id", f"source.inventory_operator WHERE {_INVENTORY}"),
    ("dtype_id", f"source.inventory_operator_dtype WHERE {_INVENTORY}"),
    ("module_id", f"source.inventory_module WHERE {_INVENTORY}"),
    ("dtype_id", f"source.inventory_module_dtype WHERE {_INVENTORY}"),
)
_RESULT_COLUMNS = {
    "fallback_set_id": "fallback_set",
    "test_fallback_set_id": "fallback_set",
    "inside_set_id": "fallback_set",
    "failing_sample_id": "text",
    "reason_id": "text",
    "message_id": "text",
    "details_id": "text",
    "tolerance_id": "text",
    "signature_id": "signature",
}

_DESCRIPTION = ("suite", "file_id", "class_id", "template_id", "op_id", "module_id", "dtype_id", "architecture_id")


class DanglingRows(Exception):  # noqa: N818 - never leaves the package: it becomes an error that names the source
    """Say that rows of the source refer to others that are not there."""


def copy_rows(
    connection: sqlite3.Connection, parts: Sequence[tuple[int, int]], into: int, *, inventory_of: int | None
) -> None:
    """Copy plan and results of the source's runs into the run ``into``, and the inventory of one of them.

    ``parts`` are the numbers of runs in the source, each with what is added to the positions in its plan. The run
    ``into`` keeps its inventory where ``inventory_of`` is None or has none. Raises DanglingRows.
    """
    _begin(connection, parts, inventory_of)
    connection.execute(f"INSERT INTO temp.test_map (there) SELECT DISTINCT test_ref FROM source.plan WHERE {_OF_PART}")
    for column, table in _NAME_COLUMNS:
        _refer(connection, "name", column, table)
    for table in ("plan", "run_skiplist_entry"):
        _refer(connection, "skiplist_entry", "entry_ref", f"source.{table} WHERE {_OF_PART}")
    _refer(connection, "spelling", "spelling_id", f"source.plan WHERE {_OF_PART}")
    for column, table in _RESULT_COLUMNS.items():
        _refer(connection, table, column, f"source.result WHERE {_OF_PART}")
    _refer(
        connection,
        "overload",
        "overload_id",
        "source.fallback_set_overload WHERE fallback_set_id IN (SELECT there FROM temp.fallback_set_map)",
    )
    registered = f"SELECT registration_set_id FROM source.run WHERE run_id = {int(inventory_of or 0)}"
    _refer(connection, "overload", "overload_id", f"source.registration WHERE registration_set_id IN ({registered})")
    known_sets = connection.execute("SELECT coalesce(max(id), 0) FROM main.fallback_set").fetchone()[0]
    for table, unique in _INTERNED.items():
        _intern(connection, table, unique)
    connection.execute(
        """INSERT INTO main.fallback_set_overload (fallback_set_id, overload_id)
        SELECT fallback_set_map.here, overload_map.here FROM source.fallback_set_overload AS member
        JOIN temp.fallback_set_map ON fallback_set_map.there = member.fallback_set_id
        JOIN temp.overload_map ON overload_map.there = member.overload_id
        WHERE fallback_set_map.here > ?""",
        (known_sets,),
    )
    _intern_tests(connection)
    _copy_inventory(connection, into)
    _copy_registrations(connection, inventory_of, into)
    _copy_plan(connection, into)
    _copy_results(connection, into)
    _copy_compilations(connection, into)
    recount(connection, into)


def recount(connection: sqlite3.Connection, run_id: int) -> None:
    """Set the counts that a run keeps beside its plan and results."""
    connection.execute("DELETE FROM main.run_outcome WHERE run_id = ?", (run_id,))
    connection.execute(
        """INSERT INTO main.run_outcome (run_id, outcome, tests)
        SELECT run_id, outcome, count(*) FROM main.result WHERE run_id = ? AND NOT EXISTS (
            SELECT 1 FROM main.result AS later
            WHERE later.run_id = result.run_id AND later.test_ref = result.test_ref AND later.attempt > result.attempt
        ) GROUP BY outcome""",
        (run_id,),
    )
    connection.execute(
        "UPDATE main.run SET planned = (SELECT count(*) FROM main.plan WHERE run_id = ?) WHERE run_id = ?",
        (run_id, run_id),
    )


def _begin(connection: sqlite3.Connection, parts: Sequence[tuple[int, int]], inventory_of: int | None) -> None:
    for table in _MAPS:
        connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {table}_map (there INTEGER PRIMARY KEY, here INTEGER)")
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS inventory_map (there INTEGER PRIMARY KEY, here INTEGER)")
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS part (run_id INTEGER PRIMARY KEY, first INTEGER)")
    described = ", ".join(_DESCRIPTION)
    connection.execute(
        f"CREATE TEMP TABLE IF NOT EXISTS described (there INTEGER PRIMARY KEY, test_id TEXT, {described})"
    )
    for table in (*(f"{name}_map" for name in _MAPS), "inventory_map", "part", "described"):
        connection.execute(f"DELETE FROM temp.{table}")
    connection.executemany("INSERT INTO temp.part (run_id, first) VALUES (?, ?)", parts)
    connection.execute(
        """INSERT INTO temp.inventory_map (there)
        SELECT inventory_id FROM source.run WHERE run_id = ? AND inventory_id IS NOT NULL""",
        (inventory_of,),
    )


def _refer(connection: sqlite3.Connection, kind: str, column: str, table: str) -> None:
    """Note that the numbers in a column are needed."""
    connection.execute(
        f"INSERT OR IGNORE INTO temp.{kind}_map (there) SELECT DISTINCT {column} FROM {table} AND {column} IS NOT NULL"
    )


def _intern(connection: sqlite3.Connection, table: str, unique: tuple[str, ...]) -> None:
    """Write the values that are needed and not there yet, and look up the number of each."""
    columns = ", ".join((*unique, *_MORE_COLUMNS.get(table, ())))
    same = " AND ".join(f"mine.{column} = theirs.{column}" for column in unique)
    find = f"""UPDATE temp.{table}_map SET here = (
        SELECT mine.id FROM source.{table} AS theirs JOIN main.{table} AS mine ON {same}
        WHERE theirs.id = {table}_map.there
    ) WHERE here IS NULL"""
    connection.execute(find)
    written = connection.execute(
        f"""INSERT INTO main.{table} ({columns})
        SELECT {columns} FROM source.{table} WHERE id IN (SELECT there FROM temp.{table}_map WHERE here IS NULL)
        ORDER BY id"""
    ).rowcount
    if written:
        connection.execute(find)
    _all_found(connection, table)


def _intern_tests(connection: sqlite3.Connection) -> None:
    """Write the identities that are not there in just this form, as the writer of a plan does."""
    connection.execute(
        """INSERT INTO temp.described
        SELECT test.id, test.test_id, test.suite, file.here, class.here, template.here, op.here, module.here,
            dtype.here, architecture.here
        FROM temp.test_map JOIN source.test AS test ON test.id = test_map.there
        JOIN temp.name_map AS file ON file.there = test.file_id
        JOIN temp.name_map AS class ON class.there = test.class_id
        JOIN temp.name_map AS template ON template.there = test.template_id
        LEFT JOIN temp.name_map AS op ON op.there = test.op_id
        LEFT JOIN temp.name_map AS module ON module.there = test.module_id
        LEFT JOIN temp.name_map AS dtype ON dtype.there = test.dtype_id
        LEFT JOIN temp.name_map AS architecture ON architecture.there = test.architecture_id"""
    )
    same = " AND ".join(f"mine.{column} IS described.{column}" for column in _DESCRIPTION)
    find = f"""UPDATE temp.test_map SET here = (
        SELECT mine.id FROM temp.described JOIN main.test AS mine ON mine.test_id = described.test_id AND {same}
        WHERE described.there = test_map.there
    ) WHERE here IS NULL"""
    connection.execute(find)
    described = ", ".join(_DESCRIPTION)
    written = connection.execute(
        f"""INSERT INTO main.test (test_id, revision, {described})
        SELECT test_id, (
            SELECT coalesce(max(mine.revision) + 1, 0) FROM main.test AS mine WHERE mine.test_id = described.test_id
        ), {described} FROM temp.described
        WHERE there IN (SELECT there FROM temp.test_map WHERE here IS NULL) ORDER BY test_id"""
    ).rowcount
    if written:
        connection.execute(find)
    _all_found(connection, "test")


def _copy_inventory(connection: sqlite3.Connection, into: int) -> None:
    row = connection.execute(
        """SELECT id, digest, torch_version, device FROM source.inventory
        WHERE id = (SELECT there FROM temp.inventory_map)"""
    ).fetchone()
    if row is None:
        if connection.execute("SELECT count(*) FROM temp.inventory_map").fetchone()[0]:
            raise DanglingRows("the inventory of a run is not there")
        return
    there, *description = row
    found = connection.execute("SELECT id FROM main.inventory WHERE digest = ?", (description[0],)).fetchone()
    if found is None:
        here = connection.execute(
            "INSERT INTO main.inventory (digest, torch_version, device) VALUES (?, ?, ?)", description
        ).lastrowid
        for table, numbers, others in (
            ("inventory_operator", ("op_id", "group_id"), ("aten_name", "supports_autograd", "supports_out")),
            ("inventory_operator_dtype", ("op_id", "dtype_id"), ("position",)),
            ("inventory_module", ("module_id",), ()),
            ("inventory_module_dtype", ("module_id", "dtype_id"), ("position",)),
        ):
            columns = ", ".join((*numbers, *others))
            values = ", ".join((*(f"{column}_map.here" for column in numbers), *others))
            joins = " ".join(
                f"JOIN temp.name_map AS {column}_map ON {column}_map.there = declared.{column}" for column in numbers
            )
            connection.execute(
                f"""INSERT INTO main.{table} (inventory_id, {columns})
                SELECT ?, {values} FROM source.{table} AS declared {joins} WHERE declared.inventory_id = ?""",
                (here, there),
            )
    else:
        (here,) = found
    connection.execute("UPDATE main.run SET inventory_id = ? WHERE run_id = ?", (here, into))


def _copy_registrations(connection: sqlite3.Connection, run_id: int | None, into: int) -> None:
    """Copy what the backend had registered in one run of the source."""
    row = connection.execute(
        """SELECT id, digest, torch_version, device FROM source.registration_set
        WHERE id = (SELECT registration_set_id FROM source.run WHERE run_id = ?)""",
        (run_id,),
    ).fetchone()
    if row is None:
        return
    there, *description = row
    found = connection.execute("SELECT id FROM main.registration_set WHERE digest = ?", (description[0],)).fetchone()
    here = found[0] if found else None
    if here is None:
        here = connection.execute(
            "INSERT INTO main.registration_set (digest, torch_version, device) VALUES (?, ?, ?)", description
        ).lastrowid
        connection.execute(
            """INSERT INTO main.registration (registration_set_id, overload_id, kind)
            SELECT ?, overload_map.here, kind FROM source.registration
            JOIN temp.overload_map ON overload_map.there = registration.overload_id WHERE registration_set_id = ?""",
            (here, there),
        )
    connection.execute("UPDATE main.run SET registration_set_id = ? WHERE run_id = ?", (here, into))


def _copy_plan(connection: sqlite3.Connection, into: int) -> None:
    copied = connection.execute(
        """INSERT INTO main.plan (run_id, test_ref, position, spelling_id, entry_ref)
        SELECT ?, test_map.here, plan.position + part.first, spelling_map.here, skiplist_entry_map.here
        FROM temp.part JOIN source.plan AS plan ON plan.run_id = part.run_id
        JOIN temp.test_map ON test_map.there = plan.test_ref
        JOIN temp.spelling_map ON spelling_map.there = plan.spelling_id
        LEFT JOIN temp.skiplist_entry_map ON skiplist_entry_map.there = plan.entry_ref
        ORDER BY test_map.here""",
        (into,),
    ).rowcount
    connection.execute(
        f"""INSERT OR IGNORE INTO main.run_skiplist_entry (run_id, entry_ref)
        SELECT ?, skiplist_entry_map.here FROM source.run_skiplist_entry AS force
        JOIN temp.skiplist_entry_map ON skiplist_entry_map.there = force.entry_ref WHERE {_OF_PART}""",
        (into,),
    )
    (planned,) = connection.execute(f"SELECT sum(planned) FROM source.run WHERE {_OF_PART}").fetchone()
    if copied != planned:
        raise DanglingRows(f"a plan has {copied:,} tests where its run counts {planned:,}")


def _copy_results(connection: sqlite3.Connection, into: int) -> None:
    numbers = ("worker_id", *_RESULT_COLUMNS)
    joins = "\n".join(
        f"LEFT JOIN temp.{'name' if column == 'worker_id' else _RESULT_COLUMNS[column]}_map AS {column}_map"
        f" ON {column}_map.there = result.{column}"
        for column in numbers
    )
    copied = connection.execute(
        f"""INSERT INTO main.result (
            run_id, test_ref, attempt, outcome, duration_us, samples, samples_passed, {", ".join(numbers)}
        )
        SELECT ?, test_map.here, attempt, outcome, duration_us, samples, samples_passed,
            {", ".join(f"{column}_map.here" for column in numbers)}
        FROM temp.part JOIN source.result AS result ON result.run_id = part.run_id
        JOIN temp.test_map ON test_map.there = result.test_ref
        {joins}
        ORDER BY test_map.here, attempt""",
        (into,),
    ).rowcount
    (results,) = connection.execute(f"SELECT count(*) FROM source.result WHERE {_OF_PART}").fetchone()
    if copied != results:
        raise DanglingRows(f"{results - copied:,} results belong to no test of the plan")


def _all_found(connection: sqlite3.Connection, table: str) -> None:
    (lost,) = connection.execute(f"SELECT count(*) FROM temp.{table}_map WHERE here IS NULL").fetchone()
    if lost:
        raise DanglingRows(f"{lost:,} rows of the table {table} are not there")


def _copy_compilations(connection: sqlite3.Connection, into: int) -> None:
    numbers = ("attempt", "compile_us", "graphs", "breaks", "recompilations", "peak_bytes")
    columns = ", ".join(numbers)
    copied = connection.execute(
        f"""INSERT INTO main.compilation (run_id, test_ref, backend_id, {columns})
        SELECT ?, test_map.here, name_map.here, {columns}
        FROM temp.part JOIN source.compilation AS compilation ON compilation.run_id = part.run_id
        JOIN temp.test_map ON test_map.there = compilation.test_ref
        JOIN temp.name_map ON name_map.there = compilation.backend_id
        ORDER BY test_map.here, attempt""",
        (into,),
    ).rowcount
    (compilations,) = connection.execute(f"SELECT count(*) FROM source.compilation WHERE {_OF_PART}").fetchone()
    if copied != compilations:
        raise DanglingRows(f"{compilations - copied:,} compilations belong to no test of the plan")
