"""Write runs whose tests use torch.compile, alone or beside tests in eager mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.analysis.signature import signature
from conformance.model.compilation import CompileAccount
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.operator import ModuleInventory, OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import RunState
from conformance.store import Database, RunWriter
from tests.publish.building import info

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

EAGER, COMPILE, DYNAMIC = "test_forward", "test_compile", "test_compile_dynamic"
EVERY = (EAGER, COMPILE, DYNAMIC)
SYMBOL = "NotImplementedError: no <b>symbols</b> here\nin /home/someone/secret/torch/compiler.py"

End = tuple[Outcome, CompileAccount | None]


def account(graphs: int, *, seconds: float | None = 0.5, breaks: int = 0, again: int | None = 2) -> CompileAccount:
    """Return what torch.compile did in a test; what is None could not be told."""
    return CompileAccount("neuron", seconds, graphs, breaks, again, 3 * 2**20 if graphs else None)


PASSED: End = (Outcome.PASSED, None)
ENDS: Mapping[str, Mapping[str, End]] = {
    "sin": {
        EAGER: PASSED,
        COMPILE: (Outcome.PASSED, account(3)),
        DYNAMIC: (Outcome.FAILED, account(0, seconds=None, again=None)),
    },
    "nonzero": {EAGER: PASSED, COMPILE: (Outcome.PASSED, account(0, breaks=3)), DYNAMIC: (Outcome.SKIPPED, None)},
    "cos": {EAGER: (Outcome.FAILED, None), COMPILE: (Outcome.TIMED_OUT, None)},
    "add": {EAGER: PASSED},
}
MODULE: Mapping[str, End] = {EAGER: PASSED, COMPILE: (Outcome.PASSED, account(1)), DYNAMIC: (Outcome.NOT_RUN, None)}


def write_compiled(
    path: Path,
    *,
    number: int,
    templates: Sequence[str] = EVERY,
    ends: Mapping[str, Mapping[str, End]] = ENDS,
    module: Mapping[str, End] | None = MODULE,
    environment: Mapping[str, str] | None = None,
    probe: str = "observer",
    state: RunState = RunState.COMPLETE,
) -> Path:
    """Write a run of the operators in ``ends``, and of the module nn.Linear unless it is None."""
    selection = "" if EAGER in templates else "--templates compile,compile_dynamic"
    described = info(key=f"{number:032x}", environment=environment, probe=probe, selection=selection)
    with Database.create_or_open(path) as database:
        writer = RunWriter(database, flush_interval_s=3600)
        writer.begin(described)
        writer.write_inventory(
            operators=[OperatorInfo(name, name, "pointwise", ("float32",)) for name in ends],
            modules=[ModuleInventory("nn.Linear", ("float32",))] if module else [],
        )
        tests = [
            (_identity(template, op=name), by_template[template])
            for name, by_template in ends.items()
            for template in templates
            if template in by_template
        ]
        tests += [(_identity(template), module[template]) for template in templates if module and template in module]
        writer.write_plan([PlannedTest(identity.test_id, identity) for identity, _ in tests])
        writer.start(started_at=f"2026-11-{number:02d}T01:00:00Z")
        for identity, (outcome, compilation) in tests:
            if outcome is Outcome.NOT_RUN:
                continue
            message = SYMBOL if outcome.is_bad else ""
            writer.add(
                Result(
                    *(identity.test_id, outcome, 0.25),
                    reason="a reason" if outcome is Outcome.SKIPPED else "",
                    message=message,
                    signature=signature(message),
                    fallback=FallbackAccount() if probe else None,
                    compilation=compilation,
                )
            )
        writer.finish(state, finished_at=f"2026-11-{number:02d}T02:00:00Z")
    return path


def _identity(template: str, op: str | None = None) -> Identity:
    if op is not None:
        name = f"{template}_{op}_float32"
        return Identity("opinfo", "TestOperators", name, Suite.OPINFO, template, op=op, dtype="float32")
    name = f"{template}_nn.Linear_float32"
    return Identity("modules", "TestModules", name, Suite.MODULES, template, module="nn.Linear", dtype="float32")
