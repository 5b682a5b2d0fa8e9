"""Decide what becomes of the shards of one launch: a run of their own, or parts of one that was merged before.

The shards' own runs are rows of the attached database ``source``. Reads only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.store.merge_copy import diverged
from conformance.store.merge_shards import Shard, agree, missing_numbers, shard_of, state_of
from conformance.store.merge_versions import Verdict, compare
from conformance.store.plan import plan_digest
from conformance.store.queries import runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.store.connection import Database
    from conformance.store.merge_shards import Group
    from conformance.store.rows import RunRow

SHARD_COLUMNS = ("shard", "key", "state", "host", "command", "started_at", "finished_at", "planned")

# The tests that a shard in the source has planned, by their numbers here.
TESTS_HERE = """SELECT mine.id FROM source.plan AS plan JOIN source.test AS test ON test.id = plan.test_ref
    JOIN main.test AS mine ON mine.test_id = test.test_id WHERE plan.run_id = :there"""


@dataclass(frozen=True, slots=True)
class Joining:
    """What is to be done: the merged run that is here, its shards afterwards, and those of them that are written."""

    here: RunRow | None
    before: Mapping[int, Shard]
    shards: Mapping[int, Shard]
    written: tuple[RunRow, ...]
    missing: tuple[int, ...]

    def replaces(self, run: RunRow) -> bool:
        """Tell whether the merged run has had another version of this shard."""
        return _has(self.before, run)

    @property
    def state(self) -> RunState:
        """Return the state of the merged run afterwards."""
        return state_of(self.shards.values(), missing=bool(self.missing))


def shards_of(database: Database, run_id: int) -> dict[int, Shard]:
    """Return what a merged run keeps of its shards, by number; those that are missing have no key."""
    rows = database.query(f"SELECT {', '.join(SHARD_COLUMNS)} FROM run_shard WHERE run_id = ?", (run_id,))
    return {number: Shard(number, key, RunState(state), *others) for number, key, state, *others in sorted(rows)}


def decide(database: Database, group: Group, staged: Sequence[RunRow]) -> Joining:
    """Decide what becomes of the shards of a group; ``staged`` are their runs in the source, one a shard.

    Reads only. Raises UsageError (``duplicate-shard``, ``run-diverged``, ``shards-disagree``).
    """
    here = _merged_run(database, group, staged)
    before = shards_of(database, here.id) if here else {}
    shards = dict(before)
    written = []
    for run in staged:
        shard = shard_of(run)
        old = before.get(shard.shard)
        if here is None or old is None or not old.key or _is_further(database, here, old, run, group):
            shards[shard.shard] = shard
            written.append(run)
    missing = missing_numbers(shards, group.count)
    if written:
        found = _tests(database, group, here, before, written)
        planned = sum(shard.planned for shard in shards.values())
        first = staged[0]
        if len(found) == first.collected and plan_digest(found) == first.plan_digest:
            missing = ()  # a shard without tests has no run
        elif len(found) != planned or len(found) >= first.collected or not missing:
            raise _disagree(
                group, f"their plans add up to {len(found):,} tests, but {first.collected:,} were collected"
            )
    elif here is not None and here.planned == here.collected:
        missing = ()
    return Joining(here, before, shards, tuple(written), missing)


def _merged_run(database: Database, group: Group, staged: Sequence[RunRow]) -> RunRow | None:
    """Find the run that these shards belong to: one that has some of them, or lacks just those of this launch."""
    every = {run.id: run for run in runs(database)}
    keys = json.dumps([run.key for run in staged])
    found = [
        run_id
        for (run_id,) in database.query(
            "SELECT DISTINCT run_id FROM run_shard WHERE key IN (SELECT value FROM json_each(?)) ORDER BY run_id",
            (keys,),
        )
    ]
    if len(found) > 1:
        raise UsageError(
            "duplicate-shard",
            f"shards of one launch ({group.described}) are in the runs {' and '.join(map(str, found))} of "
            f"{database.path}; they stay as they are. Merge the shards' own files into a new file",
        )
    if found:
        if not agree(every[found[0]], staged[0]):
            raise _disagree(group, f"run {found[0]} of {database.path} has some of them, with another plan")
        return every[found[0]]
    if sum(run.planned for run in staged) >= staged[0].collected:
        return None  # a launch of its own
    open_runs = [
        run
        for run_id, run in every.items()
        if run.shard is None
        and run.state is not RunState.COMPLETE
        and agree(run, staged[0])
        and _has_room(shards_of(database, run_id), staged, group.count)
    ]
    return open_runs[0] if len(open_runs) == 1 else None


def _has_room(shards: Mapping[int, Shard], staged: Iterable[RunRow], count: int) -> bool:
    """Tell whether each staged shard is missing in a merged run, or was run again because it had not ended."""
    if len(shards) != count:
        return False
    olds = [(shards[shard_of(run).shard], run) for run in staged]
    return all(
        not old.key or (old.state is not RunState.COMPLETE and run.state is RunState.COMPLETE) for old, run in olds
    )


def _is_further(database: Database, here: RunRow, old: Shard, run: RunRow, group: Group) -> bool:
    """Tell whether a shard that the merged run has is to be replaced by this version of it."""
    both_complete = old.state is run.state is RunState.COMPLETE
    if old.key != run.key and both_complete:
        paths = ", ".join(str(one.path) for one in group.given if one.run.key == run.key)
        raise UsageError(
            "duplicate-shard",
            f"shard {run.shard} of {run.shards} ({group.described}) was run twice: run {here.id} of {database.path} "
            f"has {old.key[:8]}, and {paths} has {run.key[:8]}; leave that file out, or merge it into a new file",
        )
    if both_complete or here.state is RunState.COMPLETE:
        return False
    if old.key != run.key:
        results = "SELECT count(DISTINCT test_ref) FROM main.result WHERE run_id = :here AND outcome <> 'not_run'"
        results_here = _count(database, f"{results} AND test_ref IN ({TESTS_HERE})", here, run)
        results_there = run.planned - run.counts[Outcome.NOT_RUN]
        return (run.state is RunState.COMPLETE, results_there) > (old.state is RunState.COMPLETE, results_here)
    planned = "SELECT count(*) FROM main.plan WHERE run_id = :here"
    verdict = compare(
        database.connection,
        here=here.id,
        there=run.id,
        state_here=old.state,
        state_there=run.state,
        planned_here=_count(database, f"{planned} AND test_ref IN ({TESTS_HERE})", here, run),
        of_shard=True,
    )
    if verdict is Verdict.DIVERGED:
        raise diverged(database, here.id, run.key)
    return verdict is Verdict.FURTHER


def _count(database: Database, sql: str, here: RunRow, there: RunRow) -> int:
    ((count,),) = database.query(sql, {"here": here.id, "there": there.id})
    return int(count)


def _tests(
    database: Database, group: Group, here: RunRow | None, before: Mapping[int, Shard], written: Iterable[RunRow]
) -> set[str]:
    """Return the tests of the merged run afterwards; refuse a test that is in two shards."""
    paths = {one.run.key: one.path for one in group.given}
    shard_by_test: dict[str, RunRow] = {}
    for run in written:
        for (test_id,) in database.query(
            "SELECT test_id FROM source.plan AS plan JOIN source.test AS test ON test.id = test_ref WHERE run_id = ?",
            (run.id,),
        ):
            other = shard_by_test.setdefault(test_id, run)
            if other is not run:
                raise _disagree(
                    group,
                    f"the test {test_id} is in shard {other.shard} ({paths[other.key]}) "
                    f"and in shard {run.shard} ({paths[run.key]})",
                )
    found = set(shard_by_test)
    if here is not None:
        again = dict.fromkeys((shard_of(run).shard for run in written if _has(before, run)), 0)
        for (test_id,) in database.query(
            "SELECT test_id FROM main.plan AS plan JOIN main.test AS test ON test.id = test_ref WHERE run_id = ?",
            (here.id,),
        ):
            run_there = shard_by_test.get(test_id)
            if run_there is not None:
                number = shard_of(run_there).shard
                if number not in again:
                    raise _disagree(
                        group,
                        f"the test {test_id} of shard {number} ({paths[run_there.key]}) "
                        f"is in another shard of run {here.id} of {database.path}",
                    )
                again[number] += 1
            found.add(test_id)
        for number, tests in again.items():
            if tests != before[number].planned:
                raise _disagree(group, f"shard {number} has other tests in run {here.id} of {database.path}")
    return found


def _has(before: Mapping[int, Shard], run: RunRow) -> bool:
    old = before.get(shard_of(run).shard)
    return old is not None and bool(old.key)


def _disagree(group: Group, what: str) -> UsageError:
    return UsageError(
        "shards-disagree",
        f"the shards ({group.described}) in {', '.join(map(str, group.files))} do not make up one plan: {what}",
    )
