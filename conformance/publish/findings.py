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
    fallback: int
    overloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """An operator or a module (``noun`` tells which) of the inventory, tested or not.

    ``dtypes`` are those PyTorch declares for it; ``by_dtype`` also holds dtypes that were tested without being
    declared. ``group`` and ``aten_name`` are empty for modules.
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
class Findings:
    """One run with everything the site says about it.

    ``results_of`` gives the last attempt of each test of one subject and ``bad_results`` those of the whole run that
    failed, died or erred; both read when called, so that a run of any size needs little memory.
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
    links: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def fallback_observed(self) -> bool:
        """Tell whether a probe looked for fallbacks; without one, nothing can be called native."""
        return bool(self.run.probe)
