"""A run of operators in eager mode and under torch.compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.compilation import CompileAccount
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.operator import OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import RunState
from conformance.store import Database, RunWriter
from tests.store.building import run_info

if TYPE_CHECKING:
    from pathlib import Path

DAY = "2026-11-01T00:00:00Z"
TEMPLATES = ("test_forward", "test_compile", "test_compile_dynamic")


def _test(template: str, op: str) -> PlannedTest:
    identity = Identity(
        "opinfo", "TestOperators", f"{template}_{op}_float32", Suite.OPINFO, template, op=op, dtype="float32"
    )
    return PlannedTest(identity.test_id, identity)


def _account(graphs: int, *, seconds: float | None = 0.5, breaks: int = 0) -> CompileAccount:
    return CompileAccount("neuron", seconds, graphs, breaks, graphs and graphs - 1, 1024 * (graphs + 1))


ENDS = {
    "sin": ((Outcome.PASSED, None), (Outcome.PASSED, _account(3)), (Outcome.FAILED, _account(0))),
    "nonzero": ((Outcome.PASSED, None), (Outcome.PASSED, _account(0, seconds=0.1, breaks=3)), (Outcome.SKIPPED, None)),
    "cos": ((Outcome.FAILED, None), (Outcome.TIMED_OUT, None), (Outcome.XFAILED, _account(1, seconds=None))),
}


def write_compiled_run(path: Path, *, operators: int = 0, eager: bool = True) -> Path:
    """Write a run of the operators of ``ENDS`` and of others that pass in every mode, with the eager one or not."""
    templates = TEMPLATES[0 if eager else 1 :]
    more = {
        f"op{number}": ((Outcome.PASSED, None), *[(Outcome.PASSED, _account(1))] * 2) for number in range(operators)
    }
    ends = {**ENDS, **more}
    with Database.create_or_open(path) as database:
        writer = RunWriter(database)
        writer.begin(run_info(suites=("opinfo",), emulated=True))
        writer.write_inventory(operators=[OperatorInfo(op, op, "pointwise", ("float32",)) for op in ends], modules=[])
        writer.write_plan([_test(template, op) for op in ends for template in templates])
        writer.start(started_at=DAY)
        for op, by_template in ends.items():
            for template, (outcome, compilation) in zip(templates, by_template[-len(templates) :], strict=True):
                writer.add(
                    Result(
                        *(_test(template, op).identity.test_id, outcome),
                        fallback=FallbackAccount(),
                        compilation=compilation,
                    )
                )
        writer.finish(RunState.COMPLETE, finished_at=DAY)
    return path
