"""Which architectures run as they are, and what keeps the others from it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.analysis.architectures import (
    FAILURE,
    OPERATOR,
    PHASES,
    architecture_status,
    architectures_of,
    failing_alike,
    is_about,
    newest_with_architectures,
)
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.store import ResultRow, RunRow

if TYPE_CHECKING:
    from collections.abc import Sequence

P, F, S, N, C = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED, Outcome.NOT_RUN, Outcome.CRASHED


def row(
    name: str,
    phase: str = "forward",
    outcome: Outcome = P,
    fallback: tuple[str, ...] | None = (),
    message: str = "",
    inside: tuple[str, ...] | None = None,
) -> ResultRow:
    test = f"models::TestModels::test_{phase}_{name}"
    return ResultRow(
        *(test, test, "models", "models", "TestModels", f"test_{phase}", None, None, None, outcome, fallback, fallback),
        *(1, 0, "", 0.5, "not made" if outcome is S else "", message, "", "", 1, "w0"),
        architecture=name,
        inside_ops=inside,
    )


@pytest.mark.parametrize(
    ("outcomes", "fell_back", "status"),
    [
        ((P, P, P), False, OperatorStatus.NATIVE),
        ((P, Outcome.XPASSED), True, OperatorStatus.FALLBACK),
        ((P, F), True, OperatorStatus.PARTIAL),
        ((P, S), False, OperatorStatus.PARTIAL),
        ((P, N), False, OperatorStatus.PARTIAL),
        ((P, Outcome.FLAKY), False, OperatorStatus.PARTIAL),
        ((F, S), False, OperatorStatus.FAILING),
        ((F, Outcome.ERROR), False, OperatorStatus.FAILING),
        ((P, C), False, OperatorStatus.CRASHING),
        ((S, S), False, OperatorStatus.SKIPPED),
        ((S, N), False, OperatorStatus.SKIPPED),
        ((N, N), False, OperatorStatus.UNTESTED),
        ((), False, OperatorStatus.UNTESTED),
    ],
)
def test_all_tests_must_pass_for_an_architecture_to_run_as_it_is(
    outcomes: Sequence[Outcome], fell_back: bool, status: OperatorStatus
) -> None:
    assert architecture_status(outcomes, fell_back=fell_back) is status


HISTC = "NotImplementedError: Could not run 'aten::histc' with arguments from the 'neuron' backend."
ROWS = [
    row("llama"),
    row("llama", "generate"),
    row("falcon", fallback=("aten::polar.out",)),
    row("falcon", "backward", fallback=("aten::mul.Tensor",)),
    row("mixtral", outcome=F, message=HISTC, fallback=("aten::histc",)),
    row("jamba", outcome=F, message=HISTC),
    row("jamba", "backward", outcome=F, message="AssertionError: off by 0.5"),
    row("olmo", outcome=F, message="AssertionError: off by 0.7"),
    row("gemma", outcome=S),
    row("mpt", fallback=("aten::histc",), inside=("aten::mm",)),
    replace(row("none"), architecture=None),
]


def test_what_cannot_be_compiled_runs_as_it_is_all_the_same() -> None:
    rows = [row("llama"), row("llama", "compile", F, message="RuntimeError: no aten::polar", fallback=("aten::polar",))]
    (llama,) = architectures_of(rows, observed=True).items
    assert (llama.status, llama.as_is, llama.blockers) == (OperatorStatus.NATIVE, True, ())
    assert llama.phases["compile"].failed
    (compiled,) = architectures_of(rows[1:], observed=True).items
    assert (compiled.status, compiled.blockers) == (OperatorStatus.FAILING, ("aten::polar",))


def test_every_planned_architecture_is_in_the_denominator() -> None:
    found = architectures_of(ROWS, observed=True)
    assert [(each.name, each.status.value) for each in found.items] == [
        ("falcon", "fallback"),
        ("gemma", "skipped"),
        ("jamba", "failing"),
        ("llama", "native"),
        ("mixtral", "failing"),
        ("mpt", "fallback"),
        ("olmo", "failing"),
    ]
    assert (found.as_is, len(found.items)) == (3, 7)
    assert sum(found.count(status) for status in OperatorStatus) == len(found.items)
    by_name = {each.name: each for each in found.items}
    assert by_name["gemma"].reason == "not made"
    assert by_name["falcon"].fallback == ("aten::mul.Tensor", "aten::polar.out")
    assert by_name["mpt"].calls == ("aten::histc", "aten::mm")
    assert by_name["jamba"].calls == ("aten::histc",)


def test_phases_without_a_test_are_columns_all_the_same_and_unknown_ones_too() -> None:
    found = architectures_of([*ROWS, row("llama", "prefill")], observed=True)
    assert found.phases == ("eager", "generate", "train", "compile", "prefill")
    assert "compile" not in found.items[3].phases


def test_what_blocks_most_architectures_comes_first() -> None:
    found = [
        (one.kind, one.name, one.blocks, one.alone, one.on_cpu)
        for one in architectures_of(ROWS, observed=True).hindrances
    ]
    off = "AssertionError: off by N"
    assert found == [
        (OPERATOR, "aten::histc", ("jamba", "mixtral"), ("mixtral",), ("mpt",)),
        (FAILURE, off, ("jamba", "olmo"), ("olmo",), ()),
        (OPERATOR, "aten::mul.Tensor", (), (), ("falcon",)),
        (OPERATOR, "aten::polar.out", (), (), ("falcon",)),
    ]
    assert architectures_of(ROWS, observed=True).hindrances[0].concerned == ("jamba", "mixtral", "mpt")


def test_a_failure_elsewhere_is_held_against_those_of_architectures() -> None:
    alike = failing_alike(architectures_of(ROWS, observed=True))
    assert alike("AssertionError: off by N") == {"jamba", "olmo"}
    assert alike("RuntimeError: aten::histc is missing") == {"jamba", "mixtral"}
    assert alike("RuntimeError: other") == frozenset()


def test_an_operator_of_atens_stands_for_all_of_its_overloads() -> None:
    assert is_about("aten::add.Tensor", "aten::add.Tensor")
    assert is_about("aten::add.Tensor", "add")
    assert not is_about("aten::add.Tensor", "aten::add")
    assert not is_about("aten::add_.Tensor", "add")


def run(number: int, *, suites: tuple[str, ...] = ("models",), device: str = "neuron", selection: str = "") -> RunRow:
    return RunRow(
        *(number, f"{number:032x}", "2026-11-01T00:00:00Z", suites, device, "", True, "2.13.0", "b", "1", "1", "3.11"),
        *("h", "L", "c", selection, "observer", 0, RunState.COMPLETE, None, None, 3),
    )


def test_the_newest_run_of_the_device_that_has_results_is_asked() -> None:
    shown = run(9, suites=("opinfo",))
    runs = [run(1), run(2), run(3, device="xpu"), run(4), run(5, selection="--ops llama"), shown]
    rows = {1: [row("a")], 2: [row("b")], 3: [row("c")], 4: [row("d", outcome=N)], 5: [row("e")]}

    def asked(one: RunRow, every: Sequence[RunRow]) -> tuple[int, str | None] | None:
        found = newest_with_architectures(one, every, lambda number: rows.get(number, []))
        return None if found is None else (found[0].id, found[1][0].architecture)

    assert asked(shown, runs) == (2, "b")
    assert asked(runs[0], runs) == (1, "a")
    assert asked(shown, [runs[2], runs[3], shown]) is None
    assert asked(shown, [runs[4], shown]) == (5, "e")
    faulty = replace(runs[1], environment={"CONFORMANCE_NEURON_FAULTS": "fail aten::mm", "OMP_NUM_THREADS": "1"})
    assert asked(shown, [runs[0], faulty, shown]) == (1, "a")
    emulated = replace(shown, emulated=False)
    assert asked(emulated, [runs[1], emulated]) is None


def test_the_phases_are_named_after_what_they_ask() -> None:
    assert list(PHASES.values()) == ["eager", "generate", "train", "compile"]
