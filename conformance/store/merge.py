"""Join databases: copy their runs, and make one run of the shards of each launch."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import InfrastructureError, UsageError
from conformance.model.run import RunState
from conformance.store.connection import Database
from conformance.store.merge_copy import Action, copy_run
from conformance.store.merge_decide import Joining, decide
from conformance.store.merge_join import join
from conformance.store.merge_rows import DanglingRows
from conformance.store.merge_shards import Given, Group, agree, group_shards, ranges
from conformance.store.merge_sources import Source, check_paths, damaged, describe, is_empty, open_source
from conformance.store.queries import runs

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from conformance.store.rows import RunRow

# Whoever waits for its turn to write looks again every 100 ms; a merge of many runs must not take every turn.
_PAUSE_S = 0.12
_LONG_S = 0.2

_PATIENCE_MS = 600_000


@dataclass(frozen=True, slots=True)
class MergedRun:
    """What a merge did with one run, or with the shards of one launch.

    ``run`` is the run in the target afterwards, None where it has none. ``shards`` are the numbers of the shards in it,
    ``missing`` those that are not, out of ``shard_count``; all of it is empty for a run that is copied. ``error`` says
    why a run was refused.
    """

    action: Action
    key: str
    files: tuple[Path, ...]
    run: RunRow | None
    shards: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    shard_count: int | None = None
    error: UsageError | None = None


@dataclass(frozen=True, slots=True)
class _Copying:
    """A run that is copied as it is."""

    source: Source
    run: RunRow

    @property
    def order(self) -> tuple[str, int, int, str]:
        return self.run.created_at, 0, self.run.id, self.run.key


@dataclass(frozen=True, slots=True)
class _Joining:
    """The shards of a launch, and their runs: in the staging database, or in their sources where nothing is to do."""

    group: Group
    staged: tuple[RunRow, ...]
    stage: Source | None

    @property
    def order(self) -> tuple[str, int, int, str]:
        # After a merged run of the same shards, which a source may hold.
        return min(one.run.created_at for one in self.group.given), 1, 0, min(self.group.keys)


def merge(target: Path, paths: Sequence[Path], *, allow_missing: bool = False) -> Generator[MergedRun]:
    """Bring every run of the databases into ``target``, and yield each as it is done.

    Each run is one transaction. What can be refused is refused before the target is touched: UsageError
    (``merge-into-itself``, ``database-missing``, ``database-newer``, ``not-a-database``, ``mixed-plans``,
    ``duplicate-shard``, ``shards-disagree``, and ``missing-shard`` unless ``allow_missing``). A run that turns out to
    be unfit later is yielded with its error, and the others go on.
    """
    with _scratch() as scratch, ExitStack() as stack:
        sources = [open_source(path, scratch, stack) for path in check_paths(target, paths)]
        given = [
            Given(source.path, run)
            for source in sources
            for run in source.runs
            if run.shard is not None and not is_empty(run)
        ]
        units: list[_Copying | _Joining] = [
            _Copying(source, run) for source in sources for run in source.runs if run.shard is None or is_empty(run)
        ]
        groups = group_shards(given)
        if groups:
            checking = stack.enter_context(_for_checking(target, scratch))
            units += _check(
                checking, describe(target, checking), sources, groups, scratch, stack, allow_missing=allow_missing
            )
        with Database.create_or_open(target) as database:
            # A merge has time: rather than fail, it waits until others have written.
            database.connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            yield from _write(database, sorted(units, key=lambda unit: unit.order))


def _write(database: Database, units: Sequence[_Copying | _Joining]) -> Iterator[MergedRun]:
    changed = False
    for unit in units:
        begun = time.monotonic()
        merged = _copied(database, unit) if isinstance(unit, _Copying) else _joined(database, unit)
        yield merged
        if merged.action in (Action.COPIED, Action.JOINED, Action.UPDATED):
            changed = True
            if time.monotonic() - begun > _LONG_S:
                time.sleep(_PAUSE_S)
    if changed:
        # The runs are safe by now: statistics that find no room on the disk are not worth an error.
        with suppress(InfrastructureError), database.transaction():
            database.connection.execute("PRAGMA analysis_limit = 400")
            database.connection.execute("ANALYZE main")


def _copied(database: Database, unit: _Copying) -> MergedRun:
    files = (unit.source.path,)
    if is_empty(unit.run):
        return MergedRun(Action.NO_PLAN, unit.run.key, files, None)
    try:
        with unit.source.attached(database):
            try:
                action, run_id = copy_run(database, unit.run.key)
            except DanglingRows as error:
                raise damaged(unit.source.path, str(error)) from error
    except UsageError as error:
        return MergedRun(Action.REFUSED, unit.run.key, files, None, error=error)
    return MergedRun(action, unit.run.key, files, _run(database, run_id))


def _joined(database: Database, unit: _Joining) -> MergedRun:
    group = unit.group
    try:
        if unit.stage is None:
            joining = decide(database, group, unit.staged)
            run_id = joining.here.id if joining.here else None
        else:
            with unit.stage.attached(database):
                joining, run_id = join(database, group, unit.staged)
    except UsageError as error:
        return MergedRun(Action.REFUSED, min(group.keys), group.files, None, error=error)
    action = Action.UNCHANGED if not joining.written else Action.UPDATED if joining.here else Action.JOINED
    shards = tuple(number for number, shard in sorted(joining.shards.items()) if shard.key)
    run = _run(database, run_id)
    key = run.key if run else min(group.keys)
    return MergedRun(action, key, group.files, run, shards, joining.missing, group.count)


def _run(database: Database, run_id: int | None) -> RunRow | None:
    return next((run for run in runs(database) if run.id == run_id), None)


def _check(
    checking: Database,
    target: Source,
    sources: Sequence[Source],
    groups: Sequence[Group],
    scratch: Path,
    stack: ExitStack,
    *,
    allow_missing: bool,
) -> Iterator[_Joining]:
    """Refuse groups that cannot be joined, with what the target has; bring the runs of the others together."""
    merged_keys = {key for source in sources for keys in source.joined.values() for key in keys}
    stage: Source | None = None
    for group in groups:
        group = _with_shards_of_target(group, target)
        staged = tuple({one.run.key: one.run for one in group.given}.values())
        if _is_settled(target, group):
            unit = _Joining(group, staged, None)
            joining = decide(checking, group, staged)
        else:
            if stage is None:
                stage = _new_stage(scratch, stack)
            by_path = {source.path: source for source in (*sources, target)}
            for one in group.given:
                _stage(stage.database, by_path[one.path], one, group)
            staged = tuple(
                sorted((run for run in runs(stage.database) if run.key in group.keys), key=lambda run: run.shard or 0)
            )
            unit = _Joining(group, staged, stage)
            with stage.attached(checking):
                joining = decide(checking, group, staged)
        # A merged run in a source has shards of this group, and says itself which it lacks.
        if joining.missing and not allow_missing and not group.keys & merged_keys:
            raise _missing(group, joining, target)
        yield unit


def _for_checking(target: Path, scratch: Path) -> Database:
    """Open the target for reading; what is not there yet, or knows nothing of shards, is as good as empty."""
    if target.exists() and target.stat().st_size:
        try:
            return Database.open_existing(target)
        except UsageError as error:
            if error.slug == "not-a-database":
                # Another process may be creating it just now; this waits for that, or refuses the file as well.
                return Database.create_or_open(target)
            if error.slug != "database-old":
                raise
    return Database.create_or_open(scratch / "empty.sqlite")


def _with_shards_of_target(group: Group, target: Source) -> Group:
    """Add shards of the same launch that were run into the target itself.

    Only a launch with a name tells that they belong together.
    """
    if not group.launch:
        return group
    lacking = {run.shard: run for run in _shards_in_target(group, target)}
    return replace(group, given=(*group.given, *(Given(target.path, run) for run in lacking.values())))


def _shards_in_target(group: Group, target: Source) -> list[RunRow]:
    """Return the shards in the target that fit, of which the given files have none; only those that are there once."""
    fitting = [
        run
        for run in target.runs
        if run.shards == group.count and run.shard not in group.numbers and agree(run, group.given[0].run)
    ]
    numbers = [run.shard for run in fitting]
    return [run for run in fitting if numbers.count(run.shard) == 1 and not is_empty(run)]


def _is_settled(target: Source, group: Group) -> bool:
    """Tell whether one merged run of the target has all these shards, and all of them had ended before."""
    if any(one.run.state is not RunState.COMPLETE for one in group.given):
        return False
    found: dict[str, set[int]] = {}
    for key, run_id in target.database.query("SELECT key, run_id FROM run_shard WHERE state = 'complete'"):
        found.setdefault(key, set()).add(run_id)
    places = [found.get(key, set()) for key in group.keys]
    return len(set[int]().union(*places)) == 1 and all(places)


def _new_stage(scratch: Path, stack: ExitStack) -> Source:
    """Make the database in which shards come together: SQLite reads from ten files at a time at most."""
    path = scratch / "stage.sqlite"
    database = stack.enter_context(Database.create_or_open(path))
    database.connection.execute("PRAGMA synchronous = OFF")
    return describe(path, database)


def _stage(stage: Database, source: Source, one: Given, group: Group) -> None:
    try:
        with source.attached(stage):
            copy_run(stage, one.run.key)
    except DanglingRows as error:
        raise damaged(one.path, str(error)) from error
    except UsageError as error:
        if error.slug != "run-diverged":
            raise
        paths = " and ".join(str(other.path) for other in group.given if other.run.key == one.run.key)
        raise UsageError(
            "run-diverged",
            f"shard {one.number} of {group.count} ({group.described}, key {one.run.key[:8]}) was continued in {paths}, "
            "with different results; leave all but one of them out",
        ) from error


def _missing(group: Group, joining: Joining, target: Source) -> UsageError:
    missing = joining.missing
    text = (
        f"{'shards' if len(missing) > 1 else 'shard'} {ranges(missing)} of {group.count} "
        f"({group.described}, given in {', '.join(map(str, group.files))}) "
        f"{'are' if len(missing) > 1 else 'is'} missing; add the rest, "
        "or merge without it as an interrupted run by --allow-missing"
    )
    mine = [run for run in _shards_in_target(group, target) if run.shard in missing]
    if mine:
        numbers = ", ".join(f"shard {run.shard} as run {run.id}" for run in mine)
        text += f". {target.path} has {numbers}: if of the same launch, merge it with the others into a new file"
    return UsageError("missing-shard", text)


@contextmanager
def _scratch() -> Generator[Path]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="conformance-merge-", ignore_cleanup_errors=True)
    except OSError as error:
        raise InfrastructureError(
            "database-unwritable",
            f"cannot make a folder for temporary files in {tempfile.gettempdir()}: {error.strerror or error}; "
            "set TMPDIR to one that can be written",
        ) from error
    with folder as name:
        yield Path(name)
