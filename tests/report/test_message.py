from __future__ import annotations

from conformance.analysis.signature import signature
from conformance.report.message import has_own_cause, sample_line, telling_lines

MISMATCH = """AssertionError: result 0: Tensor-likes are not close!

Mismatched elements: 3 / 54 (5.6%)
Greatest absolute difference: 2.4e-07 at index (0, 2) (up to 1e-07 allowed)

4 of 5 samples passed; the first failure: sample 4: float32[2]"""


def test_an_announcement_is_told_with_what_it_announces() -> None:
    assert telling_lines(MISMATCH) == [
        "AssertionError: result 0: Tensor-likes are not close!",
        "Mismatched elements: 3 / 54 (5.6%)",
        "Greatest absolute difference: 2.4e-07 at index (0, 2) (up to 1e-07 allowed)",
    ]


def test_only_the_first_paragraph_is_told_where_it_says_something() -> None:
    assert telling_lines("ValueError: no\n  \nmore\n\n0 of 1 samples passed; the first failure: x") == [
        "ValueError: no"
    ]
    assert telling_lines(
        "AssertionError: RuntimeError not raised\n\n13 of 14 samples passed; the first failure: x"
    ) == ["AssertionError: RuntimeError not raised"]


def test_the_advice_of_the_dispatcher_is_left_out() -> None:
    cause = "NotImplementedError: Could not run 'aten::x' with arguments from the 'neuron' backend."
    advice = (
        "This could be because the operator doesn't exist for this backend, or was omitted. 'aten::x' is only for: CPU"
    )
    assert telling_lines(f"{cause} {advice}\n\nCPU: registered at x.cpp:1") == [cause]


def test_nothing_is_left_of_nothing() -> None:
    assert telling_lines("") == telling_lines(" \n\n ") == []


def test_a_message_is_told_even_where_it_holds_only_the_count_of_samples() -> None:
    only = "1 of 2 samples passed; the first failure: sample 1"
    assert telling_lines(only) == [only]


def test_a_signature_of_the_message_is_no_cause_of_its_own() -> None:
    assert not has_own_cause(signature(MISMATCH), MISMATCH)
    assert not has_own_cause("", "anything")
    assert has_own_cause("SIGSEGV in aten::sin", "the worker process died: SIGSEGV (signal 11)")
    assert has_own_cause("x", "")


def test_samples_are_counted_where_they_are_known() -> None:
    assert sample_line("sample 4: x", 5, 4) == "4 of 5 passed; first failure: sample 4: x"
    assert sample_line("sample 4: x", None, None) == "sample 4: x"
    assert sample_line("", 5, 5) == sample_line("", None, None) == ""
