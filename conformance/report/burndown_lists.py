"""Read the listed tests at each change of a skiplist in git."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Protocol

from conformance.analysis.burndown import Kind, Movement, Point, parts
from conformance.analysis.burndown_rate import forecast
from conformance.report.burndown import By, Series
from conformance.report.words import counted
from conformance.skiplist.conditions import Conditions, Context
from conformance.skiplist.entry import split_test_id
from conformance.skiplist.holding import Held, Plan
from conformance.skiplist.stats import ANY, NOT_KNOWN
from conformance.store import history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.skiplist.entry import Entry, Skiplist
    from conformance.skiplist.past import Past, State
    from conformance.store import Database, RunRow


class _Tests(Protocol):
    """What finds the tests of a list: a run's plan, or without a run the ids that any state of the list names."""

    def held(self, entries: Sequence[Entry]) -> list[Held]:
        """Return the tests that each entry counts for."""

    def by(self, field: str, tests: int) -> dict[str, int]:
        """Return how many of the tests have each value of a field."""


class _Ids:
    """The ids that any state of a list names; what patterns match is not known without a run."""

    def __init__(self, lists: Sequence[Skiplist]) -> None:
        names = {test for skiplist in lists for entry in skiplist for test in entry.tests}
        self._names = sorted(names)
        self._bits = {name: 1 << place for place, name in enumerate(self._names)}

    def held(self, entries: Sequence[Entry]) -> list[Held]:
        """Return the ids of each entry; the later of two that name one has it."""
        taken = 0
        found = []
        for entry in reversed(entries):
            tests = 0
            for test in entry.tests:
                tests |= self._bits[test]
            tests &= ~taken
            taken |= tests
            if tests:
                found.append(Held(entry, tests))
        return found[::-1]

    def by(self, field: str, tests: int) -> dict[str, int]:
        """Return how many ids name each file; their operators are not known."""
        if field != "files":
            return {NOT_KNOWN: tests.bit_count()} if tests else {}
        named = (name for name in self._names if tests & self._bits[name])
        return dict(Counter(file if (file := split_test_id(name)[0]) != "*" else ANY for name in named))


def list_series(
    past: Past, by: By, since: date | None, *, db: Database | None = None, run: RunRow | None = None
) -> tuple[Series | None, list[str]]:
    """Return the listed tests at each state of a list, and what was left out.

    With a run these are the tests of its plan that an active entry counts for, in the conditions of the run and on the
    day of the commit. Without one they are the ids that the list names, and patterns are left out.
    """
    states = [state for state in past.states if state.skiplist is not None]
    left_out = _left_out(past)
    if since is not None:
        early = [state for state in states if date.fromisoformat(state.when[:10]) < since]
        states = [state for state in states if state not in early]
        left_out += [f"{counted(len(early), 'change')} of the list before {since}."] if early else []
    if not states:
        return None, left_out
    tests: _Tests
    if db is not None and run is not None:
        tests = Plan(history.plan_rows(db, run.id))
    else:
        tests = _Ids([state.skiplist for state in states if state.skiplist is not None])
        rules = sum(bool(entry.match) for entry in states[-1].skiplist or ())
        if rules:
            left_out.append(
                f"What {counted(rules, 'entry matches', 'entries match')} by patterns: without a run it is not known."
            )
    points: list[Point] = []
    ends: list[list[Held]] = []
    before: int | None = None
    for state in states:
        held = tests.held(_active(state, run))
        if not points or state is states[-1]:
            ends.append(held)
        now = 0
        for one in held:
            now |= one.tests
        points.append(_point(state, held, before, now))
        before = now
    first, last = (_by(tests, held, by) for held in (ends[0], ends[-1]))
    counts = [(point.day, point.listed) for point in points]
    return Series(Kind.LIST, tuple(points), forecast(counts), parts(first, last)), left_out


def _left_out(past: Past) -> list[str]:
    missing = [state for state in past.states if state.skiplist is None and not state.problems]
    broken = [state for state in past.states if state.problems]
    sentences = []
    if past.is_cut:
        sentences.append("Earlier changes of the list: the clone is shallow; fetch all of its history.")
    if missing:
        sentences.append(f"{counted(len(missing), 'commit')} in which the list was not there.")
    if broken:
        first = broken[0]
        sentences.append(
            f"{counted(len(broken), 'commit')} in which the list cannot be read; in {first.commit[:10]}: "
            f"{first.problems[0]}."
        )
    return sentences


def _active(state: State, run: RunRow | None) -> list[Entry]:
    today = date.fromisoformat(state.when[:10])
    context = Context(today=today)
    if run is not None:
        context = Context(run.torch_version, run.backend_version, run.device_name, run.emulated, today)
    conditions = Conditions(context)
    return [entry for entry in state.skiplist or () if not conditions.why_inactive(entry)]


def _point(state: State, held: Sequence[Held], before: int | None, now: int) -> Point:
    moved = None
    if before is not None:
        moved = Movement((now & ~before).bit_count(), 0, (before & ~now).bit_count(), 0)
    return Point(
        kind=Kind.LIST,
        when=state.when,
        name=state.commit[:10],
        about=state.subject,
        listed=now.bit_count(),
        entries=len(held),
        without_reason=sum(one.tests.bit_count() for one in held if not one.entry.reason.strip()),
        movement=moved,
    )


def _by(tests: _Tests, held: Sequence[Held], by: By) -> dict[str, int]:
    if by in ("op", "file"):
        every = 0
        for one in held:
            every |= one.tests
        return tests.by(f"{by}s", every)
    counts: Counter[str] = Counter()
    for one in held:
        counts[str(one.entry.category) if by == "category" else one.entry.owner] += one.tests.bit_count()
    return dict(counts)
