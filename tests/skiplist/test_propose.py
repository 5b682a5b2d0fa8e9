"""New entries for what a run saw."""

from __future__ import annotations

import re
from datetime import date

import pytest

from conformance.analysis.signature import signature
from conformance.model.outcome import Outcome
from conformance.skiplist.guess import guess_category
from conformance.skiplist.load import parse_files
from conformance.skiplist.observed import Observed
from conformance.skiplist.propose import Origin, propose
from conformance.skiplist.vocabulary import Category, Expectation
from conformance.skiplist.write import render_list

ORIGIN = Origin("run 7", date(2026, 11, 1), "me")
CLOSE = """AssertionError: Tensor-likes are not close!

Mismatched elements: {a} / 25 (8.0%)
Greatest relative difference: {r} at index (0,)"""
MISSING = "NotImplementedError: Could not run 'aten::sin' with arguments from the 'neuron' backend."


def failed(message: str, outcome: Outcome = Outcome.FAILED) -> Observed:
    return Observed(outcome, None, message, signature(message))


SEEN = {
    "a::2": failed(CLOSE.format(a=2, r=0.5)),
    "a::1": failed(CLOSE.format(a=3, r=0.7)),
    "a::sin": failed(MISSING),
    "a::boom": failed("Fatal Python error: Segmentation fault", Outcome.CRASHED),
    "a::slow": failed("exceeded its time limit of 300 s and was killed", Outcome.TIMED_OUT),
    "a::big": failed("killed by the operating system for its memory (signal 9)", Outcome.OUT_OF_MEMORY),
    "a::flaky": Observed(Outcome.FLAKY),
    "a::silent": Observed(Outcome.FAILED),
    "a::fine": Observed(Outcome.PASSED, fell_back=False),
    "a::cpu": Observed(Outcome.PASSED, fell_back=True),
    "a::skipped": Observed(Outcome.SKIPPED),
    "a::lost": Observed(Outcome.NOT_RUN),
}


def test_failures_are_grouped_by_signature_and_expect_what_was_seen() -> None:
    found = propose(SEEN, {}, ORIGIN)
    assert [(str(e.expect), str(e.category), e.tests) for e in found.entries] == [
        ("fail", "wrong-result", ("a::1", "a::2")),
        ("crash", "runtime", ("a::boom",)),
        ("fail", "unknown", ("a::silent",)),
        ("fail", "unsupported-op", ("a::sin",)),
        ("flaky", "unknown", ("a::flaky",)),
        ("skip", "memory", ("a::big",)),
        ("timeout", "slow", ("a::slow",)),
    ]
    assert (found.tests, found.listed, found.lost) == (8, 0, ("a::lost",))
    skiplist, problems = parse_files([("a.toml", render_list(found.entries))])
    assert problems == ()
    assert skiplist.entries == found.entries


def test_every_guess_is_marked_and_says_where_it_comes_from() -> None:
    for one in propose(SEEN, {}, ORIGIN).entries:
        assert one.guess
        assert one.reason.startswith("Guessed from run 7: ")
        assert (one.owner, one.added, one.emulated) == ("me", date(2026, 11, 1), None)
    emulated = Origin("run 7", date(2026, 11, 1), emulated=True)
    assert {one.emulated for one in propose(SEEN, {}, emulated).entries} == {True}


def test_the_message_is_a_part_that_does_not_vary_and_all_failures_have() -> None:
    entries = propose(SEEN, {}, ORIGIN).entries
    messages = {one.tests[0]: one.message for one in entries}
    assert all(re.search(messages["a::1"], SEEN[test].message) for test in ("a::1", "a::2"))
    assert re.search(messages["a::sin"], MISSING)
    assert not re.search(messages["a::sin"], MISSING.replace("sin", "cos"))
    assert [messages[test] for test in ("a::silent", "a::boom", "a::slow", "a::flaky")] == ["", "", "", ""]


def test_what_an_entry_expects_is_left_out_and_what_it_does_not_is_not() -> None:
    listed = {
        "a::1": Expectation.FAIL,
        "a::2": Expectation.SKIP,
        "a::boom": Expectation.FAIL,
        "a::slow": Expectation.TIMEOUT,
        "a::big": Expectation.SKIP,
        "a::flaky": Expectation.FLAKY,
    }
    found = propose(SEEN, listed, ORIGIN)
    assert [one.tests for one in found.entries] == [("a::boom",), ("a::silent",), ("a::sin",)]
    assert found.listed == 5


def test_passes_on_the_cpu_are_listed_on_request() -> None:
    entries = propose(SEEN, {}, ORIGIN, fallbacks=True).entries
    (cpu,) = [one for one in entries if one.expect is Expectation.FALLBACK]
    assert (cpu.tests, str(cpu.category), cpu.reason) == (
        ("a::cpu",),
        "not-native",
        "Guessed from run 7: the operator ran on the CPU.",
    )
    assert not any(
        "a::cpu" in one.tests for one in propose(SEEN, {"a::cpu": Expectation.FALLBACK}, ORIGIN, fallbacks=True).entries
    )


def test_ids_are_new_and_the_same_run_gives_the_same_entries() -> None:
    first = propose(SEEN, {}, ORIGIN)
    taken = {one.id for one in first.entries}
    again = propose(SEEN, {}, ORIGIN, taken=taken)
    assert len(taken) == len(first.entries)
    assert not taken & {one.id for one in again.entries}
    assert propose(dict(reversed(list(SEEN.items()))), {}, ORIGIN).entries == first.entries
    odd = {"a::x": Observed(Outcome.FAILED, None, "¿?\x00\ud800 'q' \\d(", "¿?\x00\ud800 'q' \\d(")}
    (one,) = propose(odd, {}, ORIGIN).entries
    assert parse_files([("a.toml", render_list([one]))])[1] == ()


@pytest.mark.parametrize(
    ("text", "category"),
    [
        (MISSING, Category.UNSUPPORTED_OP),
        ("RuntimeError: \"sin_cpu\" not implemented for 'ComplexHalf'", Category.UNSUPPORTED_DTYPE),
        ("RuntimeError: complex64 is not supported", Category.UNSUPPORTED_DTYPE),
        ("NotImplementedError: Could not run 'aten::_sparse_coo_tensor_with_dims'", Category.UNSUPPORTED_LAYOUT),
        (CLOSE.format(a=1, r=0.5), Category.WRONG_RESULT),
        (CLOSE.format(a=1, r="1.9e-05"), Category.PRECISION),
        (CLOSE.format(a=1, r="inf"), Category.WRONG_RESULT),
        (CLOSE.format(a=1, r="."), Category.WRONG_RESULT),
        ("AssertionError: RuntimeError not raised", Category.ERROR_TEXT),
        ("RuntimeError: Compilation failed with code 70", Category.COMPILER),
        ("torch.OutOfMemoryError: out of memory", Category.MEMORY),
        ("ModuleNotFoundError: No module named 'scipy'", Category.ENVIRONMENT),
        ("AssertionError: Torch not compiled with CUDA enabled", Category.TEST_ASSUMPTION),
        ("AssertionError: x", Category.UNKNOWN),
        ("", Category.UNKNOWN),
    ],
)
def test_causes_are_guessed_from_texts(text: str, category: Category) -> None:
    assert guess_category(Expectation.FAIL, text) is category
