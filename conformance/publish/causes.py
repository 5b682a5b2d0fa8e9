"""Rank what keeps operators and modules from running natively: the order in which to fix it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance.analysis.architectures import failing_alike
from conformance.analysis.signature import signature
from conformance.publish.architectures import hindered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from conformance.analysis.architectures import Architectures
    from conformance.publish.findings import OverloadFinding, Subject
    from conformance.store import ResultRow

FAILURE = "failure"
ON_CPU = "fallback"

Named = tuple[str, str]
"""A noun and the name of an operator or module."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing to fix: failures with one signature and outcome, or an overload that runs on the CPU.

    ``title`` is the signature or the overload, ``outcome`` that of the failures. ``subjects`` are the operators and
    modules that it concerns, sorted; ``alone`` are those of them that nothing else keeps from being native.
    ``architectures`` are those that it keeps from running natively, None where no run has results of any.
    """

    kind: str
    title: str
    outcome: str
    tests: int
    subjects: tuple[Named, ...]
    alone: tuple[Named, ...]
    architectures: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, order=True)
class FailureKey:
    """What makes two failures one cause."""

    signature: str
    outcome: str


@dataclass(slots=True)
class Blame:
    """Which causes each operator and module has; filled while the failures of a run are read once."""

    failures: defaultdict[FailureKey, set[Named]]
    tests: defaultdict[FailureKey, int]

    @classmethod
    def empty(cls) -> Blame:
        """Return one that blames nothing."""
        return cls(defaultdict(set), defaultdict(int))

    def noting(self, rows: Iterable[ResultRow]) -> Iterator[ResultRow]:
        """Pass rows of failures on, and keep what each says about its operator or module."""
        for row in rows:
            key = FailureKey(row.signature or signature(row.message), str(row.outcome))
            self.tests[key] += 1
            if row.op:
                self.failures[key].add(("operator", row.op))
            elif row.module:
                self.failures[key].add(("module", row.module))
            yield row


def ranked_causes(
    blame: Blame,
    overloads: Iterable[OverloadFinding],
    subjects: Iterable[Subject],
    *,
    architectures: Architectures | None = None,
) -> tuple[Cause, ...]:
    """Return all causes, those first whose repair alone makes most operators and modules native.

    Then count the operators and modules it concerns, then the architectures that it keeps from running natively, then
    its tests.
    """
    alike = None if architectures is None else failing_alike(architectures)
    on_cpu: defaultdict[str, set[Named]] = defaultdict(set)
    for subject in subjects:
        for overload in subject.overall.overloads:
            on_cpu[overload].add((subject.noun, subject.name))
    causes_of: defaultdict[Named, int] = defaultdict(int)
    for concerned in (*blame.failures.values(), *on_cpu.values()):
        for named in concerned:
            causes_of[named] += 1
    found = [
        replace(
            _cause(FAILURE, key.signature, key.outcome, tests, blame.failures.get(key, set()), causes_of),
            architectures=None if alike is None else tuple(sorted(alike(key.signature))),
        )
        for key, tests in blame.tests.items()
    ]
    found += [
        replace(
            _cause(ON_CPU, each.overload, "", each.tests, on_cpu.get(each.overload, set()), causes_of),
            architectures=hindered(architectures, each.overload),
        )
        for each in overloads
    ]
    return tuple(sorted(found, key=_urgency))


def _cause(
    kind: str, title: str, outcome: str, tests: int, concerned: set[Named], causes_of: Mapping[Named, int]
) -> Cause:
    subjects = tuple(sorted(concerned, key=lambda named: (named[1], named[0])))
    return Cause(
        kind=kind,
        title=title,
        outcome=outcome,
        tests=tests,
        subjects=subjects,
        alone=tuple(named for named in subjects if causes_of[named] == 1),
    )


def _urgency(cause: Cause) -> tuple[int, int, int, int, str, str, str]:
    weights = (-len(cause.alone), -len(cause.subjects), -len(cause.architectures or ()), -cause.tests)
    return (*weights, cause.kind, cause.title, cause.outcome)
