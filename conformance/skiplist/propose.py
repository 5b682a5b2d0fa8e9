"""Make entries of what a run saw and no entry expects."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from conformance.model.identity import Identity
from conformance.model.outcome import Outcome
from conformance.skiplist.entry import Entry
from conformance.skiplist.guess import guess_category
from conformance.skiplist.keys import ENTRY_ID
from conformance.skiplist.matching import Matcher
from conformance.skiplist.observed import Observed, as_expected, expectation_of
from conformance.skiplist.vocabulary import Category, Expectation

# What a signature has in place of what varies (conformance/analysis/signature.py).
_VARIES = re.compile(r"[(\[]N[)\]]|\b(?:N|ADDRESS|HASH|PATH)\b|\.{3}")
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_LEAST_MESSAGE = 16
_REASON = 160
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
_DULL_WORDS = "runtimeerror error assertionerror exception the of in on to is with for and not from arguments"
_DULL = frozenset(_DULL_WORDS.split())


@dataclass(frozen=True, slots=True)
class Proposal:
    """Entries to add, and what of the run they are about.

    ``listed`` is how many tests of the run did what their entry expects, ``lost`` the tests that came back without a
    result: no entry can expect that.
    """

    entries: tuple[Entry, ...]
    tests: int
    listed: int
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where proposed entries come from: the run, in words, the day, who looks after them, and if it was emulated."""

    source: str
    added: date
    owner: str = ""
    emulated: bool = False


def propose(
    observations: Mapping[str, Observed],
    listed: Mapping[str, Expectation],
    origin: Origin,
    *,
    taken: Collection[str] = (),
    fallbacks: bool = False,
) -> Proposal:
    """Return an entry for each signature of what a run saw and no entry expects.

    ``listed`` is what an entry expects of each test that has one; a test that did something else gets a new entry,
    since an exact id beats patterns. ``taken`` are the ids of entries that exist. With ``fallbacks`` passes on the CPU
    get entries too. Entries of an emulated run say so. All are guesses and marked so.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    expected = 0
    for test_id, one in observations.items():
        expect = expectation_of(one)
        if expect is None or (expect is Expectation.FALLBACK and not fallbacks):
            continue
        if test_id in listed and as_expected(listed[test_id], one):
            expected += 1
            continue
        groups.setdefault((expect.value, one.signature), []).append(test_id)
    names = _Names(taken)
    entries = [
        _entry(Expectation(expect), signature, {test: observations[test] for test in sorted(tests)}, names, origin)
        for (expect, signature), tests in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    ]
    lost = tuple(test_id for test_id, one in observations.items() if one.outcome is Outcome.NOT_RUN)
    return Proposal(tuple(entries), sum(len(entry.tests) for entry in entries), expected, lost)


def listed_expectations(matcher: Matcher, tests: Iterable[Identity]) -> dict[str, Expectation]:
    """Return what the entry that counts for each test expects, by test id."""
    return {test_id: found.entry.expect for test_id, found in matcher.apply(tests).items()}


def _entry(expect: Expectation, signature: str, tests: Mapping[str, Observed], names: _Names, origin: Origin) -> Entry:
    messages = [one.message for one in tests.values()]
    category = guess_category(expect, messages[0] or signature)
    return Entry(
        id=names.unused(expect, category, signature),
        expect=expect,
        category=category,
        reason=f"Guessed from {origin.source}: {_shortened(signature) or _ABOUT[expect]}",
        link="",
        added=origin.added,
        owner=origin.owner,
        emulated=True if origin.emulated else None,
        message=_message(signature, messages) if expect is Expectation.FAIL else "",
        guess=True,
        tests=tuple(tests),
    )


_ABOUT = {
    Expectation.SKIP: "it ran out of memory.",
    Expectation.FAIL: "it failed without a text.",
    Expectation.CRASH: "its process died.",
    Expectation.TIMEOUT: "it exceeded its time limit.",
    Expectation.FALLBACK: "the operator ran on the CPU.",
    Expectation.FLAKY: "it passed only at a further attempt.",
}


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _REASON else f"{line[:_REASON].rpartition(' ')[0] or line[:_REASON]} ..."


def _message(signature: str, messages: list[str]) -> str:
    """Return a pattern for the longest part of the signature that does not vary, if all the messages have it."""
    parts = [run for part in _VARIES.split(signature) for run in _runs_in(part.split(), messages[0])]
    for longest in sorted(parts, key=len, reverse=True):
        if len(longest) < _LEAST_MESSAGE:
            break
        if all(longest in message for message in messages):
            return _SPECIAL.sub(r"\\\g<0>", longest)
    return ""


def _runs_in(words: list[str], message: str) -> list[str]:
    """Return words joined by blanks as far as the message has them so: a signature joins lines that it does not."""
    runs: list[str] = []
    for word in words:
        longer = f"{runs[-1]} {word}" if runs else word
        if runs and longer in message:
            runs[-1] = longer
        else:
            runs.append(word)
    return runs


class _Names:
    """Make up ids that no entry has, out of what the failure says."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = set(taken)

    def unused(self, expect: Expectation, category: Category, signature: str) -> str:
        words = [word.lower() for word in _WORDS.findall(_VARIES.sub(" ", signature))]
        telling = [word for word in dict.fromkeys(words) if word not in _DULL][:4]
        first = str(expect) if category is Category.UNKNOWN else str(category)
        base = "-".join([first, *telling])[:80].rstrip("-_.")
        name = base if ENTRY_ID.fullmatch(base) else first
        number = 1
        while name in self._taken:
            number += 1
            name = f"{base}-{number}"
        self._taken.add(name)
        return name
