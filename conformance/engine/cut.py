"""Cut the part of the collected tests out that a shard undertakes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.engine.identify import identity_of
from conformance.engine.schedule import Shard, part_of_plan
from conformance.model.run import PlanScope
from conformance.store import Database, plan_digest
from conformance.store.durations import Durations, durations_of_whole_run


@dataclass(frozen=True, slots=True)
class Cut:
    """What part of the plan a shard has; ``files`` are the test ids of files that could not be collected in it."""

    scope: PlanScope
    files: frozenset[str]


def cut(
    items: list[pytest.Item], files: Iterable[str], shard: Shard, *, device: str, database: Path | None
) -> tuple[Cut, list[pytest.Item]]:
    """Keep the items of one shard in place; return the cut and the items that went.

    ``files`` are the test ids that stand for files that could not be collected. The plan is cut by the durations of
    the newest complete run in ``database`` that was no shard, by count where there is none.
    """
    identities = {item: identity_of(item) for item in items}
    files = set(files)
    test_ids = [identity.test_id for identity in identities.values()] + sorted(files)
    suites = {str(identity.suite) for identity in identities.values()}
    durations = Durations("", {})
    if database is not None and database.exists() and database.stat().st_size:
        with Database.create_or_open(database) as opened:
            durations = durations_of_whole_run(opened, device=device, suites=suites)
    mine = part_of_plan(shard, test_ids, durations.seconds)
    kept = [item for item in items if identities[item].test_id in mine]
    dropped = [item for item in items if identities[item].test_id not in mine]
    items[:] = kept
    scope = PlanScope(
        digest=plan_digest(test_ids),
        collected=len(test_ids),
        shard=shard.index,
        shards=shard.count,
        split=durations.key or "count",
    )
    return Cut(scope, frozenset(files & mine)), dropped
