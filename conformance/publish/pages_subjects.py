"""The data of the pages about operators, modules, overloads and single tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.publish.charts import Bar, Tally
    from conformance.publish.heat_map import HeatMap
    from conformance.publish.marks import Mark
    from conformance.publish.pages import Breakdown, BreakdownTable, Fact, Link
    from conformance.publish.pages_models import OperatorModels
    from conformance.publish.tolerances import ToleranceLine


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a matrix; ``title`` says in words what its letter means, ``href`` leads to its test if any."""

    mark: Mark
    title: str
    href: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class CompiledCell:
    """The status of an operator or module in one mode of torch.compile, and what has to be said beside it."""

    mark: Mark
    aside: str


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One operator or module in the table of all; ``cells`` follow the page's dtypes.

    ``registered`` is the worst kind of registration among the overloads that its forward reaches, None where none is
    known; ``registered_text`` says how many have it, where not all do. ``compiled`` follows the page's modes.
    """

    link: Link
    group: str
    mark: Mark
    passed: int
    planned: int
    ratio: str
    aten_name: str
    registered: Mark | None
    registered_text: str
    overloads: tuple[str, ...]
    overloads_more: int
    overloads_all: str
    cells: tuple[Cell, ...]
    compiled: tuple[CompiledCell, ...]


@dataclass(frozen=True, slots=True)
class SubjectsPage:
    """The table of all operators, or of all modules: tested or not.

    ``modes`` are those of torch.compile that there are tests of; ``no_compiled`` says that there are none, with the
    command that gives them, and ``compiled_run`` which run they are of where it is not the one that the site shows.
    """

    noun: str
    plural: str
    heading: str
    intro: str
    dtypes: tuple[str, ...]
    rare: frozenset[str]
    legend: tuple[Tally, ...]
    letters: str
    groups: tuple[str, ...]
    registered: bool
    rows: tuple[SubjectRow, ...]
    picture: HeatMap | None
    modes: tuple[str, ...]
    no_compiled: str
    compile_command: str
    compiled_run: str


@dataclass(frozen=True, slots=True)
class OverloadRow:
    """One ATen overload; ``core`` is None where it is not known whether it belongs to Core ATen.

    ``blocks`` is how many architectures have a failure that is about it, ``others`` in how many more it is known to be
    called; ``architectures`` leads to them, empty where none is known to call it.
    """

    anchor: str
    name: str
    core: bool | None
    registered: Mark
    measured: Mark
    tests: int
    operators: tuple[Link, ...]
    rest: tuple[Link, ...]
    blocks: int
    others: int
    architectures: str


@dataclass(frozen=True, slots=True)
class CoreLine:
    """How the overloads of one kind stand: of all, and of Core ATen."""

    name: str
    total: int
    bar: Bar
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OverloadsPage:
    """The table of all ATen overloads; ``unknown`` says what is missing to know them all.

    ``despite_kernel`` is how many have a kernel registered and were seen on the CPU all the same. ``architectures``
    tells whether anything is known of architectures.
    """

    lead: str
    unknown: tuple[str, ...]
    tables: tuple[OverloadTable, ...]
    registered: bool
    despite_kernel: int
    architectures: bool
    measured: tuple[Tally, ...]
    rows: tuple[OverloadRow, ...]


@dataclass(frozen=True, slots=True)
class OverloadTable:
    """All overloads, or those of Core ATen, by what is registered or what was measured."""

    caption: str
    marks: tuple[Mark, ...]
    rows: tuple[CoreLine, ...]


@dataclass(frozen=True, slots=True)
class DtypeRow:
    """The status of one operator or module for one dtype."""

    dtype: str
    mark: Mark
    declared: bool
    title: str


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One template; ``cells`` follow the matrix's dtypes."""

    template: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class EarlierAttempt:
    """An attempt at a test that was not its last."""

    number: int
    mark: Mark
    message: str


@dataclass(frozen=True, slots=True)
class TestRow:
    """One planned test with what was observed; ``overloads`` is None where no probe looked.

    ``stack`` is where the process was when it died, empty for tests whose process lived. ``since`` says since which run
    the test has failed. ``entry`` is the skiplist's entry that speaks of it.
    """

    __test__ = False

    anchor: str
    test_id: str
    mark: Mark
    duration: str
    samples: str
    failing_sample: str
    tolerance: str
    reason: str
    message: str
    stack: str
    signature: Link | None
    overloads: tuple[str, ...] | None
    outside: tuple[str, ...] | None
    attempt: int
    attempts: tuple[EarlierAttempt, ...]
    since: str
    entry: Link | None
    command: str


@dataclass(frozen=True, slots=True)
class PlainRow:
    """A test of which there is little to say: its outcome is told by its group."""

    anchor: str
    test_id: str
    duration: str
    samples: str
    note: str


@dataclass(frozen=True, slots=True)
class PlainGroup:
    """The tests of one outcome that need no more than a line each; ``more`` are not listed."""

    mark: Mark
    rows: tuple[PlainRow, ...]
    more: int

    @property
    def count(self) -> int:
        """Return all of them."""
        return len(self.rows) + self.more


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """Why tests were skipped or expected to fail, and how many for this reason."""

    reason: str
    tests: int


@dataclass(frozen=True, slots=True)
class ReachedRow:
    """An overload that the operator reaches or fell back to; ``tests`` saw it on the CPU."""

    link: Link
    phases: str
    registered: Mark
    tests: int


@dataclass(frozen=True, slots=True)
class EntryLine:
    """An entry of the skiplist that speaks of tests of this operator or module."""

    link: Link
    expect: str
    category: str
    reason: str
    tests: int


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A run in which something changed: the status, or the outcomes of tests."""

    run: str
    before: Mark | None
    after: Mark | None
    text: str


@dataclass(frozen=True, slots=True)
class CompiledFailure:
    """A test that failed under torch.compile; ``anchor`` is empty where the page does not show it."""

    test_id: str
    anchor: str
    message: str


@dataclass(frozen=True, slots=True)
class CompiledRow:
    """What one mode of torch.compile made of an operator or module."""

    shapes: str
    mark: Mark
    aside: str
    tests: str
    graphs: str
    breaks: str
    recompilations: str
    time: str
    memory: str
    failure: CompiledFailure | None


@dataclass(frozen=True, slots=True)
class CompiledPart:
    """What a page says of torch.compile; ``no_data`` says why there is nothing, ``command`` how to get it.

    ``run`` says which run it is of where it is not the one that the site shows.
    """

    no_data: str
    command: str
    run: str
    rows: tuple[CompiledRow, ...]


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
    matrix: tuple[MatrixRow, ...]
    matrix_legend: tuple[Mark, ...]
    tolerances: tuple[ToleranceLine, ...]
    tests: tuple[TestRow, ...]
    tests_more: int
    plain: tuple[PlainGroup, ...]
    observed: int
    registered: bool
    reached: tuple[ReachedRow, ...]
    no_reached: str
    outside: tuple[str, ...]
    models: OperatorModels | None
    compiled: CompiledPart
    entries: tuple[EntryLine, ...]
    reasons: tuple[ReasonRow, ...]
    history: tuple[HistoryRow, ...]
    since: str
    command: str
    all: Link
    previous: Link | None
    following: Link | None


@dataclass(frozen=True, slots=True)
class ListedTest:
    """One test in the table of all tests."""

    mark: Mark
    test: Link
    subject: Link
    dtype: str
    duration: str


@dataclass(frozen=True, slots=True)
class TestsPage:
    """All tests of the run: without the script the worst of them, with it every one can be found.

    ``data`` names the files that the script reads.
    """

    __test__ = False

    total: int
    outcomes: tuple[Tally, ...]
    files: BreakdownTable | None
    rows: tuple[ListedTest, ...]
    data: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilePage:
    """The tests of one file that have neither operator nor module."""

    file: str
    total: int
    row: Breakdown
    marks: tuple[Mark, ...]
    tests: tuple[TestRow, ...]
    tests_more: int
    plain: tuple[PlainGroup, ...]
    command: str


@dataclass(frozen=True, slots=True)
class SlowGroup:
    """What took how long together; ``mean`` is the average of a test, ``share`` the part of the whole."""

    link: Link
    tests: int
    total: str
    mean: str
    share: str
    width: str


@dataclass(frozen=True, slots=True)
class SlowestPage:
    """Where the time of the run went."""

    lead: str
    tests: tuple[ListedTest, ...]
    templates: tuple[SlowGroup, ...]
    subjects: tuple[SlowGroup, ...]
