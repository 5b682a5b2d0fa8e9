"""What ran on the CPU: in the operators under test, and in tests that have none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance import store

if TYPE_CHECKING:
    from conformance.store import Database


@dataclass(frozen=True, slots=True)
class FallbackOverload:
    """An ATen overload that ran on the CPU.

    ``tests`` is the number of tests in which it did, ``operators`` names the operators (or modules) they test.
    """

    overload: str
    tests: int
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fallbacks:
    """The fallbacks of one run, apart for tests with and without an operator (or module) under test.

    ``subject_tests`` and ``other_tests`` are how many tests of either kind there are; ``in_subject`` is the number of
    tests in which the operator under test ran on the CPU, and ``in_others`` of those without an operator in which
    anything did. ``overloads`` are those of the operators under test, most tests first, ``other_overloads`` those of
    the tests without one.
    """

    subject_tests: int
    other_tests: int
    in_subject: int
    in_others: int
    overloads: tuple[FallbackOverload, ...]
    other_overloads: tuple[FallbackOverload, ...]


def collect_fallbacks(db: Database, run_id: int, *, fell_back: int, planned: int, subject_tests: int) -> Fallbacks:
    """Read the fallbacks of a run of ``planned`` tests, in ``fell_back`` of which one was seen inside the window.

    The results are gone through only where tests without an operator exist, for no count is kept of theirs.
    """
    windows: Counter[str] = Counter()
    anywhere: Counter[str] = Counter()
    in_windows = in_others = 0
    if planned > subject_tests:
        for row in store.results(db, run_id):
            if row.op is None and row.module is None:
                seen = {*(row.fallback_ops or ()), *(row.test_fallback_ops or ())}
                in_others += bool(seen)
                in_windows += bool(row.fallback_ops)
                anywhere.update(seen)
                windows.update(row.fallback_ops or ())
    overloads = [
        FallbackOverload(row.overload, row.tests - windows[row.overload], row.operators)
        for row in store.fallback_operators(db, run_id)
    ]
    others = [FallbackOverload(overload, tests, ()) for overload, tests in anywhere.items()]
    return Fallbacks(
        subject_tests=subject_tests,
        other_tests=planned - subject_tests,
        in_subject=fell_back - in_windows,
        in_others=in_others,
        overloads=_most_first([row for row in overloads if row.tests]),
        other_overloads=_most_first(others),
    )


def _most_first(rows: list[FallbackOverload]) -> tuple[FallbackOverload, ...]:
    return tuple(sorted(rows, key=lambda row: (-row.tests, row.overload)))
