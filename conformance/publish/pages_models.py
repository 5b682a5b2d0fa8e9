"""The data of the page about architectures, and of what other pages say about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.publish.charts import Bar, Tally
    from conformance.publish.marks import Mark
    from conformance.publish.pages import Link
    from conformance.publish.pages_subjects import Cell


@dataclass(frozen=True, slots=True)
class ArchitectureRow:
    """One architecture; ``cells`` follow the page's phases.

    ``blockers`` are what its failures are about, ``fallback`` the overloads that ran on the CPU. ``message`` is that of
    its worst test, ``signature`` leads to all failures of that cause, ``command`` repeats that test (empty where all of
    its tests passed natively). ``note`` says why it was skipped.
    ``calls`` are the places, in the page's list, of the overloads that it is known to call.
    """

    anchor: str
    name: str
    mark: Mark
    cells: tuple[Cell, ...]
    blockers: tuple[Link, ...]
    fallback: tuple[Link, ...]
    calls: str
    note: str
    message: str
    signature: Link | None
    test: Link
    command: str


@dataclass(frozen=True, slots=True)
class HindranceRow:
    """One thing that keeps architectures from running natively: how many it blocks, and in how many it falls back."""

    mark: Mark
    title: str
    href: str
    blocks: int
    alone: int
    on_cpu: int
    architectures: tuple[Link, ...]
    rest: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class ModelsPage:
    """The table of all architectures that a run planned.

    ``no_data`` says why there is nothing, and everything else is empty then. ``other_run`` says which run the figures
    are of where it is not the one that the site shows. ``unknown`` says what is not recorded,
    ``command`` repeats any test, ``calls`` are all overloads that any architecture is known to call.
    """

    no_data: str
    headline: str
    share: str
    evidence: str
    other_run: str
    unknown: tuple[str, ...]
    bar: Bar | None
    tallies: tuple[Tally, ...]
    letters: str
    phases: tuple[str, ...]
    calls: tuple[str, ...]
    command: str
    hindrances: tuple[HindranceRow, ...]
    hindrances_more: int
    rows: tuple[ArchitectureRow, ...]


@dataclass(frozen=True, slots=True)
class OperatorModels:
    """What is known of the architectures that call an operator: those that it blocks, and all others that call it.

    ``sentence`` says how many they are and what is not known, also where nothing is.
    """

    sentence: str
    blocked: tuple[Link, ...]
    blocked_rest: tuple[Link, ...]
    calling: tuple[Link, ...]
    calling_rest: tuple[str, ...]
