"""What the pages are built from: the findings of one run, free of SQLite."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.publish.choice import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.analysis.coverage import Coverage
    from conformance.model.listed import ListedEntry
    from conformance.model.overload import Snapshot
    from conformance.publish.architectures import ModelsFinding
    from conformance.publish.changes import Step
    from conformance.publish.compiled import CompiledFinding
    from conformance.publish.listed import ListedCounts
    from conformance.publish.matrix import OutcomeMatrix
    from conformance.store import CountRow, ResultRow, RunRow

OPERATOR = "operator"
MODULE = "module"


@dataclass(frozen=True, slots=True)
class Standing:
    """The status of an operator or module over all its tests, or over those of one dtype, with its counts of tests."""

    status: str
    planned: int
    passed: int
    failed: int
    skipped: int
    xfailed: int
    crashed: int
    not_run: int
    flaky: int
    fallback: int
    overloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """An operator or a module (``noun`` tells which) of the inventory, tested or not.

    ``dtypes`` are those PyTorch declares for it; ``by_dtype`` also holds dtypes that were tested without being
    declared. ``group`` and ``aten_name`` are empty for modules. ``in_inventory`` is False for what was only tested.
    """

    noun: str
    name: str
    slug: str
    dtypes: tuple[str, ...]
    overall: Standing
    by_dtype: Mapping[str, Standing]
    group: str = ""
    aten_name: str = ""
    supports_autograd: bool | None = None
    supports_out: bool | None = None
    in_inventory: bool = True

    @property
    def undeclared(self) -> bool:
        """Tell whether PyTorch declares no dtype for it on this device, so that it cannot have a test of a dtype."""
        return self.in_inventory and not self.dtypes

    @property
    def href(self) -> str:
        """Return the path of its page from the site's root."""
        return f"{self.noun}s/{self.slug}.html"


@dataclass(frozen=True, slots=True)
class OverloadFinding:
    """An overload that fell back inside the window: in how many tests, and of which operators."""

    overload: str
    tests: int
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the statuses of all operators, or of all modules, rest on: the tests that have a result.

    ``dtypes`` leaves out tests without one.
    """

    tests: int
    templates: tuple[str, ...]
    dtypes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileFinding:
    """The tests of one file that have neither operator nor module, by outcome."""

    file: str
    slug: str
    counts: Mapping[str, int]

    @property
    def href(self) -> str:
        """Return the path of its page from the site's root."""
        return f"files/{self.slug}.html"


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at a test that was not its last."""

    number: int
    outcome: str
    message: str


@dataclass(frozen=True, slots=True)
class ListedRun:
    """The tests that a skiplist spoke of in one run, and how many of its entries were in force."""

    run_id: int
    entries: int
    counts: ListedCounts


@dataclass(frozen=True, slots=True)
class EntryFinding:
    """An entry of the skiplist in force, and what the run says of its tests."""

    entry: ListedEntry
    counts: ListedCounts


@dataclass(frozen=True, slots=True)
class History:
    """The run among the others of its database.

    ``series`` are the whole runs of its scope up to it, oldest first; it stands last unless it is not whole.
    ``selectable`` are all runs of the matrix. ``steps`` lead from each run of the series to the next. ``operators``
    has for each run of the series the names that its inventory declares, ``statuses`` those of the operators it tested.
    ``listed`` has those runs of the series that had a skiplist in force.
    """

    matrix: OutcomeMatrix
    series: Sequence[RunRow]
    selectable: Sequence[RunRow]
    steps: Sequence[Step]
    operators: Mapping[int, frozenset[str]]
    statuses: Mapping[int, Mapping[str, str]]
    listed: Sequence[ListedRun]

    @property
    def last_step(self) -> Step | None:
        """Return what changed since the run before, None where there is none to hold it against."""
        return self.steps[-1] if self.steps else None

    def run(self, number: int) -> RunRow:
        """Return a run of the matrix by its number."""
        return next(run for run in self.selectable if run.id == number)


@dataclass(frozen=True, slots=True)
class Findings:
    """One run with everything the site says about it.

    ``results_of`` gives the last attempt of each test of one subject and ``bad_results`` those of the whole run that
    failed, died or erred; ``file_results`` those of one file that have neither operator nor module, which ``files``
    counts. They read when called, so that a run of any size needs little memory. ``evidence`` has the nouns as keys.
    ``registered`` has what the backend registered for each overload, empty where nobody looked; ``snapshot`` is what is
    known of this torch version's overloads, None where no snapshot of it comes with the harness. ``attempts`` has the
    earlier attempts at tests that had several. ``durations_us`` (microseconds) has a place for each test of the
    history's matrix. ``models`` is None where no run of the device has a result of an architecture, ``compiled`` lacks
    the nouns of which none has a result under torch.compile.
    """

    run: RunRow
    runs: Sequence[RunRow]
    operators: Sequence[Subject]
    modules: Sequence[Subject]
    operator_coverage: Coverage
    module_coverage: Coverage
    by_suite: Sequence[CountRow]
    by_template: Sequence[CountRow]
    overloads: Sequence[OverloadFinding]
    results_of: Callable[[Subject], Iterator[ResultRow]]
    bad_results: Callable[[], Iterator[ResultRow]]
    file_results: Callable[[str], Iterator[ResultRow]]
    evidence: Mapping[str, Evidence]
    files: Sequence[FileFinding]
    history: History
    durations_us: Sequence[int]
    entries: Sequence[EntryFinding] = ()
    registered: Mapping[str, str] = field(default_factory=dict)
    snapshot: Snapshot | None = None
    attempts: Mapping[str, Sequence[Attempt]] = field(default_factory=dict)
    links: Mapping[tuple[str, str], str] = field(default_factory=dict)
    models: ModelsFinding | None = None
    compiled: Mapping[str, CompiledFinding] = field(default_factory=dict)

    @property
    def fallback_observed(self) -> bool:
        """Tell whether a probe looked for fallbacks; without one, nothing can be called native."""
        return bool(self.run.probe)

    def compiles(self, noun: str) -> bool:
        """Tell whether the run shown itself has results of operators, or modules, under torch.compile."""
        found = self.compiled.get(noun)
        return found is not None and found.run.id == self.run.id

    @property
    def whole(self) -> bool:
        """Tell whether the run may make a headline."""
        return is_whole(self.run)
