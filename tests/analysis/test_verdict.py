"""Verdicts over every combination of outcome, fallback, entry and baseline."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.analysis.verdict import Baseline, Verdict, verdict
from conformance.errors import ConformanceError
from conformance.model.listed import ListedEntry
from conformance.model.outcome import Outcome
from conformance.skiplist.observed import Observed, as_expected
from conformance.skiplist.vocabulary import Expectation

GOLDEN = Path(__file__).with_name("verdicts.txt")
SAYS = "RuntimeError: no complex type"
FALLBACKS: tuple[tuple[str, ...] | None, ...] = (None, (), ("aten::sin.out",), ("aten::cos.out", "aten::sin.out"))
BASELINES: tuple[Baseline | None, ...] = (None, *itertools.product(Outcome, FALLBACKS))
ENTRIES = (
    None,
    *(
        ListedEntry("x", str(expect), "unknown", "because", message=message)
        for expect in Expectation
        for message in ("", "complex", "sparse")
    ),
)
GOOD = (Outcome.PASSED, Outcome.XFAILED, Outcome.XPASSED)
Case = tuple[Outcome, "tuple[str, ...] | None", "ListedEntry | None", "Baseline | None", Verdict]


def every() -> Iterator[Case]:
    for outcome, fallback, entry, baseline in itertools.product(Outcome, FALLBACKS, ENTRIES, BASELINES):
        yield outcome, fallback, entry, baseline, verdict(outcome, fallback, SAYS, entry, baseline)


CASES = list(every())


def test_every_combination_has_a_verdict_and_every_verdict_occurs() -> None:
    assert len(CASES) == 11 * 4 * 19 * 45
    assert {found for *_, found in CASES} == set(Verdict)


def test_a_test_is_lost_exactly_if_nothing_came_back() -> None:
    for outcome, *_, found in CASES:
        assert (found is Verdict.LOST) == (outcome is Outcome.NOT_RUN)


def test_without_an_entry_and_a_baseline_just_the_bad_outcomes_are_unexpected() -> None:
    for outcome, _, entry, baseline, found in CASES:
        if entry is None and baseline is None:
            assert found.is_unexpected == outcome.is_bad


def test_what_an_entry_expects_is_what_the_skiplist_calls_expected() -> None:
    for outcome, fallback, entry, baseline, found in CASES:
        if entry is None or entry.message or baseline is not None or outcome is Outcome.NOT_RUN:
            continue
        expect = Expectation(entry.expect)
        seen = Observed(outcome, None if fallback is None else bool(fallback))
        assert (found in (Verdict.AS_EXPECTED, Verdict.UNSEEN)) == as_expected(expect, seen), (
            outcome,
            fallback,
            expect,
        )


def test_the_baseline_says_nothing_against_an_entry_that_is_met() -> None:
    alone = {(outcome, fallback, entry): found for outcome, fallback, entry, baseline, found in CASES if not baseline}
    for outcome, fallback, entry, _, found in CASES:
        if entry is not None and alone[outcome, fallback, entry] is Verdict.AS_EXPECTED:
            # That a test is flaky says nothing of where it runs.
            assert found is Verdict.AS_EXPECTED or (entry.expect, found) == ("flaky", Verdict.NEW_FALLBACK)


def test_a_run_that_does_what_the_baseline_did_is_never_unexpected_without_entries() -> None:
    for outcome, fallback, entry, baseline, found in CASES:
        if entry is None and baseline == (outcome, fallback) and outcome is not Outcome.NOT_RUN:
            assert not found.is_unexpected


def test_a_skip_is_never_good_news_nor_a_failure() -> None:
    found = {found for outcome, *_, found in CASES if outcome is Outcome.SKIPPED}
    assert found == {Verdict.AS_EXPECTED, Verdict.NEW_SKIP, Verdict.UNSEEN}


def test_what_ran_before_and_is_skipped_now_is_unexpected_unless_an_entry_skips_it() -> None:
    for outcome, _, entry, baseline, found in CASES:
        if outcome is Outcome.SKIPPED and baseline and baseline[0] not in (Outcome.SKIPPED, Outcome.NOT_RUN):
            assert found.is_unexpected == (entry is None or entry.expect != "skip")


def test_a_death_is_never_good_news() -> None:
    assert not any(found.is_good_news for outcome, *_, found in CASES if outcome.is_death)


def test_without_a_probe_nothing_is_said_of_fallbacks() -> None:
    for _, fallback, _, _, found in CASES:
        if not fallback:
            assert found not in (Verdict.NEW_FALLBACK, Verdict.UNLISTED_FALLBACK)


def test_a_fallback_is_new_only_where_the_baseline_looked_and_saw_it_pass() -> None:
    for outcome, fallback, entry, baseline, found in CASES:
        if found is Verdict.NEW_FALLBACK:
            assert outcome in GOOD
            assert baseline is not None
            assert baseline[1] is not None
            assert set(fallback or ()) - set(baseline[1])
            assert entry is None or entry.expect != "fallback"


def test_a_native_pass_that_becomes_a_pass_on_the_cpu_is_never_accepted_without_an_entry_for_it() -> None:
    for outcome, fallback, entry, baseline, found in CASES:
        if outcome is Outcome.PASSED and fallback and baseline == (Outcome.PASSED, ()):
            listed = entry is not None and entry.expect == "fallback"
            assert found is (Verdict.AS_EXPECTED if listed else Verdict.NEW_FALLBACK)


def test_a_failure_that_says_something_else_is_not_the_one_that_is_listed() -> None:
    for outcome, _, entry, _, found in CASES:
        if entry is not None and entry.message == "sparse" and outcome is Outcome.FAILED and entry.expect == "fail":
            assert found is Verdict.NEW_FAILURE
        if entry is not None and entry.message == "complex":
            assert found is not Verdict.NEW_FAILURE or outcome.is_death


def test_strict_runs_fail_for_what_the_list_does_not_say() -> None:
    strict = {found for found in Verdict if found.fails_strict and not found.is_unexpected}
    assert strict == {Verdict.UNEXPECTED_PASS, Verdict.UNLISTED_FALLBACK, Verdict.FLAKY}
    assert all(found.fails_strict for found in Verdict if found.is_unexpected)


def test_verdicts_stand_from_the_worst_to_the_best() -> None:
    order = list(Verdict)
    assert [found.is_unexpected for found in order] == sorted((found.is_unexpected for found in order), reverse=True)
    assert [found.fails_strict for found in order] == sorted((found.fails_strict for found in order), reverse=True)
    assert order[-1] is Verdict.AS_EXPECTED


def test_an_entry_of_another_harness_is_an_error_that_says_so() -> None:
    with pytest.raises(ConformanceError) as unknown:
        verdict(Outcome.PASSED, (), "", ListedEntry("x", "sulk", "unknown", ""), None)
    assert (unknown.value.slug, "'sulk'" in str(unknown.value)) == ("unknown-expectation", True)
    with pytest.raises(ConformanceError) as broken:
        verdict(Outcome.FAILED, (), "", ListedEntry("x", "fail", "unknown", "", message="("), None)
    assert broken.value.slug == "bad-message-pattern"


SHOWN: dict[str, Baseline | None] = {
    "no baseline": None,
    "native": (Outcome.PASSED, ()),
    "on the CPU": (Outcome.PASSED, ("aten::sin.out",)),
    "not observed": (Outcome.PASSED, None),
    "flaky": (Outcome.FLAKY, ()),
    "failed": (Outcome.FAILED, ()),
    "crashed": (Outcome.CRASHED, None),
    "skipped": (Outcome.SKIPPED, ()),
    "lost": (Outcome.NOT_RUN, None),
}
ROWS: dict[str, tuple[Outcome, tuple[str, ...] | None]] = {
    "passed, native": (Outcome.PASSED, ()),
    "passed, on the CPU": (Outcome.PASSED, ("aten::sin.out",)),
    "passed, more on the CPU": (Outcome.PASSED, ("aten::cos.out", "aten::sin.out")),
    "passed, not observed": (Outcome.PASSED, None),
    **{str(outcome): (outcome, None if outcome.is_death else ()) for outcome in Outcome if outcome != "passed"},
}


def tables() -> str:
    lines = ["What each verdict is, by the outcome of a test (down) and what the baseline saw of it (across).", ""]
    width = max(map(len, ROWS)) + 2
    for entry in ENTRIES:
        if entry is not None and entry.message and entry.expect not in ("fail", "crash", "flaky"):
            continue
        about = "" if entry is None or not entry.message else ", with a message that the failure "
        about += {"": "", "complex": "says", "sparse": "does not say"}[entry.message if entry else ""]
        lines.append(f"{f'An entry expects {entry.expect}' if entry else 'No entry'}{about}")
        lines.append(" " * width + "".join(f"{name:<18}" for name in SHOWN).rstrip())
        for name, (outcome, fallback) in ROWS.items():
            cells = [verdict(outcome, fallback, SAYS, entry, baseline).words for baseline in SHOWN.values()]
            lines.append(f"{name:<{width}}" + "".join(f"{cell:<18}" for cell in cells).rstrip())
        lines.append("")
    return "\n".join(lines)


def test_the_tables_are_as_they_were_agreed() -> None:
    if os.environ.get("EXPECTTEST_ACCEPT"):
        GOLDEN.write_text(tables(), encoding="utf-8")
    assert tables() == GOLDEN.read_text(encoding="utf-8")
