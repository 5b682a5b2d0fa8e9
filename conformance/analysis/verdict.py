"""Say what an outcome means: hold it against the skiplist's entry for the test, and against an earlier run.

docs/verdicts.md explains the rules with tables that the tests compare with this module.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum

from conformance.errors import ConformanceError
from conformance.model.listed import ListedEntry
from conformance.model.outcome import Outcome
from conformance.skiplist.vocabulary import Expectation


class Verdict(str, Enum):
    """What the outcome of a test means, the worst first: derived, and never stored."""

    LOST = "lost"
    REGRESSION = "regression"
    NEW_FAILURE = "new_failure"
    NEW_FALLBACK = "new_fallback"
    NEW_SKIP = "new_skip"
    UNEXPECTED_PASS = "unexpected_pass"
    UNLISTED_FALLBACK = "unlisted_fallback"
    FLAKY = "flaky"
    UNSEEN = "unseen"
    KNOWN = "known"
    IMPROVED = "improved"
    FIXED = "fixed"
    AS_EXPECTED = "as_expected"

    def __str__(self) -> str:
        return self.value

    @property
    def words(self) -> str:
        """Return the verdict as people read it, such as ``new failure``."""
        return self.value.replace("_", " ")

    @property
    def definition(self) -> str:
        """Return one sentence that says when a test gets this verdict."""
        return _DEFINITIONS[self]

    @property
    def is_unexpected(self) -> bool:
        """Tell whether it makes a run fail: something got worse, or is bad and nothing speaks of it."""
        return self in _UNEXPECTED

    @property
    def fails_strict(self) -> bool:
        """Tell whether it makes a strict run fail: the skiplist does not say what was seen."""
        return self in _UNEXPECTED or self in _STRICT

    @property
    def is_good_news(self) -> bool:
        """Tell whether something got better."""
        return self in (Verdict.UNEXPECTED_PASS, Verdict.IMPROVED, Verdict.FIXED)


_UNEXPECTED = frozenset({Verdict.LOST, Verdict.REGRESSION, Verdict.NEW_FAILURE, Verdict.NEW_FALLBACK, Verdict.NEW_SKIP})
_STRICT = frozenset({Verdict.UNEXPECTED_PASS, Verdict.UNLISTED_FALLBACK, Verdict.FLAKY})

_DEFINITIONS = {
    Verdict.LOST: "It was planned, and nothing came back.",
    Verdict.REGRESSION: "It does worse than its entry expects, or without an entry worse than in the baseline.",
    Verdict.NEW_FAILURE: "It fails or dies in a way that neither an entry nor the baseline knows.",
    Verdict.NEW_FALLBACK: "It passes, but overloads of its operator run on the CPU that did not in the baseline.",
    Verdict.NEW_SKIP: "It ran in the baseline and was skipped now, and no entry says so.",
    Verdict.UNEXPECTED_PASS: "It passes, or passes on the device itself, and its entry expects otherwise.",
    Verdict.UNLISTED_FALLBACK: "It passes on the CPU; no entry says so, and nothing shows that it ever was otherwise.",
    Verdict.FLAKY: "It passed only at a further attempt, and no entry says so.",
    Verdict.UNSEEN: "Its entry cannot be judged: the test was skipped, or nobody looked for the fallback it expects.",
    Verdict.KNOWN: "No entry expects it, but the baseline did no better.",
    Verdict.IMPROVED: "It does better than its entry or the baseline, but not well: a crash that is a failure now.",
    Verdict.FIXED: "It passes and did not in the baseline; no entry is left over.",
    Verdict.AS_EXPECTED: "It does what its entry expects; without one it passes, or skips itself as before.",
}

# How bad an end is; what was not seen to run has no place here.
SEVERITY = {
    Outcome.PASSED: 0,
    Outcome.XFAILED: 0,
    Outcome.XPASSED: 0,
    Outcome.FLAKY: 1,
    Outcome.FAILED: 2,
    Outcome.ERROR: 2,
    Outcome.CRASHED: 3,
    Outcome.TIMED_OUT: 3,
    Outcome.OUT_OF_MEMORY: 3,
}
_FAILS = 2

# The outcomes that an entry means.
_MEANT = {
    Expectation.FAIL: (Outcome.FAILED, Outcome.ERROR),
    Expectation.CRASH: (Outcome.CRASHED,),
    Expectation.TIMEOUT: (Outcome.TIMED_OUT,),
}

Overloads = Collection[str]
Baseline = tuple[Outcome, "Overloads | None"]


def verdict(
    outcome: Outcome,
    fallback: Overloads | None,
    message: str,
    expectation: ListedEntry | None,
    baseline: Baseline | None,
) -> Verdict:
    """Return what the last attempt at a test means.

    ``fallback`` are the overloads that ran on the CPU inside the window, None where nobody looked; ``message`` is what
    a failure said. ``expectation`` is the entry that counts for the test, ``baseline`` what an earlier run saw of it.
    An entry goes before the baseline: somebody wrote it, with a reason. Raises ConformanceError
    (``unknown-expectation``, ``bad-message-pattern``) for an entry that no list of this harness could have.
    """
    if outcome is Outcome.NOT_RUN:
        return Verdict.LOST
    before = SEVERITY.get(baseline[0]) if baseline is not None else None
    if expectation is None:
        return _without_entry(outcome, fallback, before, baseline)
    return _with_entry(outcome, fallback, message, expectation, before, baseline)


def _without_entry(
    outcome: Outcome, fallback: Overloads | None, before: int | None, baseline: Baseline | None
) -> Verdict:
    if outcome is Outcome.SKIPPED:
        return Verdict.AS_EXPECTED if before is None else Verdict.NEW_SKIP
    now = SEVERITY[outcome]
    if not now:
        return _passing(fallback, before, baseline)
    if outcome is Outcome.FLAKY:
        return Verdict.FLAKY
    if before is None:
        return Verdict.NEW_FAILURE
    if now == before:
        return Verdict.KNOWN
    return Verdict.REGRESSION if now > before else Verdict.IMPROVED


def _passing(fallback: Overloads | None, before: int | None, baseline: Baseline | None) -> Verdict:
    if before is not None and before >= _FAILS:
        return Verdict.IMPROVED if fallback else Verdict.FIXED
    if not fallback:
        return Verdict.AS_EXPECTED
    if before is None or baseline is None or baseline[1] is None:
        return Verdict.UNLISTED_FALLBACK
    return Verdict.KNOWN if set(fallback) <= set(baseline[1]) else Verdict.NEW_FALLBACK


def _with_entry(
    outcome: Outcome,
    fallback: Overloads | None,
    message: str,
    entry: ListedEntry,
    before: int | None,
    baseline: Baseline | None,
) -> Verdict:
    expect = expectation_of(entry)
    if outcome is Outcome.SKIPPED:
        if expect is Expectation.SKIP:
            return Verdict.AS_EXPECTED
        return Verdict.UNSEEN if before is None else Verdict.NEW_SKIP
    now = SEVERITY[outcome]
    match expect:
        case Expectation.SKIP:
            # It is run all the same; what such a test does, short of passing, is why it is on the list.
            return Verdict.AS_EXPECTED if now else _better(fallback, before, baseline)
        case Expectation.FLAKY:
            if _lost_ground(now, fallback, before, baseline):
                return Verdict.NEW_FALLBACK
            return Verdict.AS_EXPECTED if now < _FAILS or _says(message, entry) else Verdict.NEW_FAILURE
        case Expectation.FALLBACK:
            if now:
                return Verdict.FLAKY if outcome is Outcome.FLAKY else _worse(now, before)
            if fallback is None:
                return Verdict.UNSEEN
            return Verdict.AS_EXPECTED if fallback else Verdict.UNEXPECTED_PASS
        case Expectation.FAIL | Expectation.CRASH | Expectation.TIMEOUT:
            expected = _FAILS if expect is Expectation.FAIL else _FAILS + 1
            if not now:
                return _better(fallback, before, baseline)
            if now < expected:
                return Verdict.IMPROVED
            if now > expected:
                return _worse(now, before)
            if outcome in _MEANT[expect]:
                return Verdict.AS_EXPECTED if _says(message, entry) else Verdict.NEW_FAILURE
            return Verdict.KNOWN if baseline is not None and baseline[0] is outcome else Verdict.NEW_FAILURE


def _better(fallback: Overloads | None, before: int | None, baseline: Baseline | None) -> Verdict:
    """Return the verdict on a pass that is not expected; that it was native before and is not now weighs more."""
    return Verdict.NEW_FALLBACK if _lost_ground(0, fallback, before, baseline) else Verdict.UNEXPECTED_PASS


def _lost_ground(now: int, fallback: Overloads | None, before: int | None, baseline: Baseline | None) -> bool:
    return now == 0 == before and _passing(fallback, before, baseline) is Verdict.NEW_FALLBACK


def _worse(now: int, before: int | None) -> Verdict:
    """Return the verdict on an end that is worse than the entry says; the baseline may have known it."""
    return Verdict.KNOWN if before is not None and before >= now else Verdict.REGRESSION


def expectation_of(entry: ListedEntry) -> Expectation:
    """Return what an entry expects; raises ConformanceError (``unknown-expectation``) for a word of another harness."""
    try:
        return Expectation(entry.expect)
    except ValueError:
        raise ConformanceError(
            "unknown-expectation",
            f"entry '{entry.entry_id}' expects {entry.expect!r}, which this harness does not know; "
            "read the database with the harness that wrote it, or a newer one",
        ) from None


def _says(message: str, entry: ListedEntry) -> bool:
    """Tell whether a failure says what the entry wants it to; an entry without a message takes any."""
    if not entry.message:
        return True
    try:
        return re.search(entry.message, message) is not None
    except re.error as error:
        raise ConformanceError(
            "bad-message-pattern",
            f"the message {entry.message!r} of entry '{entry.entry_id}' is no regular expression: {error}",
        ) from None
