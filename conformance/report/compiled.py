"""What torch.compile made of a run's operators and modules: static and dynamic shapes apart, and beside eager mode."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.model.compilation import COMPILE_TEMPLATES, CompileMode
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.report.failures import FAILURES
from conformance.report.words import NO_DATA, number, status_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.store import CompileRow, CompileStatusRow, ModuleStatusRow, OperatorStatusRow

_PASSED = (Outcome.PASSED, Outcome.XPASSED)
_TEMPLATES = {mode: template.removeprefix("test_") for template, mode in COMPILE_TEMPLATES.items()}


@dataclass(frozen=True, slots=True)
class CompileTally:
    """The planned tests of one suite that compile in one mode.

    ``passed``, ``failed`` (in any way) and ``others`` (skipped, expected to fail, flaky, not run) add up to
    ``planned``. ``in_eager`` are those of ``passed`` for which no graph was compiled: dynamo left all to eager mode.
    ``compiled`` is how many tests have numbers; ``graphs``, ``breaks`` and ``recompilations`` are sums over them,
    ``median_s`` is the median of their compile seconds, and ``peak_bytes`` their highest. None: nobody could tell.
    """

    suite: str
    mode: CompileMode
    planned: int
    passed: int
    failed: int
    others: int
    in_eager: int
    compiled: int
    graphs: int | None
    breaks: int | None
    recompilations: int | None
    median_s: float | None
    peak_bytes: int | None

    @property
    def template(self) -> str:
        """Return the name of the template, as it is given to ``--templates``."""
        return _TEMPLATES[self.mode]


@dataclass(frozen=True, slots=True)
class CompiledSubject:
    """An operator or module (``noun``) in eager mode, and in each mode in which it was to be compiled.

    ``graphs`` is how many its tests of that mode compiled, None where they have no numbers.
    """

    noun: str
    name: str
    eager: OperatorStatus
    modes: Mapping[CompileMode, OperatorStatus]
    graphs: Mapping[CompileMode, int | None]

    def word(self, mode: CompileMode) -> str:
        """Return its status in a mode in words, which say where what passed was never compiled."""
        status = self.modes.get(mode)
        if status is None:
            return NO_DATA
        uncompiled = self.graphs.get(mode) == 0 and status in (OperatorStatus.NATIVE, OperatorStatus.FALLBACK)
        return f"{status_word(status)} (no graph)" if uncompiled else status_word(status)


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a run says about torch.compile; empty where it has no such test."""

    tallies: tuple[CompileTally, ...] = ()
    subjects: tuple[CompiledSubject, ...] = ()

    @property
    def modes(self) -> tuple[CompileMode, ...]:
        """Return the modes that the run has tests of."""
        return tuple(mode for mode in CompileMode if any(tally.mode is mode for tally in self.tallies))

    def counts(self, noun: str) -> dict[OperatorStatus, dict[CompileMode, int]]:
        """Return how many operators or modules have a status in each mode, by status; statuses of none are left out."""
        found: dict[OperatorStatus, dict[CompileMode, int]] = {}
        for status in OperatorStatus:
            by_mode = {
                mode: sum(one.noun == noun and one.modes.get(mode) is status for one in self.subjects)
                for mode in CompileMode
            }
            if any(by_mode.values()):
                found[status] = by_mode
        return found


HEADINGS = ("planned", "passed", "failed", "others", "no\ngraph", "graphs", "breaks", "recompi-\nlations", "median\ns")


def tally_cells(compiled: Compiled) -> list[tuple[str, ...]]:
    """Return suite, template and the numbers under ``HEADINGS`` of each tally, in words."""
    return [
        (
            *(one.suite, one.template),
            *(number(value) for value in (one.planned, one.passed, one.failed, one.others, one.in_eager)),
            *(NO_DATA if value is None else number(value) for value in (one.graphs, one.breaks, one.recompilations)),
            NO_DATA if one.median_s is None else f"{one.median_s:.3f}",
        )
        for one in compiled.tallies
    ]


def subject_cells(compiled: Compiled) -> list[tuple[str, ...]]:
    """Return the name of each operator and module, and its status in eager mode, compiled, and compiled dynamic."""
    return [
        (
            one.name,
            status_word(one.eager),
            *(one.word(mode) for mode in CompileMode),
        )
        for one in compiled.subjects
    ]


def count_cells(compiled: Compiled, noun: str) -> list[tuple[str, ...]]:
    """Return how many operators or modules have each status, in each mode that occurs; empty where there is none."""
    modes = compiled.modes
    return [
        (status_word(status), *(number(by_mode[mode]) for mode in modes))
        for status, by_mode in compiled.counts(noun).items()
    ]


def collect_compiled(
    tests: Sequence[CompileRow],
    statuses: Iterable[CompileStatusRow],
    operators: Iterable[OperatorStatusRow],
    modules: Iterable[ModuleStatusRow],
) -> Compiled:
    """Return what the compiling tests of a run say, with the eager status of what they are about."""
    if not tests:
        return Compiled()
    eager = {("operator", row.op): row.status for row in operators if row.dtype is None}
    eager |= {("module", row.module): row.status for row in modules if row.dtype is None}
    modes: dict[tuple[str, str], dict[CompileMode, OperatorStatus]] = {}
    graphs: dict[tuple[str, str], dict[CompileMode, int | None]] = {}
    for status in statuses:
        status_word(status.status)
        key = ("operator", status.op) if status.op is not None else ("module", status.module or "")
        modes.setdefault(key, {})[status.mode] = status.status
        graphs.setdefault(key, {})[status.mode] = status.graphs
    groups: dict[tuple[str, CompileMode], list[CompileRow]] = {}
    for test in sorted(tests, key=lambda test: (test.suite != "opinfo", test.suite, test.mode is CompileMode.DYNAMIC)):
        groups.setdefault((test.suite, test.mode), []).append(test)
    return Compiled(
        tallies=tuple(_tally(suite, mode, group) for (suite, mode), group in groups.items()),
        subjects=tuple(
            CompiledSubject(*key, eager.get(key, OperatorStatus.UNTESTED), by_mode, graphs[key])
            for key, by_mode in modes.items()
        ),
    )


def _tally(suite: str, mode: CompileMode, tests: Sequence[CompileRow]) -> CompileTally:
    passed = [test for test in tests if test.outcome in _PASSED]
    failed = sum(test.outcome in FAILURES for test in tests)
    numbered = [test for test in tests if test.backend]
    seconds = [test.compile_s for test in numbered if test.compile_s is not None]
    return CompileTally(
        suite=suite,
        mode=mode,
        planned=len(tests),
        passed=len(passed),
        failed=failed,
        others=len(tests) - len(passed) - failed,
        in_eager=sum(test.graphs == 0 for test in passed),
        compiled=len(numbered),
        graphs=_sum(test.graphs for test in numbered),
        breaks=_sum(test.breaks for test in numbered),
        recompilations=_sum(test.recompilations for test in numbered),
        median_s=statistics.median(seconds) if seconds else None,
        peak_bytes=max((test.peak_bytes for test in numbered if test.peak_bytes is not None), default=None),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [value for value in numbers if value is not None]
    return sum(known) if known else None
