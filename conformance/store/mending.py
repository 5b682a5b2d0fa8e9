"""Make rescued rows a sound database again: every reference leads somewhere, every count is right."""

from __future__ import annotations

import itertools
import sqlite3
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.model.identity import Suite
from conformance.model.run import RunState
from conformance.store.schema import LAST_RESULT, TABLES
from conformance.store.text import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.store.pages import Value

LOST = "(lost)"
LOST_RESULT = "the result was lost when the database was damaged; the test may have ended in any way"

_NAMES = [statement.split()[2] for statement in TABLES if statement.startswith("CREATE TABLE")]
DERIVED = ("run_outcome",)  # counted anew from the results, not copied
_INVENTORY = {"inventory", *(name for name in _NAMES if name.startswith("inventory_"))}

# Runs that were closed with a row for each planned test. One that was merged from shards is interrupted when a shard
# was, which may have been killed.
CLOSED = """SELECT run_id FROM run WHERE state = 'complete' OR (
    state = 'interrupted' AND run_id NOT IN (SELECT run_id FROM run_shard)
)"""
_MOST_TESTS = 5_000_000  # a run that says it planned more has a damaged row: PyTorch has some 300,000 tests

# How often each outcome is the last of a test, by run: what run_outcome keeps.
RECOUNT_ALL = f"""SELECT plan.run_id, result.outcome, count(*) FROM plan JOIN {LAST_RESULT} GROUP BY 1, 2"""


@dataclass(slots=True)
class Mended:
    """What was put in place of what was lost; all but ``placeholders`` are numbers of rows."""

    placeholders: dict[str, int] = field(default_factory=dict)
    lost_tests: dict[int, int] = field(default_factory=dict)  # by run, as the next one
    lost_results: dict[int, int] = field(default_factory=dict)
    changed_texts: int = 0
    unobserved: int = 0
    cut_inventories: bool = False

    def notes(self) -> list[str]:
        """Return what a reader of the new file must know, a line each."""
        lines = [
            f"run {run}: {count} planned tests are not known any more; each stands as a test of its own, not run"
            for run, count in sorted(self.lost_tests.items())
        ]
        lines += [
            f"run {run}: the results of {count} planned tests were lost; they count as not run, the run as interrupted"
            for run, count in sorted(self.lost_results.items())
        ]
        if "run" in self.placeholders:
            lines.append(
                f"of {self.placeholders['run']} runs only plan and results are known; they are shown as emulated"
            )
        if "test" in self.placeholders:
            lines.append(f"of {self.placeholders['test']} tests the indexes know some, but not all: look for '{LOST}'")
        if self.changed_texts:
            lines.append(f"{self.changed_texts} messages or tracebacks were changed; they begin with '(damaged'")
        if self.unobserved:
            lines.append(f"the fallbacks of {self.unobserved} results were lost; they count as not observed")
        if self.cut_inventories:
            lines.append(
                "the inventories of operators and modules have gaps: what coverage is counted against is short"
            )
        return lines


def mend(
    connection: sqlite3.Connection, known: Mapping[str, Mapping[int, Mapping[str, Value]]], damage: set[str]
) -> Mended:
    """Put rows that say so in place of lost ones that others need, and count anew; call it in a transaction.

    ``known`` has what indexes still know of lost rows, by table and rowid; ``damage`` names the tables that lost some.
    """
    done = Mended()
    done.changed_texts = _mark_changed_texts(connection)
    done.unobserved = _mend_fallbacks(connection, whole_members="fallback_set_overload" not in damage)
    if damage & _INVENTORY:
        # Runs with the same content share an inventory, found by its digest: a later one must not take a cut one.
        connection.execute("UPDATE inventory SET digest = CAST('cut ' || hex(digest) AS BLOB)")
        done.cut_inventories = True
    # Numbers of an attempt of which nothing else is known say nothing; that it was lost is said of the result.
    connection.execute(
        """DELETE FROM compilation WHERE NOT EXISTS (SELECT 1 FROM result
            WHERE (result.run_id, result.test_ref, result.attempt)
                = (compilation.run_id, compilation.test_ref, compilation.attempt))"""
    )
    placeholders = _Placeholders(connection, known, done)
    placeholders.mend_references()
    for run_id, planned in connection.execute("SELECT run_id, planned FROM run").fetchall():
        placeholders.mend_plan(run_id, planned)
    for (run_id,) in connection.execute(CLOSED).fetchall():
        _mend_results(connection, run_id, done)
    connection.execute("DELETE FROM run_outcome")
    connection.execute(f"INSERT INTO run_outcome (run_id, outcome, tests) {RECOUNT_ALL}")
    # What a file of the first schema did not say: its runs undertook all that they had collected.
    connection.execute("UPDATE run SET collected = planned WHERE collected = 0")
    return done


class _Placeholders:
    """The rows that stand in for lost ones."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        known: Mapping[str, Mapping[int, Mapping[str, Value]]],
        done: Mended,
    ) -> None:
        self._connection = connection
        self._known = known
        self._done = done
        self._positions: dict[int, Iterator[int]] = {}

    def mend_references(self) -> None:
        """Give every reference its row; a placeholder may itself refer to one, hence the rounds."""
        while True:
            missing = [(parent, key) for table in _NAMES for parent, key in self._missing(table) if parent in _NAMES]
            if not missing:
                return
            for parent, key in missing:
                where = " AND ".join(f"{column} = {value}" for column, value in key.items())
                if not self._connection.execute(f"SELECT 1 FROM {parent} WHERE {where}").fetchone():
                    self._place(parent, key)  # not there yet: two references may miss the same row

    def _missing(self, table: str) -> list[tuple[str, dict[str, int]]]:
        """Return (table, key) of each row that a table refers to and that is not there."""
        keys: dict[int, tuple[str, list[tuple[str, str]]]] = {}
        for number, _, parent, child, to, *_ in self._connection.execute(f"PRAGMA foreign_key_list({table})"):
            keys.setdefault(number, (parent, []))[1].append((child, to))
        found = []
        for parent, columns in keys.values():
            children = ", ".join(f"child.{child}" for child, _ in columns)
            present = " AND ".join(f"child.{child} IS NOT NULL" for child, _ in columns)
            same = " AND ".join(f"parent.{to} = child.{child}" for child, to in columns)
            names = [to for _, to in columns]
            rows = self._connection.execute(
                f"SELECT DISTINCT {children} FROM {table} AS child WHERE {present}"
                f" AND NOT EXISTS (SELECT 1 FROM {parent} AS parent WHERE {same})"
            )
            found += [(parent, dict(zip(names, values, strict=True))) for values in rows]
        return found

    def _place(self, table: str, key: dict[str, int]) -> None:
        match table:
            case "name" | "signature" | "overload":
                row: dict[str, Value] = {table: f"(lost {table} {key['id']})"}
            case "text":
                text = f"(lost text {key['id']})"
                row = {"text": text, "digest": digest(text)}
            case "spelling":
                row = {"head": f"(lost spelling {key['id']}) ", "cut": 0, "infix": "", "tail": 0}
            case "inventory":
                row = {"digest": f"lost {key['id']}".encode(), "torch_version": LOST, "device": LOST}
            case "inventory_operator":
                row = {"aten_name": LOST, "group_id": self._name(), "supports_autograd": 0, "supports_out": 0}
            case "inventory_module":
                row = {}
            case "run":
                row = _lost_run()
            case "test":
                row = self._lost_test(key["id"])
            case "plan":
                row = {"position": self._free_position(key["run_id"]), "spelling_id": self._plain_spelling()}
            case _:
                raise AssertionError(f"nothing refers to the table {table}")
        of_index = self._known.get(table, {}).get(key.get("id", key.get("run_id", 0)), {})
        if table in ("text", "inventory"):
            of_index = {}  # a digest, which is of what was lost
        try:
            self._insert(table, {**row, **of_index, **key})
        except sqlite3.IntegrityError:  # an index that is damaged too may say what another row has
            self._insert(table, {**row, **key})

    def _lost_test(self, number: int) -> dict[str, Value]:
        """Return a test of which the indexes may know the id, operator or module, and dtype."""
        known = self._known.get("test", {}).get(number, {})
        test_id = str(known.get("test_id", f"{LOST}::test {number}"))
        subject, dtype = (
            self._connection.execute("SELECT name FROM name WHERE id = ?", (reference,)).fetchone()
            for reference in (known.get("op_id") or known.get("module_id"), known.get("dtype_id"))
        )
        # A name cannot be split by itself, but what follows the template is known here.
        end = f"_{subject[0].replace('.', '_')}_{dtype[0]}" if subject and dtype else LOST
        name = test_id.rpartition("::")[2]
        return self._test(test_id, template=name.removesuffix(end) if name.endswith(end) else LOST)

    def _test(self, test_id: str, *, template: str = LOST) -> dict[str, Value]:
        file, *rest = test_id.split("::")
        (revision,) = self._connection.execute(
            "SELECT coalesce(max(revision), -1) + 1 FROM test WHERE test_id = ?", (test_id,)
        ).fetchone()
        return {
            "test_id": test_id,
            "revision": revision,
            "suite": file if file in (Suite.OPINFO.value, Suite.MODULES.value) else Suite.LOCAL.value,
            "file_id": self._name(file),
            "class_id": self._name(rest[0] if len(rest) > 1 else ""),
            "template_id": self._name(template),
        }

    def mend_plan(self, run_id: int, planned: int) -> None:
        """Give each planned test of a run that nothing else knows of a row of its own, so that its number stays."""
        count, last = self._connection.execute(
            "SELECT count(*), coalesce(max(position), -1) FROM plan WHERE run_id = ?", (run_id,)
        ).fetchone()
        total = max(planned, count) if 0 <= planned <= _MOST_TESTS else max(count, min(last + 1, _MOST_TESTS))
        for number in range(total - count):
            test = self._insert("test", self._test(f"{LOST}::test {number + 1} of run {run_id}"))
            row = {"position": self._free_position(run_id), "spelling_id": self._plain_spelling()}
            self._insert("plan", {"run_id": run_id, "test_ref": test, **row})
        self._connection.execute("UPDATE run SET planned = ? WHERE run_id = ?", (total, run_id))
        if total > count:
            self._done.lost_tests[run_id] = total - count

    def _insert(self, table: str, row: Mapping[str, Value]) -> int:
        done = self._connection.execute(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
            tuple(row.values()),
        )
        self._done.placeholders[table] = self._done.placeholders.get(table, 0) + 1
        return done.lastrowid or 0

    def _name(self, name: str = LOST) -> int:
        self._connection.execute("INSERT OR IGNORE INTO name (name) VALUES (?)", (name,))
        number: int = self._connection.execute("SELECT id FROM name WHERE name = ?", (name,)).fetchone()[0]
        return number

    def _plain_spelling(self) -> int:
        """Return the spelling by which a node id is the test id."""
        self._connection.execute("INSERT OR IGNORE INTO spelling (head, cut, infix, tail) VALUES ('', 0, '', 0)")
        number: int = self._connection.execute(
            "SELECT id FROM spelling WHERE (head, cut, infix, tail) = ('', 0, '', 0)"
        ).fetchone()[0]
        return number

    def _free_position(self, run_id: int) -> int:
        """Return the next position in the plan of a run that no row of it has."""
        if run_id not in self._positions:
            taken = {
                position
                for (position,) in self._connection.execute("SELECT position FROM plan WHERE run_id = ?", (run_id,))
            }
            self._positions[run_id] = (position for position in itertools.count() if position not in taken)
        return next(self._positions[run_id])


def _lost_run() -> dict[str, Value]:
    """Return a run of which nothing is known; what may have been emulated is not shown as hardware's."""
    texts = (
        *("device", "device_name", "torch_version", "backend", "backend_version", "harness_version", "python_version"),
        *("host", "operating_system", "command", "selection", "probe"),
    )
    return {
        "key": uuid.uuid4().hex,
        "created_at": "1970-01-01T00:00:00Z",
        "state": RunState.INTERRUPTED.value,
        "suites": "[]",
        "environment": "{}",
        "emulated": 1,
        "seed": 0,
        "planned": -1,
        **dict.fromkeys(texts, LOST),
    }


def _mend_results(connection: sqlite3.Connection, run_id: int, done: Mended) -> None:
    """Give each planned test of a finished run that has no result one that says so."""
    without = """FROM plan WHERE plan.run_id = ? AND NOT EXISTS (
            SELECT 1 FROM result WHERE result.run_id = plan.run_id AND result.test_ref = plan.test_ref
        )"""
    (count,) = connection.execute(f"SELECT count(*) {without}", (run_id,)).fetchone()
    if count:
        connection.execute(
            "INSERT OR IGNORE INTO text (digest, text) VALUES (?, ?)", (digest(LOST_RESULT), LOST_RESULT)
        )
        connection.execute(
            f"""INSERT INTO result (run_id, test_ref, attempt, outcome, duration_us, message_id)
            SELECT plan.run_id, plan.test_ref, 1, 'not_run', 0, (SELECT id FROM text WHERE digest = ?) {without}""",
            (digest(LOST_RESULT), run_id),
        )
        # Not complete any more: so it can be resumed, and a merge prefers a copy of the run that is.
        connection.execute("UPDATE run SET state = 'interrupted' WHERE run_id = ?", (run_id,))
        done.lost_results[run_id] = count


def _mark_changed_texts(connection: sqlite3.Connection) -> int:
    """Mark each text that does not fit its digest any more, since the change is inside it; return how many."""
    changed = [
        (digest(marked), marked, number)
        for number, stored, text in connection.execute("SELECT id, digest, text FROM text")
        if stored != digest(text) and (marked := f"(damaged {number}) {text}")
    ]
    connection.executemany("UPDATE text SET digest = ?, text = ? WHERE id = ?", changed)
    return len(changed)


def _mend_fallbacks(connection: sqlite3.Connection, *, whole_members: bool) -> int:
    """Rebuild the sets of overloads and their members from each other; return how many results lost theirs.

    A set that cannot be rebuilt is not replaced by one with a made-up name, which would count as a fallback.
    """
    if whole_members:  # half of its members would be another set
        connection.execute(
            """INSERT OR IGNORE INTO fallback_set (id, overloads)
            SELECT fallback_set_id, group_concat(overload, ',') FROM (
                SELECT fallback_set_id, overload.overload FROM fallback_set_overload AS member
                LEFT JOIN overload ON overload.id = member.overload_id ORDER BY fallback_set_id, overload.overload
            )
            GROUP BY fallback_set_id
            HAVING count(overload) = count(*) AND fallback_set_id NOT IN (SELECT id FROM fallback_set)"""
        )
    connection.execute("DELETE FROM fallback_set_overload")
    for number, overloads in connection.execute("SELECT id, overloads FROM fallback_set").fetchall():
        for overload in overloads.split(",") if overloads else ():
            connection.execute("INSERT OR IGNORE INTO overload (overload) VALUES (?)", (overload,))
            connection.execute(
                "INSERT OR IGNORE INTO fallback_set_overload (fallback_set_id, overload_id)"
                " SELECT ?, id FROM overload WHERE overload = ?",
                (number, overload),
            )
    forgotten = 0
    for column in ("fallback_set_id", "test_fallback_set_id", "inside_set_id"):
        forgotten = max(
            forgotten,
            connection.execute(
                f"UPDATE result SET {column} = NULL"
                f" WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT id FROM fallback_set)"
            ).rowcount,
        )
    return forgotten
