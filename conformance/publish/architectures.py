"""Hold what is known of architectures against operators and overloads: which call them, and which they block."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.architectures import OPERATOR, Architectures, is_about
from conformance.analysis.causes import own_operators
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
    """The architectures known to call an overload or operator: those that it blocks, and the others; sorted."""

    blocked: tuple[str, ...]
    others: tuple[str, ...]


def callers_of(found: Architectures, names: Iterable[str]) -> Callers:
    """Return the architectures that are known to call any of the overloads, or operators of ATen's."""
    wanted = tuple(names)

    def concerns(said: Iterable[str]) -> bool:
        return any(is_about(name, one) or is_about(one, name) for one in said for name in wanted)

    blocked = tuple(each.name for each in found.items if concerns(each.blockers))
    return Callers(
        blocked, tuple(each.name for each in found.items if concerns(each.calls) and each.name not in blocked)
    )


def called_overloads(findings: Findings) -> frozenset[str]:
    """Return the overloads that architectures are known to call."""
    items = findings.models.found.items if findings.models else ()
    return frozenset(name for each in items for name in each.calls if "::" in name)


def by_overload(findings: Findings, overloads: Iterable[str]) -> dict[str, Callers]:
    """Return for each overload that an architecture is known to call which ones do."""
    if findings.models is None:
        return {}
    found = findings.models.found
    exact = {name for each in found.items for name in each.calls}
    packets = {name for name in exact if "::" not in name}
    return {
        overload: callers_of(found, [overload])
        for overload in overloads
        if overload in exact or any(is_about(overload, packet) for packet in packets)
    }


def by_operator(findings: Findings, forward: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return for each operator the overloads called by architectures whose own tests are its tests.

    Those are the operators of the overload's name, or without any the ones that reach it and the fewest others.
    """
    if findings.models is None:
        return {}
    called = {name for each in findings.models.found.items for name in each.calls}
    aten_names = {operator.name: operator.aten_name for operator in findings.operators if operator.aten_name}
    owned: defaultdict[str, list[str]] = defaultdict(list)
    for name, operators in own_operators(called, aten_names, forward).items():
        for operator in operators:
            owned[operator].append(name)
    return {operator: tuple(names) for operator, names in owned.items()}


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
