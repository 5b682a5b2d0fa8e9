"""Hold what a backend registered for an overload beside what was measured of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.model.registration import RegistrationKind
from conformance.publish.architectures import by_overload, called_overloads
from conformance.publish.marks import Mark, registration_mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.model.overload import Phase
    from conformance.publish.architectures import Callers
    from conformance.publish.findings import Findings

ON_CPU = Mark(
    "on_cpu",
    "on the CPU",
    "F",
    "fallback",
    "At least one test saw it run on the CPU inside the operator-under-test window.",
)
NOT_ON_CPU = Mark(
    "not_on_cpu",
    "not on the CPU",
    "N",
    "native",
    "Operators that reach it passed tests that a probe watched, and none of them saw it on the CPU.",
)
UNMEASURED = Mark(
    "unmeasured",
    "no test",
    "?",
    "untested",
    "No test that passed is known to reach it.",
)
UNWATCHED = Mark(
    "unwatched", "not observed", "?", "untested", "No probe looked for fallbacks in this run, so nothing is known."
)
MEASURED_MARKS = (NOT_ON_CPU, ON_CPU, UNMEASURED)

# From what serves an operator worst to what serves it best.
_WORST_FIRST = ("missing", "fallback", "", "kernel", "composite")


@dataclass(frozen=True, slots=True)
class Measured:
    """One overload: what is registered for it (empty: not recorded), and what tests saw.

    ``operators`` are those known to reach it or seen to fall back to it, sorted; ``tests`` saw it on the CPU. ``core``
    is None where no snapshot of the torch version says whether it belongs to Core ATen. ``callers`` are architectures
    known to call it, None where none is known to.
    """

    overload: str
    core: bool | None
    registered: str
    measured: Mark
    tests: int
    operators: tuple[str, ...]
    callers: Callers | None = None


def measured_overloads(findings: Findings) -> tuple[Measured, ...]:
    """Return every overload that the snapshot, the backend or a test knows, by name."""
    snapshot = findings.snapshot
    known = {overload.name: overload.is_core for overload in snapshot.overloads} if snapshot else {}
    on_cpu = {found.overload: found for found in findings.overloads}
    reaching = snapshot.exercised() if snapshot else {}
    passed = {operator.name for operator in findings.operators if operator.overall.passed}
    found = []
    names = sorted({*known, *findings.registered, *on_cpu, *called_overloads(findings)})
    callers = by_overload(findings, names)
    for name in names:
        seen = on_cpu.get(name)
        operators = tuple(sorted({*reaching.get(name, ()), *(seen.operators if seen else ())}))
        found.append(
            Measured(
                overload=name,
                core=known.get(name) if snapshot else None,
                registered=findings.registered.get(name, ""),
                measured=_measured(seen is not None, operators, passed, observed=findings.fallback_observed),
                tests=seen.tests if seen else 0,
                operators=operators,
                callers=callers.get(name),
            )
        )
    return tuple(found)


def _measured(seen: bool, operators: Iterable[str], passed: set[str], *, observed: bool) -> Mark:
    if seen:
        return ON_CPU
    if not observed:
        return UNWATCHED
    return NOT_ON_CPU if any(operator in passed for operator in operators) else UNMEASURED


@dataclass(frozen=True, slots=True)
class Reached:
    """An overload that an operator reaches: in which phases, and how it stands."""

    overload: str
    phases: tuple[str, ...]
    registered: Mark
    tests: int


def reached_by(
    phases: Mapping[Phase, Sequence[str]], fell_back: Mapping[str, int], registered: Mapping[str, str]
) -> tuple[Reached, ...]:
    """Return the overloads that an operator reaches by the snapshot, or fell back to, those on the CPU first."""
    seen: defaultdict[str, list[str]] = defaultdict(list)
    for phase, overloads in phases.items():
        for overload in overloads:
            seen[overload].append(str(phase))
    return tuple(
        Reached(
            overload=overload,
            phases=tuple(seen.get(overload, ())),
            registered=registration_mark(registered.get(overload, "")),
            tests=fell_back.get(overload, 0),
        )
        for overload in sorted({*seen, *fell_back}, key=lambda name: (-fell_back.get(name, 0), name))
    )


def reached_phases(findings: Findings) -> Mapping[str, Mapping[Phase, Sequence[str]]]:
    """Return for each operator of the snapshot which overloads it reaches in which phase."""
    return {each.name: each.reached for each in findings.snapshot.operators} if findings.snapshot else {}


@dataclass(frozen=True, slots=True)
class Served:
    """How the overloads of an operator's forward are registered: the worst kind, and how many of them have it."""

    mark: Mark
    count: int
    total: int

    @property
    def text(self) -> str:
        """Return how many of the overloads are of that kind, empty where all are."""
        return "" if self.count == self.total else f"{self.count}/{self.total}"


def served(kinds: Sequence[str]) -> Served | None:
    """Return the worst of the kinds; None where the operator is not known to reach any overload."""
    if not kinds:
        return None
    if all(kind == RegistrationKind.COMPOSITE.value for kind in kinds):
        worst = RegistrationKind.COMPOSITE.value
    else:
        worst = min(kinds, key=lambda kind: _WORST_FIRST.index(kind) if kind in _WORST_FIRST else -1)
    # A composite beside kernels needs nothing of its own: all that needs a kernel has one.
    count = len(kinds) if worst in ("kernel", "composite") else kinds.count(worst)
    return Served(registration_mark(worst), count, len(kinds))
