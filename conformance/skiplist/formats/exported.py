"""What a skiplist becomes in the form of another project, and what of it could not be said there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from conformance.skiplist.entry import Entry
from conformance.skiplist.known import Known
from conformance.skiplist.matching import Matcher
from conformance.skiplist.vocabulary import Expectation

# What PyTorch should not run, or not count: a test that falls back or is flaky does pass.
NOT_PASSING = (Expectation.SKIP, Expectation.FAIL, Expectation.CRASH, Expectation.TIMEOUT)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A test, or the patterns of an entry, that are not in the result, and why."""

    text: str
    entry_id: str
    why: str


@dataclass(frozen=True, slots=True)
class Exported:
    """The text of the file, how many tests (or templates) it holds, what was left out, and notes with their number."""

    text: str
    written: int
    left_out: tuple[LeftOut, ...]
    notes: tuple[tuple[str, int], ...] = ()


def listed_tests(
    entries: Iterable[Entry], expects: Collection[Expectation], known: Known | None, left_out: list[LeftOut]
) -> Iterator[tuple[str, Entry]]:
    """Yield each test with the entry that counts for it, if that expects one of ``expects``.

    With the tests of a run patterns are filled in; without, they are left out. Ids that the run does not have are
    yielded as they stand in the list.
    """
    every = list(entries)
    if known is None:
        for entry in every:
            if entry.match and entry.expect in expects:
                text = "; ".join(f"{field} {', '.join(patterns)}" for field, patterns in entry.match.fields)
                left_out.append(LeftOut(text, entry.id, "patterns can only be filled in from a run: give --run"))
        yield from _wanted(_by_test(every), expects, left_out)
        return
    matched = Matcher(every).apply(known.tests)
    counting = {test_id: found.entry for test_id, found in matched.items()}
    elsewhere = {test: entry for test, entry in _by_test(every).items() if known.find(test) is None}
    yield from _wanted(counting | elsewhere, expects, left_out)


def _by_test(entries: Iterable[Entry]) -> dict[str, Entry]:
    return {test: entry for entry in entries for test in entry.tests}


def _wanted(
    tests: dict[str, Entry], expects: Collection[Expectation], left_out: list[LeftOut]
) -> Iterator[tuple[str, Entry]]:
    for test, entry in sorted(tests.items()):
        if entry.expect in expects:
            yield test, entry
        else:
            left_out.append(LeftOut(test, entry.id, f"its entry expects '{entry.expect}'"))
