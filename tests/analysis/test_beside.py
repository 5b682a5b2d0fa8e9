"""Which run is asked about torch.compile where the run at hand has nothing to say."""

from __future__ import annotations

from dataclasses import replace

from conformance.analysis.beside import is_whole, newest_compiled, runs_beside
from conformance.model.compilation import CompileMode
from conformance.model.operator import OperatorStatus
from conformance.model.run import RunState
from conformance.store import CompileStatusRow, RunRow


def run(number: int, *, suites: tuple[str, ...] = ("opinfo",), device: str = "neuron") -> RunRow:
    return RunRow(
        *(number, f"{number:032x}", "2026-11-01T00:00:00Z", suites, device, "", True, "2.13.0", "b", "1", "1", "3.11"),
        *("h", "L", "c", "", "observer", 0, RunState.COMPLETE, None, None, 3),
    )


def row(*, op: str | None = None, module: str | None = None, not_run: int = 0) -> CompileStatusRow:
    status = OperatorStatus.UNTESTED if not_run else OperatorStatus.NATIVE
    counts = (1, 1 - not_run, 0, 0, 0, 0, not_run, 0, 0)
    return CompileStatusRow(op, module, CompileMode.STATIC, status, *counts, None, None, None, None, None)


ROWS = {
    1: [row(op="a")],
    2: [row(op="b"), row(module="nn.B")],
    3: [row(op="c", not_run=1)],
    4: [row(op="d")],
    5: [row(op="e")],
}


def asked(shown: RunRow, *every: RunRow, noun: str = "operator") -> tuple[int, list[str | None]] | None:
    found = newest_compiled(shown, every, lambda number: ROWS.get(number, []), noun=noun)
    return None if found is None else (found[0].id, [one.op or one.module for one in found[1]])


def test_the_run_itself_comes_first_and_then_the_newest_of_the_device_with_a_result() -> None:
    shown = run(9)
    assert asked(run(1), run(1), run(2)) == (1, ["a"])
    assert asked(shown, run(1), run(2), run(3), run(4, device="xpu"), shown) == (2, ["b"])
    assert asked(shown, run(3), run(4, device="xpu"), shown) is None
    assert asked(shown, run(1, suites=("upstream",)), shown) is None


def test_operators_and_modules_are_asked_for_apart() -> None:
    assert asked(run(9), run(2), run(5), noun="module") == (2, ["nn.B"])
    assert asked(run(9), run(2), run(5)) == (5, ["e"])


def test_a_whole_run_comes_before_a_newer_part() -> None:
    part = replace(run(5), shard=1, shards=2)
    broken = replace(run(4), state=RunState.INTERRUPTED)
    assert (is_whole(run(1)), is_whole(part), is_whole(broken)) == (True, False, False)
    assert asked(run(9), run(1), broken, part) == (1, ["a"])
    assert asked(run(9), broken, part) == (5, ["e"])


def test_a_device_that_was_told_something_else_is_another_one() -> None:
    shown = run(9)
    others = [
        replace(run(1), environment={"CONFORMANCE_NEURON_FAULTS": "fail aten::mm"}),
        replace(run(2), environment={"CONFORMANCE_NEURON_PROFILE": "other"}),
        replace(run(4), environment={"OMP_NUM_THREADS": "1", "CONFORMANCE_NEURON_FAULTS": " "}),
        replace(run(5), emulated=False),
    ]
    assert [other.id for other in runs_beside(shown, [*others, shown])] == [4]
    assert asked(shown, *others, shown) == (4, ["d"])
