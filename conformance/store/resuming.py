"""Take up a run that was killed or interrupted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.model.outcome import Outcome

if TYPE_CHECKING:
    from conformance.store.connection import Database


@dataclass(frozen=True, slots=True)
class LastAttempt:
    """What is known of one planned test: its attempts with their outcomes, by number; none before the first."""

    node_id: str
    outcomes: tuple[tuple[int, Outcome], ...] = ()

    @property
    def attempt(self) -> int:
        """Return the number of the last attempt, 0 before the first."""
        return self.outcomes[-1][0] if self.outcomes else 0

    @property
    def outcome(self) -> Outcome | None:
        """Return how the last attempt ended."""
        return self.outcomes[-1][1] if self.outcomes else None


def this_process() -> str:
    """Return what tells this process from every other on this machine: its id and when it started."""
    return f"{os.getpid()}@{_start_of(os.getpid())}"


def is_alive(owner: str) -> bool:
    """Tell whether the process that ``this_process`` described in ``owner`` still runs on this machine."""
    pid, _, started = owner.partition("@")
    return pid.isdigit() and bool(started) and _start_of(int(pid)) == started


def _start_of(pid: int) -> str:
    """Return the start of a process in clock ticks since boot, '' where there is none (field 22 of proc(5)'s stat)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def take_up(database: Database, run_id: int) -> tuple[dict[str, LastAttempt], dict[str, int]]:
    """Remove the rows of an unfinished run that stand for tests that were not run, and return the rest.

    Returns what is known of each planned test, and each one's number, by test id. To be called in a transaction.
    """
    from conformance.store.schema import NODE_ID

    connection = database.connection
    (owner,) = connection.execute("SELECT owner FROM run WHERE run_id = ?", (run_id,)).fetchone()
    if owner != this_process() and is_alive(owner):
        raise UsageError(
            "run-in-use",
            f"run {run_id} in {database.path} is still being carried out by process {owner.partition('@')[0]}; "
            "wait for it, or end it first",
        )
    connection.execute("DELETE FROM result WHERE run_id = ? AND outcome = 'not_run'", (run_id,))
    attempts: dict[int, list[tuple[int, Outcome]]] = {}
    for ref, attempt, outcome in connection.execute(
        "SELECT test_ref, attempt, outcome FROM result WHERE run_id = ? ORDER BY test_ref, attempt", (run_id,)
    ):
        attempts.setdefault(ref, []).append((attempt, Outcome(outcome)))
    known: dict[str, LastAttempt] = {}
    refs: dict[str, int] = {}
    for test_id, ref, node_id in connection.execute(
        f"""SELECT test.test_id, test.id, {NODE_ID} FROM plan JOIN test ON test.id = plan.test_ref
        JOIN spelling ON spelling.id = plan.spelling_id WHERE plan.run_id = ? ORDER BY plan.position""",
        (run_id,),
    ):
        known[test_id] = LastAttempt(node_id, tuple(attempts.get(ref, ())))
        refs[test_id] = ref
    connection.execute(
        "UPDATE run SET state = 'running', finished_at = NULL, resumed = resumed + 1 WHERE run_id = ?", (run_id,)
    )
    return known, refs
