"""Read what several runs recorded: outcomes test by test, inventories, skiplists, further attempts."""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import TYPE_CHECKING

from conformance.publish.changes import steps
from conformance.publish.choice import selectable, series
from conformance.publish.findings import OPERATOR, Attempt, EntryFinding, History, ListedRun
from conformance.publish.listed import ListedCounts, listed_counts, whole_list
from conformance.publish.matrix import OutcomeMatrix, RunOutcomes, Sight, TestKey, byte_of, subject_statuses
from conformance.store import listed_entries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.store import Database, RunRow

# Tests that a run planned, each under the newest of its descriptions.
_TESTS = """SELECT test.id, test.test_id, test.suite, file.name, template.name, op.name, module.name, dtype.name
    FROM test
    JOIN name AS file ON file.id = test.file_id
    JOIN name AS template ON template.id = test.template_id
    LEFT JOIN name AS op ON op.id = test.op_id
    LEFT JOIN name AS module ON module.id = test.module_id
    LEFT JOIN name AS dtype ON dtype.id = test.dtype_id
    WHERE test.id IN (SELECT test_ref FROM plan WHERE run_id IN ({runs}))
    ORDER BY test.test_id, test.revision"""

# In the order of the primary key: of several attempts at a test the last comes last.
_RESULTS = """SELECT test_ref, outcome, fallback_set_id, duration_us FROM result
    WHERE run_id = ? ORDER BY test_ref, attempt"""


def read_history(database: Database, run: RunRow, runs: Sequence[RunRow]) -> tuple[History, array[int]]:
    """Return the run among the others, and the durations of the run's own tests, in microseconds."""
    chosen, chain = selectable(run, runs), series(run, runs)
    matrix, durations = _read_matrix(database, [one.id for one in chosen], run.id)
    expectations = dict(database.query("SELECT id, expect FROM skiplist_entry"))
    history = History(
        matrix=matrix,
        series=chain,
        selectable=chosen,
        steps=steps(matrix, [one.id for one in chain]),
        operators=_inventories(database, [one.id for one in chain]),
        statuses={
            one.id: {name: str(status) for name, status in subject_statuses(matrix, one.id, OPERATOR).items()}
            for one in chain
        },
        listed=_listed(database, matrix, chain, expectations),
    )
    return history, durations


def read_entries(database: Database, run: RunRow, matrix: OutcomeMatrix) -> tuple[EntryFinding, ...]:
    """Return the entries in force in a run, those that speak of no test too, by their id."""
    known = {
        ref: (entry, expect) for ref, entry, expect in database.query("SELECT id, entry, expect FROM skiplist_entry")
    }
    counts = listed_counts(matrix.rows[run.id], {ref: expect for ref, (_, expect) in known.items()})
    by_name = {known[ref][0]: counted for ref, counted in counts.items()}
    return tuple(
        EntryFinding(row.entry, by_name.get(row.entry.entry_id, ListedCounts()))
        for row in listed_entries(database, run.id)
    )


def read_attempts(database: Database, run_id: int) -> dict[str, tuple[Attempt, ...]]:
    """Return the attempts that were not the last, by test id, for the tests that had several."""
    found: defaultdict[str, list[Attempt]] = defaultdict(list)
    for test_id, number, outcome, message in database.query(
        """SELECT test.test_id, earlier.attempt, earlier.outcome, coalesce(message.text, '')
        FROM result AS earlier JOIN test ON test.id = earlier.test_ref
        LEFT JOIN text AS message ON message.id = earlier.message_id
        WHERE earlier.run_id = ? AND EXISTS (
            SELECT 1 FROM result AS later WHERE later.run_id = earlier.run_id
            AND later.test_ref = earlier.test_ref AND later.attempt > earlier.attempt
        ) ORDER BY test.test_id, earlier.attempt""",
        (run_id,),
    ):
        found[test_id].append(Attempt(number, outcome, message))
    return {test_id: tuple(attempts) for test_id, attempts in found.items()}


def _read_matrix(database: Database, run_ids: Sequence[int], shown: int) -> tuple[OutcomeMatrix, array[int]]:
    places: dict[int, int] = {}
    tests: list[TestKey] = []
    numbers = ", ".join(str(int(run_id)) for run_id in run_ids)
    for ref, test_id, *rest in database.query(_TESTS.format(runs=numbers)):
        if tests and tests[-1].test_id == test_id:
            tests[-1] = TestKey(test_id, *rest)
        else:
            tests.append(TestKey(test_id, *rest))
        places[ref] = len(tests) - 1
    sets = {number: frozenset(text.split(",") if text else ()) for number, text in _sets(database)}
    durations = array("q", bytes(8 * len(tests)))
    rows = {}
    for run_id in run_ids:
        rows[run_id] = _read_run(database, run_id, places, len(tests), sets, durations if run_id == shown else None)
    return OutcomeMatrix.of(tests, rows, sets), durations


def _sets(database: Database) -> list[tuple[int, str]]:
    return [(number, text) for number, text in database.query("SELECT id, overloads FROM fallback_set")]


def _read_run(
    database: Database,
    run_id: int,
    places: Mapping[int, int],
    count: int,
    sets: Mapping[int, frozenset[str]],
    durations: array[int] | None,
) -> RunOutcomes:
    codes = bytearray(count)
    fallbacks: dict[int, int] = {}
    entries: dict[int, int] = {}
    lost = byte_of("not_run", Sight.UNSEEN)
    for ref, entry in database.query("SELECT test_ref, entry_ref FROM plan WHERE run_id = ?", (run_id,)):
        codes[places[ref]] = lost
        if entry is not None:
            entries[places[ref]] = entry
    for ref, outcome, number, duration_us in database.query(_RESULTS, (run_id,)):
        place = places[ref]
        fallbacks.pop(place, None)
        if number is None:
            sight = Sight.UNSEEN
        elif sets[number]:
            sight = Sight.ON_CPU
            fallbacks[place] = number
        else:
            sight = Sight.NOT_ON_CPU
        codes[place] = byte_of(outcome, sight)
        if durations is not None:
            durations[place] = duration_us
    return RunOutcomes(bytes(codes), fallbacks, entries)


def _inventories(database: Database, run_ids: Sequence[int]) -> dict[int, frozenset[str]]:
    """Return the names of the operators that each run's inventory declares."""
    shared: dict[int | None, frozenset[str]] = {None: frozenset()}
    found = {}
    for run_id in run_ids:
        for (inventory,) in database.query("SELECT inventory_id FROM run WHERE run_id = ?", (run_id,)):
            if inventory not in shared:
                shared[inventory] = frozenset(
                    name
                    for (name,) in database.query(
                        """SELECT name.name FROM inventory_operator JOIN name ON name.id = op_id
                        WHERE inventory_id = ?""",
                        (inventory,),
                    )
                )
            found[run_id] = shared[inventory]
    return found


def _listed(
    database: Database, matrix: OutcomeMatrix, chain: Sequence[RunRow], expectations: Mapping[int, str]
) -> tuple[ListedRun, ...]:
    """Return what the lists of the runs spoke of, for those that had one in force."""
    in_force = dict(database.query("SELECT run_id, count(*) FROM run_skiplist_entry GROUP BY run_id"))
    return tuple(
        ListedRun(run.id, in_force[run.id], whole_list(listed_counts(matrix.rows[run.id], expectations).values()))
        for run in chain
        if run.id in in_force
    )
