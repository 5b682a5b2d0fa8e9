"""The data of the front page, of the failures and of what words and figures mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.publish.charts import Bar, Tally
    from conformance.publish.curves import Chart
    from conformance.publish.marks import Mark
    from conformance.publish.pages import BreakdownTable, Fact, Headline, Link


@dataclass(frozen=True, slots=True)
class CauseRow:
    """One thing to fix: what it is, whom it concerns, and how many operators and modules its repair alone makes native.

    ``kind`` is ``failure`` or ``fallback``; ``href`` leads to its place among the failures or the overloads.
    ``architectures`` is how many it keeps from running natively, None where no run has results of any.
    """

    kind: str
    mark: Mark
    title: str
    href: str
    alone: int
    concerned: int
    tests: int
    subjects: tuple[Link, ...]
    rest: tuple[Link, ...]
    architectures: int | None = None


@dataclass(frozen=True, slots=True)
class ChangeCount:
    """How many tests changed in one way, with the place where they are listed."""

    mark: Mark
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class SubjectChange:
    """An operator or module whose status differs between two runs."""

    link: Link
    before: Mark
    after: Mark


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed since the run before; ``sentence`` says it in words, also where nothing did or can be said."""

    sentence: str
    counts: tuple[ChangeCount, ...]
    worse: tuple[SubjectChange, ...]
    worse_more: int
    better: tuple[SubjectChange, ...]
    better_more: int


@dataclass(frozen=True, slots=True)
class IndexPage:
    """The front page: one run at a glance.

    ``partial`` is what stands in place of a headline where the run may not make one. A curve is None where there are
    not two runs to draw it from; ``no_trend`` and ``no_burn_down`` say so then. ``models`` says how many architectures
    run as they are, and ``models_blocked`` what blocks most of them.
    """

    facts: tuple[Fact, ...]
    partial: str
    operators: Headline
    modules: Headline | None
    tests: str
    planned: int
    outcomes: tuple[Tally, ...]
    outcome_bar: Bar
    trend: Chart | None
    no_trend: str
    burn_down: Chart | None
    no_burn_down: str
    changes: Changes
    causes: tuple[CauseRow, ...]
    causes_more: int
    models: str
    models_blocked: Link | None
    operator_tables: tuple[BreakdownTable, ...]
    test_tables: tuple[BreakdownTable, ...]
    fallback_observed: bool


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Tests that failed with the same signature and outcome, and the first of them by id.

    ``message`` has the lines of the first one's message that say more than the signature. ``since`` says since which
    run the first one has failed.
    """

    anchor: str
    mark: Mark
    signature: str
    message: str
    tests: int
    subjects: tuple[Link, ...]
    rest: tuple[Link, ...]
    example: Link
    command: str
    since: str


@dataclass(frozen=True, slots=True)
class FailuresPage:
    """Every signature of the run."""

    groups: tuple[FailureGroup, ...]
    outcomes: tuple[Tally, ...]
    more: int
    tests: int
    total: int


@dataclass(frozen=True, slots=True)
class Term:
    """A mark with its definition."""

    mark: Mark
    definition: str


@dataclass(frozen=True, slots=True)
class Denominator:
    """A figure that others are divided by: its name, its value in this run, and what it counts."""

    name: str
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class MethodPage:
    """What the words and figures of the site mean, and where programs find them."""

    architectures: tuple[Term, ...]
    statuses: tuple[Term, ...]
    outcomes: tuple[Term, ...]
    cells: tuple[Term, ...]
    no_compiled: tuple[Term, ...]
    changes: tuple[Term, ...]
    registered: tuple[Term, ...]
    measured: tuple[Term, ...]
    entries: tuple[tuple[str, str], ...]
    search: tuple[tuple[str, str], ...]
    files: tuple[tuple[Link, str], ...]
    probe: str
    denominators: tuple[Denominator, ...]
    emulated: bool
    device: str
