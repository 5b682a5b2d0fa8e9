"""Light queries over whole runs, and over many of them: what a comparison, a verdict or a burn-down needs, no more.

``conformance.store.queries.results`` reads everything of a test; with 150,000 tests a run that takes seconds. Here a
run costs a fifth of a second, and the listed tests of thirty runs half of one. Joins are in the order in which they are
to be made (CROSS JOIN): a database that was just migrated has no statistics, and SQLite would guess.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from conformance.model.identity import Identity, Suite
from conformance.model.listed import ListedEntry
from conformance.model.outcome import Outcome
from conformance.store.schema import EAGER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from conformance.store.connection import Database

# The members of a fallback set, sorted; None where nobody looked.
Overloads = tuple[str, ...] | None

_OUTCOMES = {outcome.value: outcome for outcome in Outcome}

# With the attempts of a test in order, the last row of each is what counts.
_IN_ORDER = "ORDER BY plan.test_ref, result.attempt"


class Seen(NamedTuple):
    """What a verdict needs of one planned test: its last attempt, and the entry of the skiplist that counts for it."""

    test_id: str
    outcome: Outcome
    fallback_ops: Overloads
    message: str
    entry: str


class Subject(NamedTuple):
    """What a test is about."""

    file: str
    template: str
    op: str | None
    module: str | None
    dtype: str | None
    architecture: str | None = None


def ends(db: Database, run_id: int) -> dict[str, tuple[Outcome, Overloads]]:
    """Return how each planned test of a run ended, and what fell back inside its window, by test id."""
    sets = _fallback_sets(db)
    return {
        test_id: (_OUTCOMES[outcome] if outcome is not None else Outcome.NOT_RUN, sets.get(fallback))
        for test_id, outcome, fallback in db.query(
            f"""SELECT test.test_id, result.outcome, result.fallback_set_id
            FROM plan CROSS JOIN test ON test.id = plan.test_ref
            LEFT JOIN result ON result.run_id = plan.run_id AND result.test_ref = plan.test_ref
            WHERE plan.run_id = ? {_IN_ORDER}""",
            (run_id,),
        )
    }


def seen(db: Database, run_id: int) -> Iterator[Seen]:
    """Yield every planned test of a run, in no order that means anything."""
    sets = _fallback_sets(db)
    names = dict(db.query("SELECT id, entry FROM skiplist_entry"))
    last = 0
    row: Seen | None = None
    for ref, test_id, outcome, fallback, message, entry in db.query(
        f"""SELECT plan.test_ref, test.test_id, result.outcome, result.fallback_set_id, text.text, plan.entry_ref
        FROM plan CROSS JOIN test ON test.id = plan.test_ref
        LEFT JOIN result ON result.run_id = plan.run_id AND result.test_ref = plan.test_ref
        LEFT JOIN text ON text.id = result.message_id
        WHERE plan.run_id = ? {_IN_ORDER}""",
        (run_id,),
    ):
        if row is not None and ref != last:
            yield row
        last = ref
        row = Seen(
            test_id,
            _OUTCOMES[outcome] if outcome is not None else Outcome.NOT_RUN,
            sets.get(fallback),
            message or "",
            names[entry] if entry is not None else "",
        )
    if row is not None:
        yield row


def entries_in_force(db: Database, run_ids: Iterable[int]) -> dict[int, ListedEntry]:
    """Return the entries that are in force in any of the runs, by the database's own numbers."""
    return {
        ref: ListedEntry(*listed[:9], *map(bool, listed[9:]))
        for ref, *listed in db.query(
            """SELECT entry.id, entry, expect, category, reason, link, owner, added, expires, message, guess
            FROM skiplist_entry AS entry
            WHERE entry.id IN (
                SELECT entry_ref FROM run_skiplist_entry WHERE run_id IN (SELECT value FROM json_each(?))
            )""",
            (_numbers(run_ids),),
        )
    }


def listed_tests(db: Database, run_id: int) -> dict[int, int]:
    """Return the planned tests of a run that an entry speaks of, and the entry, both by the database's own numbers."""
    return dict(db.query("SELECT test_ref, entry_ref FROM plan WHERE run_id = ? AND entry_ref IS NOT NULL", (run_id,)))


def first_refs(db: Database) -> dict[int, int]:
    """Return the number under which a test was first known, for each that was described in another way later.

    The plan of a run refers to the description that held then; across runs only the test id says what is the same.
    """
    return dict(
        db.query(
            """SELECT later.id, first.id FROM test AS later
            JOIN test AS first ON first.test_id = later.test_id AND first.revision = 0
            WHERE later.revision > 0"""
        )
    )


def ends_of(db: Database, run_id: int, test_refs: Collection[int]) -> dict[int, tuple[Outcome, bool | None]]:
    """Return how those of the tests ended that the run planned, and whether their operator fell back.

    The latter is None where nobody looked.
    """
    (empty,) = next(db.query("SELECT coalesce((SELECT id FROM fallback_set WHERE overloads = ''), -1)"))
    return {
        ref: (
            _OUTCOMES[outcome] if outcome is not None else Outcome.NOT_RUN,
            None if fallback is None else fallback != empty,
        )
        for ref, outcome, fallback in db.query(
            f"""SELECT plan.test_ref, result.outcome, result.fallback_set_id
            FROM json_each(?) AS wanted CROSS JOIN plan ON plan.run_id = ? AND plan.test_ref = wanted.value
            LEFT JOIN result ON result.run_id = plan.run_id AND result.test_ref = plan.test_ref
            {_IN_ORDER}""",
            (_numbers(test_refs), run_id),
        )
    }


def subjects(db: Database, test_refs: Collection[int]) -> dict[int, Subject]:
    """Return what each of the tests is about."""
    names = _names(db)
    return {
        ref: Subject(
            *(names[file], names[template], names.get(op), names.get(module), names.get(dtype)),
            names.get(architecture),
        )
        for ref, file, template, op, module, dtype, architecture in db.query(
            """SELECT id, file_id, template_id, op_id, module_id, dtype_id, architecture_id FROM test
            WHERE id IN (SELECT value FROM json_each(?))""",
            (_numbers(test_refs),),
        )
    }


def subjects_by_id(db: Database, run_id: int, test_ids: Collection[str]) -> dict[str, Subject]:
    """Return what each of the planned tests of a run is about, by test id."""
    names = _names(db)
    return {
        test_id: Subject(
            *(names[file], names[template], names.get(op), names.get(module), names.get(dtype)),
            names.get(architecture),
        )
        for test_id, file, template, op, module, dtype, architecture in db.query(
            """SELECT test_id, file_id, template_id, op_id, module_id, dtype_id, architecture_id
            FROM test JOIN plan ON plan.run_id = ? AND plan.test_ref = test.id
            WHERE test_id IN (SELECT value FROM json_each(?))""",
            (run_id, json.dumps(list(test_ids))),
        )
    }


def known_identities(db: Database, test_ids: Collection[str]) -> dict[str, Identity]:
    """Return the newest description of each of the tests that any run of the database has planned, by test id."""
    names = _names(db)
    found = {}
    for test_id, suite, file, class_name, template, op, module, dtype, architecture in db.query(
        """SELECT test_id, suite, file_id, class_id, template_id, op_id, module_id, dtype_id, architecture_id
        FROM test WHERE test_id IN (SELECT value FROM json_each(?)) ORDER BY test_id, revision""",
        (json.dumps(list(test_ids)),),
    ):
        start = len(names[file]) + 2 + (len(names[class_name]) + 2 if names[class_name] else 0)
        found[test_id] = Identity(
            *(names[file], names[class_name], test_id[start:], Suite(suite), names[template]),
            *(names.get(op), names.get(module), names.get(dtype), names.get(architecture)),
        )
    return found


def plan_rows(db: Database, run_id: int) -> Iterator[tuple[str, str, str, str, str | None, str | None, str | None]]:
    """Yield test id, file, class, template, operator, module and dtype of each planned test, in the plan's order."""
    names = _names(db)
    for test_id, file, class_name, template, op, module, dtype in db.query(
        """SELECT test_id, file_id, class_id, template_id, op_id, module_id, dtype_id
        FROM plan CROSS JOIN test ON test.id = plan.test_ref WHERE plan.run_id = ? ORDER BY plan.position""",
        (run_id,),
    ):
        yield (
            *(test_id, names[file], names[class_name], names[template]),
            *(names.get(op), names.get(module), names.get(dtype)),
        )


def signatures_of(db: Database, run_id: int, test_refs: Collection[int]) -> dict[int, str]:
    """Return the normalised failure texts of those of the tests that left one in the run's last attempts."""
    last = dict(
        db.query(
            """SELECT result.test_ref, result.signature_id
            FROM json_each(?) AS wanted CROSS JOIN result ON result.run_id = ? AND result.test_ref = wanted.value
            ORDER BY result.test_ref, result.attempt""",
            (_numbers(test_refs), run_id),
        )
    )
    wanted = {number for number in last.values() if number is not None}
    texts = dict(
        db.query(
            "SELECT id, signature FROM signature WHERE id IN (SELECT value FROM json_each(?))", (_numbers(wanted),)
        )
    )
    return {ref: texts[number] for ref, number in last.items() if number is not None}


def operator_outcomes(db: Database, run_id: int) -> dict[str, dict[tuple[Outcome, bool], int]]:
    """Return for each operator that a run has tests of in eager mode how many ended how, and fell back or not."""
    counts: dict[str, dict[tuple[Outcome, bool], int]] = {}
    for op, outcome, fell_back, tests in db.query(
        f"""SELECT op.name, counted.outcome, counted.fallback_set_id IS NOT NULL AND fallback_set.overloads <> '',
            sum(counted.tests)
        FROM (
            SELECT test.op_id, result.outcome, result.fallback_set_id, count(*) AS tests
            FROM plan CROSS JOIN test ON test.id = plan.test_ref
            LEFT JOIN result ON result.run_id = plan.run_id AND result.test_ref = plan.test_ref
                AND NOT EXISTS (
                    SELECT 1 FROM result AS later WHERE later.run_id = result.run_id
                    AND later.test_ref = result.test_ref AND later.attempt > result.attempt
                )
            WHERE plan.run_id = ? AND test.op_id IS NOT NULL AND {EAGER}
            GROUP BY 1, 2, 3
        ) AS counted
        JOIN name AS op ON op.id = counted.op_id
        LEFT JOIN fallback_set ON fallback_set.id = counted.fallback_set_id
        GROUP BY 1, 2, 3""",
        (run_id,),
    ):
        key = (_OUTCOMES[outcome] if outcome is not None else Outcome.NOT_RUN, bool(fell_back))
        by_end = counts.setdefault(op, {})
        by_end[key] = by_end.get(key, 0) + tests
    return counts


def _fallback_sets(db: Database) -> Mapping[int | None, tuple[str, ...]]:
    return {
        number: tuple(overloads.split(",")) if overloads else ()
        for number, overloads in db.query("SELECT id, overloads FROM fallback_set")
    }


def _names(db: Database) -> dict[int | None, str]:
    return dict(db.query("SELECT id, name FROM name"))


def _numbers(values: Iterable[int]) -> str:
    return json.dumps(list(values))
