"""Hold what is known of architectures against operators and overloads: which call them, and which they block."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.architectures import OPERATOR, Architectures, is_about
from conformance.analysis.causes import own_operators
from conformance.analysis.named import packet_of
from conformance.publish.pages import Link
from conformance.publish.slugs import named_anchor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.publish.findings import Findings
    from conformance.store import RunRow

PAGE = "models.html"


@dataclass(frozen=True, slots=True)
class ModelsFinding:
    """The architectures of one run on the device of the run shown: that run, or the newest one that has any."""

    run: RunRow
    found: Architectures

    @property
    def total(self) -> int:
        """Return how many architectures the run planned, made or not."""
        return len(self.found.items)


@dataclass(frozen=True, slots=True)
class Callers:
    """The architectures known to call overloads or operators: those that they block, and the others; sorted.

    ``names`` are what is said to be called: in place of an overload that is not known the name of ATen's operator.
    """

    names: tuple[str, ...]
    blocked: tuple[str, ...]
    others: tuple[str, ...]


def called_overloads(findings: Findings) -> frozenset[str]:
    """Return the overloads that architectures are known to call."""
    items = findings.models.found.items if findings.models else ()
    return frozenset(name for each in items for name in each.calls if "::" in name)


def by_overload(findings: Findings, overloads: Iterable[str]) -> dict[str, Callers]:
    """Return for each overload that an architecture is known to call which ones do."""
    if findings.models is None:
        return {}
    calling, blocked = _index(findings.models.found)
    return {
        overload: _callers(calling, blocked, names)
        for overload in overloads
        if (names := [name for name in (overload, packet_of(overload)) if name in calling])
    }


def by_operator(findings: Findings, forward: Mapping[str, Sequence[str]]) -> dict[str, Callers]:
    """Return for each operator the overloads called by architectures that are its own, and which ones call them.

    An operator's own overloads are those of its name; an overload that no operator is named after is the own one of
    those that reach it and the fewest others.
    """
    if findings.models is None:
        return {}
    calling, blocked = _index(findings.models.found)
    aten_names = {operator.name: operator.aten_name for operator in findings.operators if operator.aten_name}
    owned: defaultdict[str, list[str]] = defaultdict(list)
    for name, operators in own_operators(calling, aten_names, forward).items():
        for operator in operators:
            owned[operator].append(name)
    return {operator: _callers(calling, blocked, names) for operator, names in owned.items()}


_Index = dict[str, set[str]]


def _index(found: Architectures) -> tuple[_Index, _Index]:
    """Return the architectures by what they are known to call, and by what blocks them."""
    calling: defaultdict[str, set[str]] = defaultdict(set)
    blocked: defaultdict[str, set[str]] = defaultdict(set)
    for each in found.items:
        for name in each.calls:
            calling[name].add(each.name)
        for name in each.blockers:
            blocked[name].add(each.name)
    return dict(calling), dict(blocked)


def _callers(calling: _Index, blocked: _Index, names: Iterable[str]) -> Callers:
    wanted = tuple(names)
    held = {one for name in wanted for one in blocked.get(name, ())}
    every = {one for name in wanted for one in calling.get(name, ())}
    return Callers(wanted, tuple(sorted(held)), tuple(sorted(every - held)))


def architecture_link(name: str) -> Link:
    """Return the way to an architecture's row."""
    return Link(name, f"{PAGE}#{named_anchor('m', name)}")


def hindered(found: Architectures | None, overload: str) -> tuple[str, ...] | None:
    """Return the architectures that do not run natively because of an overload; None where nothing is known of any."""
    if found is None:
        return None
    concerned = {
        name
        for each in found.hindrances
        if each.kind == OPERATOR and is_about(overload, each.name)
        for name in each.concerned
    }
    return tuple(sorted(concerned))
