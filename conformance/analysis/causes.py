"""What to fix next: causes, ranked by what would be free of the skiplist if each were gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from conformance.skiplist.observed import Evidence


@dataclass(frozen=True, slots=True)
class ListedTest:
    """One listed test of a run: its entry, what it is about, how it failed, and what the run says about the entry.

    ``signature`` is empty for a test that left no failure text, such as one that was not run. ``architectures`` are
    those that do not run natively because of what the test is about, None where no run has results of any.
    """

    entry: str
    op: str | None
    module: str | None
    signature: str
    evidence: Evidence
    architectures: frozenset[str] | None = None


class Rank(str, Enum):
    """What causes are ranked by first."""

    TESTS = "tests"
    OPERATORS = "operators"
    CORE = "core"
    ARCHITECTURES = "architectures"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Cause:
    """What would be free if one cause were gone.

    ``tests`` are its listed tests; of those ``stale`` pass already. An operator (or module) is free when no other
    cause keeps a test of it on the list; ``touched`` are the operators with at least one of the tests. ``core`` are the
    overloads of Core ATen whose own operators are all free then, None where they are not known. ``architectures`` are
    those that do not run natively because of what its tests are about, passing ones left out; None where no run has
    results of any.
    """

    name: str
    tests: int
    stale: int
    touched: int
    operators: tuple[str, ...]
    modules: tuple[str, ...]
    core: tuple[str, ...] | None
    architectures: tuple[str, ...] | None = None


def rank_causes(
    tests: Iterable[ListedTest],
    cause_of: Callable[[ListedTest], str],
    *,
    core: Mapping[str, Sequence[str]] | None = None,
    by: Rank = Rank.TESTS,
) -> tuple[Cause, ...]:
    """Return the causes of listed tests, the one that frees most first; a test whose cause is "" has none to rank.

    ``core`` has the own operators of each overload of Core ATen (``own_operators``).
    """
    listed = list(tests)
    counts: Counter[str] = Counter()
    stale: Counter[str] = Counter()
    holding: dict[tuple[str, str], set[str]] = {}
    hindered: dict[str, set[str]] = {}
    for test in listed:
        cause = cause_of(test)
        if cause:
            counts[cause] += 1
            stale[cause] += test.evidence is Evidence.PASSES
            if test.architectures is not None:
                hindered.setdefault(cause, set()).update(() if test.evidence is Evidence.PASSES else test.architectures)
        for noun, name in (("op", test.op), ("module", test.module)):
            if name is not None:
                holding.setdefault((noun, name), set()).add(cause)
    touched: Counter[str] = Counter()
    free: dict[tuple[str, str], list[str]] = {}
    for (noun, name), causes in sorted(holding.items()):
        touched.update(causes if noun == "op" else ())
        if len(causes) == 1:
            free.setdefault((noun, next(iter(causes))), []).append(name)
    freed_core = _freed_core(holding, core) if core is not None else None
    found = [
        Cause(
            name=cause,
            tests=count,
            stale=stale[cause],
            touched=touched[cause],
            operators=tuple(free.get(("op", cause), ())),
            modules=tuple(free.get(("module", cause), ())),
            core=None if freed_core is None else tuple(freed_core.get(cause, ())),
            architectures=tuple(sorted(hindered[cause])) if cause in hindered else None,
        )
        for cause, count in counts.items()
    ]
    return tuple(sorted(found, key=lambda cause: (*_weights(cause, by), cause.name)))


def _weights(cause: Cause, by: Rank) -> tuple[int, ...]:
    weights = {
        Rank.TESTS: -cause.tests,
        Rank.OPERATORS: -len(cause.operators),
        Rank.CORE: -len(cause.core or ()),
        Rank.ARCHITECTURES: -len(cause.architectures or ()),
    }
    return (weights.pop(by), *weights.values())


def _freed_core(holding: Mapping[tuple[str, str], set[str]], core: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return for each cause the overloads whose own operators it alone holds back, and it does hold one back."""
    freed: dict[str, list[str]] = {}
    for overload, operators in sorted(core.items()):
        causes = {cause for operator in operators for cause in holding.get(("op", operator), ())}
        if len(causes) == 1:
            freed.setdefault(next(iter(causes)), []).append(overload)
    return freed


def own_operators(
    core: Iterable[str], aten_names: Mapping[str, str], reached: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return for each overload of Core ATen the operators whose tests are tests of it.

    ``aten_names`` has the ATen name of each operator, ``reached`` what its forward reaches. Most operators
    reach many: that ``linalg.det`` multiplies does not make it a test of ``aten::mul.Tensor``. So these are the
    operators of the overload's name, or without any those that reach it and the fewest others of Core ATen. An overload
    that neither holds for has none.
    """
    wanted = set(core)
    named: dict[str, list[str]] = {}
    for operator, aten_name in sorted(aten_names.items()):
        named.setdefault(aten_name, []).append(operator)
    narrow: dict[str, tuple[int, list[str]]] = {}
    for operator, overloads in sorted(reached.items()):
        within = wanted.intersection(overloads)
        for overload in within:
            size, operators = narrow.get(overload, (len(within) + 1, []))
            if len(within) < size:
                narrow[overload] = (len(within), [operator])
            elif len(within) == size:
                operators.append(operator)
    return {
        overload: tuple(named.get(_packet(overload)) or narrow.get(overload, (0, []))[1]) for overload in sorted(wanted)
    }


def _packet(overload: str) -> str:
    """Return ``add`` of ``aten::add.Tensor``."""
    return overload.rpartition("::")[2].partition(".")[0]
