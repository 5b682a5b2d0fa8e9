"""What entries are held against: the tests that a run planned, and the names that its torch declares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from conformance.model.identity import Identity
from conformance.skiplist.entry import ANY_FILE, Match, split_test_id
from conformance.skiplist.patterns import any_met


@dataclass(frozen=True)
class Known:
    """The plan of one run.

    ``source`` says which run, for reports. ``complete`` is False for a run of a part of its suites: that a test is
    missing in it means nothing. ``ops`` and ``modules`` are those of the run's inventory and of its tests.
    """

    source: str
    tests: tuple[Identity, ...]
    complete: bool = True
    ops: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()

    @cached_property
    def files(self) -> frozenset[str]:
        """Return the files that the run planned tests of."""
        return frozenset(test.file for test in self.tests)

    @cached_property
    def classes(self) -> frozenset[str]:
        """Return the classes that the run planned tests of."""
        return frozenset(test.class_name for test in self.tests)

    @cached_property
    def _by_id(self) -> dict[str, Identity]:
        return {test.test_id: test for test in self.tests}

    @cached_property
    def _by_name(self) -> dict[str, Identity]:
        return {test.test_id[len(test.file) + 2 :]: test for test in reversed(self.tests)}

    def find(self, test: str) -> Identity | None:
        """Return the planned test that an exact id means; of several files the first."""
        if test.startswith(ANY_FILE):
            return self._by_name.get(test[len(ANY_FILE) :])
        return self._by_id.get(test)

    def takes_in(self, match: Match) -> bool:
        """Tell whether the run took in a file, or else a class, that patterns could be about."""
        if match.files:
            return any(any_met(match.files, file) for file in self.files)
        return not match.classes or any(any_met(match.classes, name) for name in self.classes)

    def is_missing(self, test: str) -> bool:
        """Tell whether a test is gone: the run took in its file, or its class, and did not plan it."""
        if not self.complete or self.find(test) is not None:
            return False
        file, class_name, _ = split_test_id(test)
        if file == "*":
            return class_name in self.classes
        return file in self.files


def known_tests(
    source: str,
    tests: Iterable[Identity],
    *,
    complete: bool,
    ops: Iterable[str] = (),
    modules: Iterable[str] = (),
) -> Known:
    """Return what a run knows; operators and modules of its tests count as declared."""
    planned = tuple(tests)
    return Known(
        source,
        planned,
        complete,
        frozenset(ops) | {test.op for test in planned if test.op},
        frozenset(modules) | {test.module for test in planned if test.module},
    )
