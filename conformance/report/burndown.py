"""Read the burn-down of a device's skiplist from the database of runs and from the git history of the list."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal

from conformance.analysis.architectures import (
    Architectures,
    architectures_of,
    failing_alike,
    hindered_by_operators,
    newest_with_architectures,
)
from conformance.analysis.burndown import (
    Age,
    Announcement,
    Kind,
    Part,
    Point,
    age_of,
    announced,
    evidence_counts,
    movement,
    parts,
    without_reason,
)
from conformance.analysis.burndown_rate import Forecast, forecast
from conformance.analysis.causes import Cause, ListedTest, Rank, own_operators, rank_causes
from conformance.analysis.named import packet_of
from conformance.analysis.opdb import load, public_version, versions
from conformance.analysis.verdict import expectation_of
from conformance.errors import UsageError
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.overload import Phase
from conformance.report.words import counted
from conformance.skiplist.observed import Evidence, Observed, evidence
from conformance.store import history, operators, registrations, resolve_run, results, runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.model.listed import ListedEntry
    from conformance.model.overload import Snapshot
    from conformance.store import Database, RunRow

By = Literal["category", "owner", "op", "file"]

_PASSES = (Outcome.PASSED, Outcome.XPASSED, Outcome.XFAILED)


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one kind, the oldest first, what they say about the end, and the parts at both ends."""

    kind: Kind
    points: tuple[Point, ...]
    forecast: Forecast
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Present:
    """What the newest run shows of the list in force in it.

    ``evidence`` counts the listed tests by what the run says about their entries. ``core_of`` is the version of torch
    whose Core ATen the causes were held against, empty where there is no snapshot of it. ``models`` is None where no
    run of the device has a result of an architecture.
    """

    run: RunRow
    evidence: Mapping[Evidence, int]
    age: Age
    entries: Mapping[str, ListedEntry]
    causes: tuple[Cause, ...]
    signatures: tuple[Cause, ...]
    without_signature: int
    core_of: str
    models: Models | None = None


@dataclass(frozen=True, slots=True)
class Models:
    """The architectures of a run on the device of the newest run: that run, or the newest one that has any."""

    run: RunRow
    found: Architectures


@dataclass(frozen=True, slots=True)
class Burndown:
    """Everything that a burn-down says.

    ``runs`` and ``lists`` are None where there is nothing to read them from. ``left_out`` says, a sentence each, what
    is not on the curve and why. ``by`` names what the parts are parts by.
    """

    device: str
    emulated: bool
    announced: Announcement | None
    runs: Series | None
    lists: Series | None
    present: Present | None
    left_out: tuple[str, ...]
    by: By

    @property
    def main(self) -> Series | None:
        """Return the series that the headline is about: the runs, where there are any."""
        return self.runs or self.lists


def run_series(
    db: Database, selector: str | None, device: str | None, since: date | None, by: By
) -> tuple[Series | None, RunRow | None, list[str]]:
    """Return the listed tests at each run that can be compared, the newest of these, and what was left out.

    Only runs of the same device, suites and selection have the same tests to list: a run of one operator would look
    like a burnt-down list. Without ``selector`` the newest run of whole suites with a skiplist is taken.
    """
    every = [run for run in runs(db) if device is None or run.device == device]
    newest = resolve_run(db, selector) if selector is not None else _newest(every)
    if newest is None:
        return None, None, [f"{counted(len(every), 'run')} without a skiplist."] if every else []
    if selector is not None and not _has_list(newest):
        raise UsageError(
            "run-without-skiplist", f"run {newest.id} of {db.path} had no skiplist in force; name another by --run"
        )
    alike = [run for run in every if _alike(run, newest)]
    used = [run for run in alike if _has_list(run) and _is_whole(run) and run.created_at <= newest.created_at]
    left_out = _left_out(every, alike, newest)
    if since is not None:
        early = [run for run in used if date.fromisoformat(run.created_at[:10]) < since]
        used = [run for run in used if run not in early]
        left_out += [f"{counted(len(early), 'run')} before {since}."] if early else []
    used.sort(key=lambda run: (run.created_at, run.id))
    if not used:
        return None, newest, left_out
    points, first, last = _run_points(db, used, by)
    return Series(Kind.RUN, points, forecast(_counts(points)), parts(first, last)), newest, left_out


def _newest(every: Sequence[RunRow]) -> RunRow | None:
    with_list = [run for run in every if _has_list(run) and _is_whole(run)]
    best = [run for run in with_list if not run.selection] or with_list
    return max(best, key=lambda run: (run.created_at, run.id), default=None)


def _has_list(run: RunRow) -> bool:
    return bool(run.skiplist)


def _is_whole(run: RunRow) -> bool:
    return run.shard is None and 0 < run.planned == run.collected


def _alike(run: RunRow, newest: RunRow) -> bool:
    def undertaking(one: RunRow) -> tuple[object, ...]:
        return one.device, one.emulated, tuple(sorted(one.suites)), one.selection

    return undertaking(run) == undertaking(newest)


def _left_out(every: Sequence[RunRow], alike: Sequence[RunRow], newest: RunRow) -> list[str]:
    later = [run for run in alike if run.created_at > newest.created_at]
    earlier = [run for run in alike if run not in later]
    sentences = (
        (len(every) - len(alike), "of another device, emulation, suites or selection"),
        (sum(not _has_list(run) for run in earlier), "without a skiplist"),
        (sum(_has_list(run) and not _is_whole(run) for run in earlier), "of a part of the plan, or without one"),
        (len(later), "after the one that was asked for"),
    )
    return [f"{counted(count, 'run')} {why}." for count, why in sentences if count]


def _run_points(
    db: Database, used: Sequence[RunRow], by: By
) -> tuple[tuple[Point, ...], dict[str, int], dict[str, int]]:
    entries = history.entries_in_force(db, [run.id for run in used])
    first_ref = history.first_refs(db)
    same: dict[int, list[int]] = {}
    for later, first in first_ref.items():
        same.setdefault(first, [first]).append(later)
    points: list[Point] = []
    before: set[int] | None = None
    ends: list[dict[int, int]] = []
    for run in used:
        listed = history.listed_tests(db, run.id)
        if not points or run is used[-1]:
            ends.append(listed)
        now = {first_ref.get(ref, ref) for ref in listed} if first_ref else set(listed)
        moved = None
        if before is not None:
            left = [ref for first in before - now for ref in same.get(first, [first])]
            seen = {first_ref.get(ref, ref): end for ref, (end, _) in history.ends_of(db, run.id, left).items()}
            passed = {ref for ref, outcome in seen.items() if outcome in _PASSES}
            moved = movement(before, now, planned=seen.keys(), passed=passed)
        tests = Counter(listed.values())
        points.append(
            Point(
                kind=Kind.RUN,
                when=run.created_at,
                name=str(run.id),
                about=_about(run, used[len(points) - 1] if points else None),
                listed=len(now),
                entries=len(tests),
                without_reason=without_reason((entries[ref], count) for ref, count in tests.items()),
                movement=moved,
            )
        )
        before = now
    return tuple(points), _by(db, ends[0], entries, by), _by(db, ends[-1], entries, by)


def _about(run: RunRow, previous: RunRow | None) -> str:
    """Return what is different from the run before, besides the list: other tests may be planned."""
    if previous is None or run.torch_version == previous.torch_version:
        return ""
    return f"torch {run.torch_version}, was {previous.torch_version}"


def _by(db: Database, listed: Mapping[int, int], entries: Mapping[int, ListedEntry], by: By) -> dict[str, int]:
    match by:
        case "category":
            return dict(Counter(entries[ref].category for ref in listed.values()))
        case "owner":
            return dict(Counter(entries[ref].owner for ref in listed.values()))
        case _:
            subjects = history.subjects(db, listed.keys())
            return dict(Counter((one.op or "") if by == "op" else one.file for one in subjects.values()))


def _counts(points: Sequence[Point]) -> list[tuple[date, int]]:
    return [(point.day, point.listed) for point in points]


def present_of(db: Database, run: RunRow, rank: Rank, today: date) -> Present:
    """Return what a run shows of its list, and the causes in it, those that free most first."""
    listed = history.listed_tests(db, run.id)
    entries = history.entries_in_force(db, [run.id])
    ends = history.ends_of(db, run.id, listed.keys())
    subjects = history.subjects(db, listed.keys())
    signatures = history.signatures_of(db, run.id, listed.keys())
    models = _models(db, run)
    snapshot = _snapshot(run.torch_version)
    hindered = _hindered(db, run, models, snapshot)
    tests = [
        ListedTest(
            entry=entries[entry].entry_id,
            op=subjects[ref].op,
            module=subjects[ref].module,
            signature=signatures.get(ref, ""),
            evidence=evidence(expectation_of(entries[entry]), [Observed(*ends[ref])]),
            architectures=None if hindered is None else hindered(subjects[ref], signatures.get(ref, "")),
        )
        for ref, entry in listed.items()
    ]
    core = None if snapshot is None else _core(snapshot)
    per_entry = Counter(listed.values())
    return Present(
        run=run,
        evidence=evidence_counts([test.evidence for test in tests]),
        age=age_of(((entries[ref], count) for ref, count in per_entry.items()), today),
        entries={entry.entry_id: entry for entry in entries.values()},
        causes=rank_causes(tests, lambda test: test.entry, core=core, by=rank),
        signatures=rank_causes(tests, lambda test: test.signature, core=core, by=rank),
        without_signature=sum(not test.signature for test in tests),
        core_of="" if snapshot is None else public_version(run.torch_version),
        models=models,
    )


def _snapshot(torch_version: str) -> Snapshot | None:
    version = public_version(torch_version)
    return load(version) if version in versions() else None


def _forward(snapshot: Snapshot | None) -> dict[str, Sequence[str]]:
    operators = snapshot.operators if snapshot else ()
    return {operator.name: operator.reached.get(Phase.FORWARD, ()) for operator in operators}


def _core(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """Return the own operators of each overload of Core ATen."""
    return own_operators(
        (overload.name for overload in snapshot.core),
        {operator.name: operator.aten_name for operator in snapshot.operators},
        _forward(snapshot),
    )


def _models(db: Database, run: RunRow) -> Models | None:
    found = newest_with_architectures(run, runs(db), lambda run_id: results(db, run_id, of_architectures=True))
    if found is None:
        return None
    source, rows = found
    known = {packet_of(each.overload) for each in registrations(db, source.id)}
    return Models(source, architectures_of(rows, observed=bool(source.probe), known=known))


def _hindered(
    db: Database, run: RunRow, models: Models | None, snapshot: Snapshot | None
) -> Callable[[history.Subject, str], frozenset[str]] | None:
    """Return what tells which architectures do not run natively because of what a listed test is about.

    Those are the test's own architecture, those that an overload of its operator hinders, and those that fail with its
    signature. None where no run has results of any.
    """
    if models is None:
        return None
    aten_names = {operator.name: operator.aten_name for operator in operators(db, run.id)}
    aten_names |= {operator.name: operator.aten_name for operator in (snapshot.operators if snapshot else ())}
    by_operator = hindered_by_operators(models.found, aten_names, _forward(snapshot))
    alike = failing_alike(models.found)
    broken = {each.name for each in models.found.items if each.status is not OperatorStatus.NATIVE}

    def hindered(subject: history.Subject, signature: str) -> frozenset[str]:
        own = frozenset(() if subject.architecture is None else (subject.architecture,)) & broken
        return own | by_operator.get(subject.op or "", frozenset()) | (alike(signature) if signature else frozenset())

    return hindered


def burndown_of(
    device: str,
    emulated: bool,
    *,
    run_points: Series | None,
    list_points: Series | None,
    present: Present | None,
    left_out: Sequence[str],
    by: By,
) -> Burndown:
    """Put the parts together, with what was announced about the device."""
    return Burndown(device, emulated, announced(device), run_points, list_points, present, tuple(left_out), by)
