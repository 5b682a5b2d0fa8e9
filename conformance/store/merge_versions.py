"""Tell which of two versions of one run is further: both databases may hold it, and it may have gone on in one."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from conformance.model.run import RunState

if TYPE_CHECKING:
    import sqlite3

_ORDER = (RunState.PLANNED, RunState.RUNNING, RunState.INTERRUPTED, RunState.COMPLETE)

# Restricts the rows of a merged run to the tests of one of its shards: those that the source's run has planned.
_OF_SHARD = """AND mine.test_id IN (
    SELECT test.test_id FROM source.plan AS plan JOIN source.test AS test ON test.id = plan.test_ref
    WHERE plan.run_id = :there
)"""


class Verdict(Enum):
    """How the source's version of a run relates to the one that is here."""

    EQUAL = "equal"
    FURTHER = "further"
    BEHIND = "behind"
    DIVERGED = "diverged"


def compare(
    connection: sqlite3.Connection,
    *,
    here: int,
    there: int,
    state_here: RunState,
    state_there: RunState,
    planned_here: int,
    of_shard: bool = False,
) -> Verdict:
    """Compare run ``here`` with run ``there`` of the source by what is known of their tests.

    A run only ever gains results, apart from those that say that nothing came back: what is further has all the
    others of the other version. With ``of_shard``, ``here`` is a merged run of which only the tests planned in
    ``there`` count; ``planned_here`` is how many of those it has.
    """
    numbers = {"here": here, "there": there}
    (planned_there,) = connection.execute("SELECT count(*) FROM source.plan WHERE run_id = :there", numbers).fetchone()
    lacking = planned_here > planned_there or _exists(
        connection,
        f"""SELECT 1 FROM main.result AS result JOIN main.test AS mine ON mine.id = result.test_ref
        WHERE result.run_id = :here AND result.outcome <> 'not_run' {_OF_SHARD if of_shard else ""}
        AND NOT EXISTS (
            SELECT 1 FROM source.test AS test CROSS JOIN source.result AS other
            ON other.run_id = :there AND other.test_ref = test.id AND other.attempt = result.attempt
            WHERE test.test_id = mine.test_id AND other.outcome = result.outcome
        )""",
        numbers,
    )
    gaining = planned_there > planned_here or _exists(
        connection,
        """SELECT 1 FROM source.result AS result JOIN source.test AS theirs ON theirs.id = result.test_ref
        WHERE result.run_id = :there AND result.outcome <> 'not_run'
        AND NOT EXISTS (
            SELECT 1 FROM main.test AS test CROSS JOIN main.result AS other
            ON other.run_id = :here AND other.test_ref = test.id AND other.attempt = result.attempt
            WHERE test.test_id = theirs.test_id AND other.outcome = result.outcome
        )""",
        numbers,
    )
    if lacking or gaining:
        return Verdict.DIVERGED if lacking and gaining else Verdict.FURTHER if gaining else Verdict.BEHIND
    ahead = _ORDER.index(state_there) - _ORDER.index(state_here)
    return Verdict.EQUAL if ahead == 0 else Verdict.FURTHER if ahead > 0 else Verdict.BEHIND


def _exists(connection: sqlite3.Connection, sql: str, numbers: dict[str, int]) -> bool:
    return connection.execute(f"{sql} LIMIT 1", numbers).fetchone() is not None
