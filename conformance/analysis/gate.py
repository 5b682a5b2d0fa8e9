"""Judge a whole run: the verdict on each of its tests, and whether the run is to fail."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from conformance.analysis.verdict import Baseline, Verdict, verdict
from conformance.errors import ConformanceError
from conformance.model.listed import ListedEntry
from conformance.model.outcome import Outcome
from conformance.model.run import RunState

# What needs no line of its own in a report.
_QUIET = (Verdict.AS_EXPECTED, Verdict.KNOWN, Verdict.UNSEEN)


class Judgeable(Protocol):
    """What a verdict needs of a test's result; ``ResultRow`` has it, and the lighter rows of the store's history."""

    @property
    def test_id(self) -> str:
        """Return the device-neutral id."""

    @property
    def outcome(self) -> Outcome:
        """Return how the last attempt ended."""

    @property
    def fallback_ops(self) -> Collection[str] | None:
        """Return the overloads that ran on the CPU inside the window, None where nobody looked."""

    @property
    def message(self) -> str:
        """Return what a failure said."""

    @property
    def entry(self) -> str:
        """Return the id of the entry that counts for the test, empty where none does."""


Row = TypeVar("Row", bound=Judgeable)


@dataclass(frozen=True, slots=True)
class Judged(Generic[Row]):
    """A test with its verdict; ``before`` is its outcome in the baseline, None where that does not have it."""

    verdict: Verdict
    result: Row
    before: Outcome | None


@dataclass(frozen=True, slots=True)
class GateResult(Generic[Row]):
    """What a run comes to.

    ``counts`` has every verdict as a key and adds up to the tests that were judged. ``judged`` are the tests that a
    report names: all whose verdict is neither as expected nor known nor unseen, the worst first, then by id.
    ``gone`` are the tests of the baseline that this run did not undertake, sorted; they fail it only where ``whole``
    says that it undertook all that the baseline did. ``unknown`` is how many tests were collected and are in no shard
    that came back, so that not even their ids are known; they fail it. ``unobserved`` is in how many tests the baseline
    looked for fallbacks, and nobody did now, so that a new one may have gone unseen.
    """

    counts: Mapping[Verdict, int]
    judged: tuple[Judged[Row], ...]
    gone: tuple[str, ...]
    unknown: int
    unobserved: int
    has_baseline: bool
    whole: bool
    strict: bool

    @property
    def planned(self) -> int:
        """Return how many tests were judged."""
        return sum(self.counts.values())

    @property
    def failing(self) -> tuple[Judged[Row], ...]:
        """Return the tests that make the run fail."""
        return tuple(judged for judged in self.judged if self.fails(judged.verdict))

    @property
    def exit_code(self) -> int:
        """Return 0 where all is as expected; a run without a single test shows nothing and fails."""
        failed = any(count and self.fails(found) for found, count in self.counts.items())
        missing = self.unknown or (self.whole and self.gone)
        return 1 if failed or missing or not self.planned else 0

    def fails(self, found: Verdict) -> bool:
        """Tell whether one test with this verdict makes the run fail."""
        return found.fails_strict if self.strict else found.is_unexpected


def gate(
    results: Iterable[Row],
    entries: Mapping[str, ListedEntry],
    baseline: Mapping[str, Baseline] | None,
    strict: bool = False,
    *,
    whole: bool = False,
    unknown: int = 0,
) -> GateResult[Row]:
    """Judge every planned test of a run.

    ``entries`` are those in force in the run, by their ids; ``baseline`` has the outcome and the fallbacks of each test
    of an earlier run, by test id, None without one. ``whole`` says that a test of the baseline which the run does not
    have is a loss (see ``undertakes_all_of``), ``unknown`` how many tests are in shards that are missing. Raises
    ConformanceError (``unknown-entry``) for a result that names an entry which is not among ``entries``, and whatever
    ``verdict`` raises.
    """
    counts = dict.fromkeys(Verdict, 0)
    named: list[Judged[Row]] = []
    unobserved = 0
    earlier = baseline if baseline is not None else {}
    missing = set(earlier)
    for row in results:
        entry = None
        if row.entry:
            entry = entries.get(row.entry)
            if entry is None:
                raise ConformanceError(
                    "unknown-entry", f"{row.test_id} names the entry '{row.entry}', which is not in force in the run"
                )
        before = earlier.get(row.test_id)
        missing.discard(row.test_id)
        found = verdict(row.outcome, row.fallback_ops, row.message, entry, before)
        counts[found] += 1
        if before is not None and before[1] is not None and row.fallback_ops is None:
            unobserved += row.outcome in (Outcome.PASSED, Outcome.XPASSED)
        if found not in _QUIET:
            named.append(Judged(found, row, before[0] if before is not None else None))
    order = {found: place for place, found in enumerate(Verdict)}
    named.sort(key=lambda judged: (order[judged.verdict], judged.result.test_id))
    return GateResult(
        counts=counts,
        judged=tuple(named),
        gone=tuple(sorted(missing)),
        unknown=unknown,
        unobserved=unobserved,
        has_baseline=baseline is not None,
        whole=whole,
        strict=strict,
    )


class Undertaking(Protocol):
    """What says which tests a run undertook; ``RunRow`` has it."""

    @property
    def device(self) -> str:
        """Return the device type."""

    @property
    def suites(self) -> tuple[str, ...]:
        """Return the suites."""

    @property
    def selection(self) -> str:
        """Return which part of them was asked for, empty for all."""

    @property
    def torch_version(self) -> str:
        """Return the version of torch, whose tests come and go."""

    @property
    def shard(self) -> int | None:
        """Return the part of the plan, None for all of it."""


class Dated(Undertaking, Protocol):
    """What says which of several runs came before another; ``RunRow`` has it."""

    @property
    def id(self) -> int:
        """Return the run's number."""

    @property
    def created_at(self) -> str:
        """Return when it began, UTC in ISO 8601."""

    @property
    def emulated(self) -> bool:
        """Tell whether a stand-in ran in place of the device."""

    @property
    def state(self) -> RunState:
        """Return how far it got."""


Run = TypeVar("Run", bound=Dated)


def previous_run(every: Iterable[Run], run: Run) -> Run | None:
    """Return the last complete run before this one on the same device, suites and selection, None without one."""
    alike = [
        other
        for other in every
        if other.state is RunState.COMPLETE
        and other.shard is None
        and (other.device, other.emulated, other.selection) == (run.device, run.emulated, run.selection)
        and sorted(other.suites) == sorted(run.suites)
        and (other.created_at, other.id) < (run.created_at, run.id)
    ]
    return max(alike, key=lambda other: (other.created_at, other.id), default=None)


def undertakes_all_of(run: Undertaking, baseline: Undertaking) -> bool:
    """Tell whether the run should have every test of the baseline, so that one which it lacks is lost."""
    return (
        (run.device, run.selection, run.torch_version) == (baseline.device, baseline.selection, baseline.torch_version)
        and set(baseline.suites) <= set(run.suites)
        and run.shard is None
        and baseline.shard is None
    )
