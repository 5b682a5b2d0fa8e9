"""The data of every page, ready to print: templates format nothing and decide nothing.

A template sees two names: ``frame`` (a Frame) and ``page`` (the page's own dataclass). Strings are plain text; the
renderer escapes them. Paths are relative to the site's root; a template puts ``frame.root`` before them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.publish.charts import Bar, Tally
    from conformance.publish.marks import Mark


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a list of facts: what it is, and its value."""

    name: str
    value: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """Something no reader of the page may overlook; ``kind`` is ``emulated``, ``warning`` or ``note``."""

    kind: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A text with the page it leads to; ``href`` is empty where there is none."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class RunMark:
    """What every page says about the run it was made from."""

    id: int
    device: str
    device_name: str
    emulated: bool
    torch_version: str
    harness_version: str
    date: str
    state: str


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds every page.

    ``root`` leads from the page to the site's root (``""`` or ``"../"``); ``section`` is the entry of the navigation
    that is current, ``sections`` all of them. ``find`` is the table that names are looked up in, empty without one.
    """

    root: str
    section: str
    title: str
    run: RunMark
    notices: tuple[Notice, ...]
    sections: tuple[Link, ...]
    find: str


@dataclass(frozen=True, slots=True)
class Headline:
    """A coverage figure in words: ``sentence`` names numerator, denominator and what is untested.

    ``share`` is the same in percent, empty where there is nothing to divide; ``evidence`` says which tests it rests on,
    ``note`` what cannot be tested at all.
    """

    share: str
    evidence: str
    note: str
    sentence: str
    bar: Bar
    tallies: tuple[Tally, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One row of a table that splits operators or tests by a key; ``counts`` follow the table's marks."""

    key: str
    href: str
    total: int
    counts: tuple[int, ...]
    fallback: int | None
    bar: Bar


@dataclass(frozen=True, slots=True)
class BreakdownTable:
    """A table that splits operators or tests by a key; each row's counts add up to its total."""

    id: str
    title: str
    caption: str
    key_name: str
    total_name: str
    marks: tuple[Mark, ...]
    rows: tuple[Breakdown, ...]
    fallback_name: str = ""


@dataclass(frozen=True, slots=True)
class FallbackOverload:
    """An ATen overload that ran on the CPU inside the operator-under-test window."""

    overload: str
    tests: int
    operators: tuple[Link, ...]
    rest: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class FallbackOperator:
    """An operator that fell back in at least one test, with the overloads that did."""

    link: Link
    mark: Mark
    tests: int
    overloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Tests that failed with the same signature and outcome, and the first of them by id.

    ``message`` has the lines of the first one's message that say more than the signature.
    """

    mark: Mark
    signature: str
    message: str
    tests: int
    subjects: tuple[Link, ...]
    rest: tuple[Link, ...]
    example: Link
    command: str


@dataclass(frozen=True, slots=True)
class IndexPage:
    """The front page: one run at a glance."""

    facts: tuple[Fact, ...]
    operators: Headline
    modules: Headline | None
    tests: str
    planned: int
    outcomes: tuple[Tally, ...]
    outcome_bar: Bar
    operator_tables: tuple[BreakdownTable, ...]
    test_tables: tuple[BreakdownTable, ...]
    fallback_observed: bool
    fallback_overloads: tuple[FallbackOverload, ...]
    fallback_operators: tuple[FallbackOperator, ...]
    fallback_operators_more: int
    fallback_shown: int
    failures: tuple[FailureGroup, ...]
    failures_more: int
    find: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FailuresPage:
    """Every signature of the run."""

    groups: tuple[FailureGroup, ...]
    more: int
    tests: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a matrix; ``title`` says in words what its letter means, ``href`` leads to its test if any."""

    mark: Mark
    title: str
    href: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One operator or module in the table of all; ``cells`` follow the page's dtypes."""

    link: Link
    group: str
    mark: Mark
    passed: int
    planned: int
    ratio: str
    aten_name: str
    overloads: tuple[str, ...]
    overloads_more: int
    overloads_all: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class SubjectsPage:
    """The table of all operators, or of all modules: tested or not."""

    noun: str
    plural: str
    heading: str
    intro: str
    dtypes: tuple[str, ...]
    rare: frozenset[str]
    legend: tuple[Tally, ...]
    order: str
    groups: tuple[str, ...]
    rows: tuple[SubjectRow, ...]
    others: tuple[Link, ...]
    other_noun: str


@dataclass(frozen=True, slots=True)
class DtypeRow:
    """The status of one operator or module for one dtype."""

    dtype: str
    mark: Mark
    declared: bool
    passed: int
    planned: int
    overloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One template; ``cells`` follow the matrix's dtypes."""

    template: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class TestRow:
    """One planned test with what was observed; ``overloads`` is None where no probe looked.

    ``stack`` is where the process was when it died, empty for tests whose process lived.
    """

    __test__ = False

    anchor: str
    test_id: str
    mark: Mark
    duration: str
    samples: str
    failing_sample: str
    reason: str
    message: str
    stack: str
    signature: str
    overloads: tuple[str, ...] | None
    outside: tuple[str, ...] | None
    attempt: int
    command: str


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """Why tests were skipped or expected to fail, and how many for this reason."""

    reason: str
    tests: int


@dataclass(frozen=True, slots=True)
class SubjectPage:
    """Everything about one operator or one module."""

    noun: str
    name: str
    mark: Mark
    verdict: str
    facts: tuple[Fact, ...]
    tallies: tuple[Tally, ...]
    planned: int
    bar: Bar
    dtypes: tuple[DtypeRow, ...]
    matrix_dtypes: tuple[str, ...]
    matrix: tuple[MatrixRow, ...]
    matrix_legend: tuple[Mark, ...]
    tests: tuple[TestRow, ...]
    observed: int
    overloads: tuple[str, ...]
    outside: tuple[str, ...]
    reasons: tuple[ReasonRow, ...]
    all: Link
    previous: Link | None
    following: Link | None


@dataclass(frozen=True, slots=True)
class TestsPage:
    """The tests that have neither operator nor module: by file, and each of them, the worst first."""

    __test__ = False

    total: int
    files: BreakdownTable
    tests: tuple[TestRow, ...]


@dataclass(frozen=True, slots=True)
class RunListRow:
    """One run of the database."""

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


@dataclass(frozen=True, slots=True)
class RunsPage:
    """All runs of the database, the newest first."""

    rows: tuple[RunListRow, ...]


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
    """What the words and figures of the site mean."""

    statuses: tuple[Term, ...]
    outcomes: tuple[Term, ...]
    cells: tuple[Term, ...]
    probe: str
    denominators: tuple[Denominator, ...]
    emulated: bool
    device: str


Json: TypeAlias = "bool | int | float | str | list[Json] | Mapping[str, Json] | None"

PageData: TypeAlias = "IndexPage | FailuresPage | SubjectsPage | SubjectPage | TestsPage | RunsPage | MethodPage"


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page to be rendered: where it goes, with which template, and from what."""

    path: str
    template: str
    frame: Frame
    page: PageData


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A file for programs; ``document`` starts with the version of its form."""

    path: str
    document: Json


SiteFile: TypeAlias = "HtmlPage | JsonFile"
