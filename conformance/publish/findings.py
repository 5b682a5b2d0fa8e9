"""What the pages are built from: the findings of one run, free of SQLite."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.analysis.coverage import Coverage
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
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Findings:
    """One run with everything the site says about it.

    ``results_of`` gives the last attempt of each test of one subject and ``bad_results`` those of the whole run that
    failed, died or erred; ``other_results`` those with neither operator nor module, which ``files`` counts. They read
    when called, so that a run of any size needs little memory. ``evidence`` has the nouns as keys.
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
    other_results: Callable[[], Iterator[ResultRow]]
    evidence: Mapping[str, Evidence]
    files: Sequence[FileFinding]
    links: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def fallback_observed(self) -> bool:
        """Tell whether a probe looked for fallbacks; without one, nothing can be called native."""
        return bool(self.run.probe)
