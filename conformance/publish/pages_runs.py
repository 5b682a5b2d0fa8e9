"""The data of the pages about runs: the list of them, comparisons, and the skiplist in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.publish.charts import Bar, Tally
    from conformance.publish.curves import Chart
    from conformance.publish.marks import Mark
    from conformance.publish.pages import Link
    from conformance.publish.pages_overview import SubjectChange


@dataclass(frozen=True, slots=True)
class RunListRow:
    """One run of the database; ``compare`` leads to its comparison with the run shown, where there is one."""

    id: int
    key: str
    shown: bool
    device: str
    device_name: str
    emulated: bool
    torch_version: str
    harness_version: str
    date: str
    duration: str
    suites: str
    selection: str
    state: str
    complete: bool
    planned: int
    tallies: tuple[Tally, ...]
    bar: Bar
    compare: str


@dataclass(frozen=True, slots=True)
class RunsPage:
    """All runs of the database, the newest first."""

    rows: tuple[RunListRow, ...]


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run that can be compared, with everything its option says."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact about the two runs that differs."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedTest:
    """One test whose outcome differs."""

    test: Link
    before: Mark
    after: Mark


@dataclass(frozen=True, slots=True)
class ChangedTests:
    """The tests that changed in one way; ``more`` are not listed."""

    anchor: str
    mark: Mark
    tests: tuple[ChangedTest, ...]
    more: int

    @property
    def count(self) -> int:
        """Return all of them."""
        return len(self.tests) + self.more


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs held against each other."""

    before: RunChoice
    after: RunChoice
    sentence: str
    differences: tuple[Difference, ...]
    subjects: tuple[SubjectChange, ...]
    groups: tuple[ChangedTests, ...]


@dataclass(frozen=True, slots=True)
class ComparePage:
    """The last run against the one before; the script can compare any two.

    ``nothing`` says why there is no comparison where there is none.
    """

    comparison: Comparison | None
    nothing: str
    runs: tuple[RunChoice, ...]
    data: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkiplistSplit:
    """The entries that share a category, an owner or an age."""

    key: str
    entries: int
    tests: int
    passing: int
    without_reason: int


@dataclass(frozen=True, slots=True)
class SkiplistTable:
    """The list split by one property."""

    id: str
    title: str
    key_name: str
    rows: tuple[SkiplistSplit, ...]


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry in force; ``age`` is in days at the date of the run, None where no date is known."""

    anchor: str
    entry: str
    expect: str
    category: str
    reason: str
    link: Link | None
    owner: str
    added: str
    expires: str
    expired: bool
    age: int | None
    guess: bool
    tests: int
    passing: int
    unseen: int
    state: Mark


@dataclass(frozen=True, slots=True)
class SkiplistPage:
    """The skiplist in force in the run; ``announced`` is what was published about the device's skips, if anything."""

    lead: str
    announced: str
    chart: Chart | None
    no_chart: str
    states: tuple[Tally, ...]
    tables: tuple[SkiplistTable, ...]
    rows: tuple[EntryRow, ...]
    more: int
    without_reason: int
    guesses: int
