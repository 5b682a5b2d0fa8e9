"""Tell which architectures run as they are on a device, and what keeps the others from it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.beside import is_whole, runs_beside
from conformance.analysis.causes import own_operators
from conformance.analysis.named import blamed, named_overloads, packet_of
from conformance.analysis.signature import signature
from conformance.model.identity import Suite
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from conformance.model.calls import ArchitectureCalls
    from conformance.store import ResultRow, RunRow

# What each template of the suite asks, in the order of the columns. `compile` runs only where it is named.
PHASES: Mapping[str, str] = {
    "test_forward": "eager",
    "test_generate": "generate",
    "test_backward": "train",
    "test_compile": "compile",
}

# A column of its own: a model that runs and cannot be compiled runs as it is.
COMPILE = "compile"

OPERATOR = "operator"
FAILURE = "failure"

_PASSES = frozenset({Outcome.PASSED, Outcome.XPASSED})
_SILENT = frozenset({Outcome.SKIPPED, Outcome.XFAILED, Outcome.NOT_RUN})


@dataclass(frozen=True, slots=True)
class Phase:
    """One test of an architecture, by its last attempt.

    ``fallback`` is None where no probe looked. ``blamed`` are the overloads, or operators of ATen's, that its failure
    is about, as far as that is known.
    """

    name: str
    test_id: str
    suite: str
    outcome: Outcome
    fallback: tuple[str, ...] | None
    inside: tuple[str, ...]
    reason: str
    message: str
    signature: str
    blamed: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Tell whether it ran and its results are those of the CPU."""
        return self.outcome in _PASSES

    @property
    def failed(self) -> bool:
        """Tell whether it ran, or was to run, and broke."""
        return self.outcome.is_bad and self.outcome is not Outcome.NOT_RUN


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture in one run, with its phases by their names.

    ``recorded`` are the overloads that it calls by the record that comes with the harness, None where it has none.
    """

    name: str
    status: OperatorStatus
    phases: Mapping[str, Phase]
    recorded: tuple[str, ...] | None = None

    @property
    def as_is(self) -> bool:
        """Tell whether every test of it passed that is not about torch.compile, with or without a fallback."""
        return self.status in (OperatorStatus.NATIVE, OperatorStatus.FALLBACK)

    @property
    def blockers(self) -> tuple[str, ...]:
        """Return what its failures are about, sorted."""
        return tuple(sorted({name for phase in as_it_is(self.phases) for name in phase.blamed}))

    @property
    def unexplained(self) -> tuple[Phase, ...]:
        """Return the failures of which no operator is known that they are about."""
        return tuple(phase for phase in as_it_is(self.phases) if phase.failed and not phase.blamed)

    @property
    def fallback(self) -> tuple[str, ...]:
        """Return the overloads that ran on the CPU in any of its tests, sorted."""
        return tuple(sorted({name for phase in self.phases.values() for name in phase.fallback or ()}))

    @property
    def calls(self) -> tuple[str, ...]:
        """Return the overloads and operators that it is known to call, sorted.

        A run has those that ran on the CPU and those that a failure is about; of those that ran on the device nothing
        is written down there. The record has all that reached a device of one version of torch and transformers.
        """
        inside = {name for phase in self.phases.values() for name in phase.inside}
        return tuple(sorted({*self.fallback, *self.blockers, *inside, *(self.recorded or ())}))

    @property
    def reason(self) -> str:
        """Return why its tests were skipped; empty where none was."""
        return next((phase.reason for phase in self.phases.values() if phase.reason), "")


@dataclass(frozen=True, slots=True)
class Hindrance:
    """One thing that keeps architectures from running, or from running without the CPU.

    ``kind`` is ``operator`` with an overload (or an operator of ATen's) as ``name``, or ``failure`` with the signature
    of failures that are about no operator that could be named. ``blocks`` are the architectures with a failure that is
    about it, ``alone`` those of them that nothing else blocks; ``on_cpu`` the others in which it ran on the CPU.
    """

    kind: str
    name: str
    outcome: str
    blocks: tuple[str, ...]
    alone: tuple[str, ...]
    on_cpu: tuple[str, ...]

    @property
    def concerned(self) -> tuple[str, ...]:
        """Return all architectures that do not run natively because of it, sorted."""
        return tuple(sorted({*self.blocks, *self.on_cpu}))


@dataclass(frozen=True, slots=True)
class Architectures:
    """All architectures that a run planned, by name, and what hinders them, the most first.

    ``record`` says with which versions it was recorded what they call, empty where it was not.
    """

    items: tuple[Architecture, ...]
    hindrances: tuple[Hindrance, ...]
    observed: bool
    record: str = ""

    @property
    def as_is(self) -> int:
        """Return how many run as they are: a numerator, of all planned ones."""
        return sum(each.as_is for each in self.items)

    def count(self, status: OperatorStatus) -> int:
        """Return how many have a status."""
        return sum(each.status is status for each in self.items)

    @property
    def phases(self) -> tuple[str, ...]:
        """Return the columns: the known phases, and after them any that this version does not know."""
        found = {name for each in self.items for name in each.phases}
        return (*PHASES.values(), *sorted(found.difference(PHASES.values())))


def as_it_is(phases: Mapping[str, Phase]) -> tuple[Phase, ...]:
    """Return the phases that say whether an architecture runs as it is: all, but where there are others not compile."""
    return tuple(phase for phase in phases.values() if phase.name != COMPILE) or tuple(phases.values())


def architecture_status(outcomes: Iterable[Outcome], *, fell_back: bool) -> OperatorStatus:
    """Return the status that the tests of an architecture make.

    Unlike an operator, an architecture is native or works by fallback only if all of its tests passed: a model that
    computes and cannot generate does not run as it is.
    """
    seen = set(outcomes)
    if not seen - {Outcome.NOT_RUN}:
        return OperatorStatus.UNTESTED
    if any(outcome.is_death for outcome in seen):
        return OperatorStatus.CRASHING
    if not seen - _SILENT:
        return OperatorStatus.SKIPPED
    if seen <= _PASSES:
        return OperatorStatus.FALLBACK if fell_back else OperatorStatus.NATIVE
    return OperatorStatus.PARTIAL if seen & {*_PASSES, Outcome.FLAKY} else OperatorStatus.FAILING


def architectures_of(
    rows: Iterable[ResultRow],
    *,
    observed: bool,
    known: Collection[str] = (),
    recorded: ArchitectureCalls | None = None,
) -> Architectures:
    """Judge the tests of architectures of one run; rows of other tests are left out.

    ``observed`` tells whether a probe looked for fallbacks, ``known`` are names of ATen's operators (``histc``).
    ``recorded`` is the record of what architectures call, None where there is none for the run's torch.
    """
    found: defaultdict[str, dict[str, Phase]] = defaultdict(dict)
    for row in rows:
        if row.architecture is not None:
            phase = _phase(row, known)
            found[row.architecture][phase.name] = phase
    items = tuple(
        Architecture(
            name=name,
            status=architecture_status(
                (phase.outcome for phase in as_it_is(phases)),
                fell_back=any(phase.fallback for phase in as_it_is(phases)),
            ),
            phases=phases,
            recorded=None if recorded is None else recorded.overloads.get(name),
        )
        for name, phases in sorted(found.items())
    )
    record = "" if recorded is None else f"torch {recorded.torch} and transformers {recorded.transformers}"
    return Architectures(items, hindrances(items), observed, record)


def _phase(row: ResultRow, known: Collection[str]) -> Phase:
    failed = row.outcome.is_bad and row.outcome is not Outcome.NOT_RUN
    return Phase(
        name=PHASES.get(row.template, row.template.removeprefix("test_")),
        test_id=row.test_id,
        suite=row.suite,
        outcome=row.outcome,
        fallback=row.fallback_ops,
        inside=row.inside_ops or (),
        reason=row.reason,
        message=row.message,
        signature=(row.signature or signature(row.message)) if failed else "",
        blamed=blamed(row.message, row.details, row.fallback_ops or (), known) if failed else (),
    )


def hindrances(items: Sequence[Architecture]) -> tuple[Hindrance, ...]:
    """Return what hinders architectures: first what blocks most, then what blocks most alone, then what falls back."""
    blocks: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    on_cpu: defaultdict[str, set[str]] = defaultdict(set)
    causes: dict[str, set[tuple[str, str, str]]] = {}
    for each in items:
        own = {(OPERATOR, name, "") for name in each.blockers}
        own |= {(FAILURE, phase.signature, str(phase.outcome)) for phase in each.unexplained}
        causes[each.name] = own
        for cause in own:
            blocks[cause].add(each.name)
        for name in each.fallback:
            on_cpu[name].add(each.name)
    keys = {*blocks, *((OPERATOR, name, "") for name in on_cpu)}
    found = []
    for kind, name, outcome in keys:
        blocked = blocks.get((kind, name, outcome), set())
        fallen = on_cpu[name] if kind == OPERATOR and name in on_cpu else set()
        found.append(
            Hindrance(
                kind=kind,
                name=name,
                outcome=outcome,
                blocks=tuple(sorted(blocked)),
                alone=tuple(sorted(one for one in blocked if len(causes[one]) == 1)),
                on_cpu=tuple(sorted(fallen - blocked)),
            )
        )
    return tuple(
        sorted(
            found,
            key=lambda one: (
                *(-len(one.blocks), -len(one.alone), -len(one.on_cpu)),
                *(one.kind != OPERATOR, one.name, one.outcome),
            ),
        )
    )


def is_about(overload: str, name: str) -> bool:
    """Tell whether something said of ``name`` (an overload, or an operator of ATen's) is said of this overload."""
    return overload == name or ("::" not in name and packet_of(overload) == name)


def failing_alike(found: Architectures) -> Callable[[str], frozenset[str]]:
    """Return what tells which architectures fail with a signature, or in a way that is about an overload it names."""
    index: defaultdict[str, set[str]] = defaultdict(set)
    for each in found.items:
        for phase in each.phases.values():
            if phase.failed:
                for key in (phase.signature, *phase.blamed):
                    index[key].add(each.name)

    def alike(text: str) -> frozenset[str]:
        return frozenset().union(*(index.get(key, ()) for key in (text, *named_overloads(text))))

    return alike


def newest_with_architectures(
    run: RunRow, runs: Iterable[RunRow], read: Callable[[int], Iterable[ResultRow]]
) -> tuple[RunRow, list[ResultRow]] | None:
    """Return the run to ask about architectures and its rows of them: the run itself, or the newest one of its device.

    A run of all architectures comes before one that was limited, a whole one before a part. Runs without a result of
    an architecture have nothing to say, and neither have runs of an emulated device that was told something else, such
    as to fail; None where no run is left.
    """
    alike = runs_beside(run, runs)
    alike.sort(key=lambda other: (is_whole(other) and not other.selection, is_whole(other), other.id), reverse=True)
    for other in (run, *alike):
        if Suite.MODELS.value not in other.suites:
            continue
        rows = list(read(other.id))
        if any(row.outcome is not Outcome.NOT_RUN for row in rows):
            return other, rows
    return None


def hindered_by_operators(
    found: Architectures, aten_names: Mapping[str, str], reached: Mapping[str, Sequence[str]]
) -> dict[str, frozenset[str]]:
    """Return for each operator the architectures that do not run natively because of an overload that is its own.

    ``aten_names`` has the ATen name of each operator, ``reached`` what its forward reaches (``own_operators``).
    """
    concerned = {each.name: each.concerned for each in found.hindrances if each.kind == OPERATOR}
    hindered: defaultdict[str, set[str]] = defaultdict(set)
    for name, operators in own_operators(concerned, aten_names, reached).items():
        for operator in operators:
            hindered[operator].update(concerned[name])
    return {operator: frozenset(names) for operator, names in hindered.items()}
