"""Look for what is wrong with a skiplist that can be read, and for what could be better."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath

from conformance.skiplist.conditions import Conditions, Context
from conformance.skiplist.dtypes import DTYPES
from conformance.skiplist.entry import ANY_FILE, Entry, Place, Problem, Skiplist, split_test_id
from conformance.skiplist.known import Known
from conformance.skiplist.matching import Matcher
from conformance.skiplist.names import neutral
from conformance.skiplist.overlaps import overlaps
from conformance.skiplist.parse import near
from conformance.skiplist.patterns import any_met
from conformance.skiplist.vocabulary import Category, Expectation

SHORT_REASON_WORDS = 3


class Level(str, Enum):
    """How much a finding matters: an error makes ``lint`` fail, a warning with ``--strict`` too, advice never."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"

    def __str__(self) -> str:
        return self.value


class Rule(str, Enum):
    """What ``lint`` looks for."""

    FORMAT = "format"
    NO_REASON = "no-reason"
    UNKNOWN_OP = "unknown-op"
    UNKNOWN_MODULE = "unknown-module"
    UNKNOWN_DTYPE = "unknown-dtype"
    UNKNOWN_TEST = "unknown-test"
    DEVICE_IN_NAME = "device-in-name"
    EXPIRED = "expired"
    SHORT_REASON = "short-reason"
    NO_LINK = "no-link"
    MATCHES_NOTHING = "matches-nothing"
    SHADOWED = "shadowed"
    OVERLAP = "overlap"
    LISTED_TWICE = "listed-twice"
    UNUSED_MESSAGE = "unused-message"
    GUESS = "guess"
    EXCEPTION = "exception"
    PREFER_FAIL = "prefer-fail"
    UNKNOWN_CAUSE = "unknown-cause"
    UNSORTED = "unsorted"

    def __str__(self) -> str:
        return self.value

    @property
    def level(self) -> Level:
        """Return how much a finding of this rule matters."""
        return _RULES[self][0]

    @property
    def definition(self) -> str:
        """Return one sentence that says what the rule finds."""
        return _RULES[self][1]


_RULES = {
    Rule.FORMAT: (Level.ERROR, "The file cannot be used as it is."),
    Rule.NO_REASON: (Level.ERROR, "The reason is empty."),
    Rule.UNKNOWN_OP: (Level.ERROR, "A pattern of `ops` matches no operator that the run's torch declares."),
    Rule.UNKNOWN_MODULE: (Level.ERROR, "A pattern of `modules` matches no module that the run's torch declares."),
    Rule.UNKNOWN_DTYPE: (Level.ERROR, "A pattern of `dtypes` matches no dtype of PyTorch."),
    Rule.UNKNOWN_TEST: (Level.ERROR, "The run took in the file, or the class, of a listed test, but has no such test."),
    Rule.DEVICE_IN_NAME: (Level.ERROR, "A listed test is spelt as on a device; ids are the same on every device."),
    Rule.EXPIRED: (Level.ERROR, "The last day of the entry is over, so it is not active."),
    Rule.SHORT_REASON: (Level.WARNING, f"The reason has fewer than {SHORT_REASON_WORDS} words."),
    Rule.NO_LINK: (Level.WARNING, "There is no link to an issue or a document."),
    Rule.MATCHES_NOTHING: (Level.WARNING, "The patterns match no test of the run."),
    Rule.SHADOWED: (Level.WARNING, "Other entries count for every test of the run that the entry matches."),
    Rule.OVERLAP: (Level.WARNING, "Two entries match one test by rules of the same strength."),
    Rule.LISTED_TWICE: (Level.WARNING, "An entry lists a test twice."),
    Rule.UNUSED_MESSAGE: (Level.WARNING, "The entry has a message, but its tests are not run."),
    Rule.GUESS: (Level.WARNING, "A program wrote cause and reason; confirm them, and take `guess` out."),
    Rule.EXCEPTION: (Level.ADVICE, "A stronger entry counts for some tests of this one, as an exception should."),
    Rule.PREFER_FAIL: (Level.ADVICE, "`skip`, though the cause endangers nothing: `fail` shows when it is gone."),
    Rule.UNKNOWN_CAUSE: (Level.ADVICE, "The category is `unknown`."),
    Rule.UNSORTED: (Level.ADVICE, "The tests of an entry are not sorted."),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found; ``tests`` is how many listed tests it concerns, 0 where that does not apply."""

    rule: Rule
    place: Place
    entry_id: str
    text: str
    tests: int = 0


@dataclass(frozen=True, slots=True)
class LintReport:
    """All findings, by rule and then by place; what was looked at, and what could not be."""

    entries: int
    tests: int
    files: tuple[str, ...]
    findings: tuple[Finding, ...]
    held_against: str
    not_checked: tuple[str, ...]

    def count(self, level: Level) -> int:
        """Return how many findings have that level."""
        return sum(finding.rule.level is level for finding in self.findings)


def lint(
    skiplist: Skiplist, problems: Sequence[Problem] = (), *, context: Context | None = None, known: Known | None = None
) -> LintReport:
    """Return what is wrong with the list, or could be better.

    Without ``known``, nothing is held against the tests of a run. ``context.today`` decides what has expired; entries
    that are not active for another reason are still looked at, but do not overlap.
    """
    context = context or Context()
    findings = [Finding(Rule.FORMAT, problem.place, problem.entry_id, problem.text) for problem in problems]
    for entry in skiplist:
        findings += _texts(entry)
        findings += _tests(entry)
        findings += _patterns(entry, Rule.UNKNOWN_DTYPE, "dtypes", DTYPES)
        if entry.expires and context.today and entry.expires < context.today:
            findings.append(Finding(Rule.EXPIRED, entry.place, entry.id, f"it expired on {entry.expires}"))
    conditions = Conditions(context)
    active = [entry for entry in skiplist if not conditions.why_inactive(entry)]
    findings += _overlaps(active, known)
    if known is not None:
        findings += _against(skiplist, known)
        findings += _matches_nothing(active, known)
    order = {rule: position for position, rule in enumerate(Rule)}
    findings.sort(key=lambda finding: (order[finding.rule], finding.place.file, finding.place.line))
    return LintReport(
        entries=len(skiplist),
        tests=sum(len(entry.tests) for entry in skiplist),
        files=skiplist.files,
        findings=tuple(findings),
        held_against=known.source if known else "",
        not_checked=_not_checked(context, known),
    )


def _not_checked(context: Context, known: Known | None) -> tuple[str, ...]:
    unchecked = []
    if known is None:
        unchecked.append("operators, modules, tests and overlaps of patterns: no run was given")
    elif not known.complete:
        unchecked.append(f"tests that are gone, patterns that match nothing: {known.source} ran a part of its suites")
    if known is not None and not known.ops:
        unchecked.append(f"operators: {known.source} has none")
    if known is not None and not known.modules:
        unchecked.append(f"modules: {known.source} has none")
    if context.today is None:
        unchecked.append("expired entries: no day was given")
    return tuple(unchecked)


def _texts(entry: Entry) -> Iterator[Finding]:
    def found(rule: Rule, text: str, tests: int = 0) -> Finding:
        return Finding(rule, entry.place, entry.id, text, tests)

    words = entry.reason.split()
    if not words:
        yield found(Rule.NO_REASON, "it has no reason", len(entry.tests))
    elif len(words) < SHORT_REASON_WORDS:
        yield found(Rule.SHORT_REASON, f"the reason {entry.reason.strip()!r} explains nothing", len(entry.tests))
    if not entry.link.strip():
        yield found(Rule.NO_LINK, "it has no link", len(entry.tests))
    if entry.guess:
        yield found(Rule.GUESS, f"'{entry.category}' and its reason are a guess", len(entry.tests))
    elif entry.category is Category.UNKNOWN:
        yield found(Rule.UNKNOWN_CAUSE, "nobody has looked for its cause", len(entry.tests))
    if entry.expect is Expectation.SKIP:
        if entry.message:
            yield found(Rule.UNUSED_MESSAGE, "the tests are skipped, so there is no failure to compare with 'message'")
        if not entry.category.endangers_run:
            text = f"'{entry.category}' endangers no run: with expect = \"fail\" the tests run"
            yield found(Rule.PREFER_FAIL, text, len(entry.tests))


def _tests(entry: Entry) -> Iterator[Finding]:
    if any(later < earlier for earlier, later in itertools.pairwise(entry.tests)):
        yield Finding(Rule.UNSORTED, entry.place, entry.id, "its tests are not sorted")
    if len(set(entry.tests)) < len(entry.tests):
        for test, count in Counter(entry.tests).items():
            if count > 1:
                last = len(entry.tests) - 1 - entry.tests[::-1].index(test)
                place = entry.place_of_test(last)
                yield Finding(Rule.LISTED_TWICE, place, entry.id, f"'{test}' is listed {count} times", count)
    device = PurePath(entry.place.file).parent.name
    for index, test in enumerate(entry.tests):
        file, class_name, method = split_test_id(test)
        plain = neutral(class_name, method, device or "privateuse1")
        if plain:
            text = f"'{test}' names a device; write '{'::'.join([file, *plain])}'"
            yield Finding(Rule.DEVICE_IN_NAME, entry.place_of_test(index), entry.id, text, 1)


def _patterns(entry: Entry, rule: Rule, field: str, names: Iterable[str]) -> Iterator[Finding]:
    """Find the patterns of one field that match none of the names."""
    for pattern in getattr(entry.match, field):
        if not any(any_met((pattern,), name) for name in names):
            text = f"no {field[:-1]} is called '{pattern}'{near(pattern.removeprefix('torch.'), names)}"
            yield Finding(rule, entry.place, entry.id, text)


def _against(skiplist: Skiplist, known: Known) -> Iterator[Finding]:
    for entry in skiplist:
        if known.ops:
            yield from _patterns(entry, Rule.UNKNOWN_OP, "ops", known.ops)
        if known.modules:
            yield from _patterns(entry, Rule.UNKNOWN_MODULE, "modules", known.modules)
        for index, test in enumerate(entry.tests):
            if known.is_missing(test):
                what = "its class" if test.startswith(ANY_FILE) else "its file"
                text = f"{known.source} has {what}, but not the test '{test}'"
                yield Finding(Rule.UNKNOWN_TEST, entry.place_of_test(index), entry.id, text, 1)


def _matches_nothing(active: Sequence[Entry], known: Known) -> Iterator[Finding]:
    """Find the entries whose patterns match no test of the run, in files that the run took in."""
    if not known.complete:
        return
    met = Matcher(active).entries_met(known.tests)
    for entry in active:
        if entry.match and entry.id not in met and known.takes_in(entry.match):
            text = f"its patterns match no test of {known.source}"
            yield Finding(Rule.MATCHES_NOTHING, entry.place, entry.id, text)


def _overlaps(active: Sequence[Entry], known: Known | None) -> Iterator[Finding]:
    found = overlaps(active, known.tests if known else None)
    for overlap in found.pairs:
        rule = Rule.OVERLAP if overlap.same_strength else Rule.EXCEPTION
        what = f"{overlap.tests} tests" if overlap.tests > 1 else "one test"
        text = f"'{overlap.winner.id}' counts for {what} of this entry; the first is '{overlap.example}'"
        yield Finding(rule, overlap.loser.place, overlap.loser.id, text, overlap.tests)
    for entry, tests in found.shadowed:
        text = f"other entries count for each of the {tests} tests that it matches"
        yield Finding(Rule.SHADOWED, entry.place, entry.id, text, tests)
