"""Write a database of several runs of one scope, with a skiplist that burns down and kernels that get registered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.analysis.signature import signature
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.listed import ListedEntry
from conformance.model.operator import ModuleInventory, OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.registration import Registration, RegistrationKind
from conformance.model.result import FallbackAccount, Result, SampleAccount
from conformance.model.run import RunState
from conformance.store import Database, RunWriter
from tests.publish.building import info

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conformance.model.run import RunInfo

DTYPES = ("float32", "bfloat16", "int64")
TEMPLATES = ("test_forward", "test_backward")
GROUPS = {
    "pointwise": ("add", "sub", "mul", "sin", "exp", "clamp"),
    "linear algebra": ("matmul", "linalg.svd", "linalg.qr"),
    "reduction": ("sum", "mean", "argmax"),
    "indexing": ("gather", "nonzero"),
    "hostile": ("<script>alert(1)</script>", "../up"),
}
OPERATORS = {name: group for group, names in GROUPS.items() for name in names}
MODULES = ("nn.Linear", "nn.LSTM")

# What the backend registers: the first runs lack kernels that later ones have.
KERNELS = ("aten::add.Tensor", "aten::mul.Tensor", "aten::sub.Tensor", "aten::mm", "aten::sum", "aten::mean.dim")
FALLING_BACK = ("aten::linalg_svd.U", "aten::_linalg_svd.U", "aten::linalg_qr", "aten::sin", "aten::exp")

ENTRIES = (
    ListedEntry(
        "no-int64-backward",
        "fail",
        "unsupported-dtype",
        "The device computes int64 in 32 bits.",
        link="https://example.org/issues/1",
        owner="numerics",
        added="2026-06-01",
    ),
    ListedEntry("qr-crashes", "crash", "runtime", "", owner="", added="2026-10-25", expires="2026-11-02", guess=True),
    ListedEntry("hostile", "skip", "unknown", "<b>why</b>", link="javascript:alert(1)", added="2025-01-01"),
    ListedEntry("matches-nothing", "fail", "precision", "was about a dtype that is gone", owner="numerics"),
)


def write_series(path: Path, *, runs: int = 4, last: RunState = RunState.COMPLETE) -> Path:
    """Write ``runs`` runs, a day apart; from one to the next things are fixed and, in the third, regress."""
    with Database.create_or_open(path) as database:
        for number in range(runs):
            _write(database, number, last if number == runs - 1 else RunState.COMPLETE)
    return path


def _info(number: int) -> RunInfo:
    return replace(
        info(
            key=f"{number:032x}",
            suites=("modules", "opinfo"),
            command="conformance run --device neuron --skiplist auto",
            torch_version="2.13.0",
        ),
        created_at=f"2026-11-{number + 1:02d}T02:00:00Z",
        backend_version=f"0.1.{number}",
        skiplist="neuron/operators.toml",
        versions=(("compiler", f"2.{number}"),),
        retries=1,
    )


def _write(database: Database, number: int, state: RunState) -> None:
    writer = RunWriter(database, flush_interval_s=3600)
    writer.begin(_info(number))
    writer.write_inventory(
        operators=[
            OperatorInfo(name, name.replace(".", "_"), group, (*DTYPES, "complex64"))
            for name, group in OPERATORS.items()
        ],
        modules=[ModuleInventory(name, DTYPES[:1]) for name in MODULES],
    )
    kinds = dict.fromkeys(KERNELS, RegistrationKind.KERNEL) | dict.fromkeys(FALLING_BACK, RegistrationKind.FALLBACK)
    kinds |= {"aten::matmul": RegistrationKind.COMPOSITE, "aten::_nested_x": RegistrationKind.MISSING}
    writer.write_registrations([Registration(overload, kind) for overload, kind in sorted(kinds.items())])
    writer.write_skiplist(ENTRIES)
    plan = list(_plan(number))
    writer.write_plan(plan)
    writer.start(started_at=f"2026-11-{number + 1:02d}T02:00:05Z")
    for count, planned in enumerate(plan):
        if state is not RunState.COMPLETE and count > len(plan) // 2:
            break
        for result in _results(planned, number):
            writer.add(result)
    writer.flush()
    if state is not RunState.RUNNING:
        writer.finish(state, finished_at=f"2026-11-{number + 1:02d}T03:00:00Z")


def _plan(number: int) -> Iterator[PlannedTest]:
    for name in OPERATORS:
        if name == "nonzero" or (name == "clamp" and number == 0):
            continue  # never tested, and tested from the second run on
        for dtype in DTYPES:
            for template in TEMPLATES:
                test = f"{template}_{name.replace('.', '_')}_{dtype}"
                identity = Identity("opinfo", "TestOperators", test, Suite.OPINFO, template, op=name, dtype=dtype)
                yield PlannedTest(identity.test_id, identity, _entry(name, dtype, template, number))
    for module in MODULES:
        test = f"test_module_forward_{module.replace('.', '_')}_float32"
        identity = Identity(
            "modules", "TestModules", test, Suite.MODULES, "test_module_forward", module=module, dtype="float32"
        )
        yield PlannedTest(identity.test_id, identity)


def _entry(name: str, dtype: str, template: str, number: int) -> str:
    if name.startswith("<script>"):
        return "hostile"
    if name == "linalg.qr":
        return "qr-crashes"
    # The list grows shorter by an operator a run.
    listed = list(OPERATORS)[number : number + 6 - number]
    return "no-int64-backward" if dtype == "int64" and template == "test_backward" and name in listed else ""


def _results(planned: PlannedTest, number: int) -> Iterator[Result]:
    identity = planned.identity
    name = identity.op or identity.module or ""
    outcome, message = _fate(name, identity.dtype or "", identity.template, number)
    overload = f"aten::{name.replace('.', '_')}"
    falls_back = (name in ("linalg.svd", "exp") or (name == "sin" and number < 2)) and not outcome.is_bad
    inside = (overload,) if falls_back else ()
    account = None if outcome.is_death else FallbackAccount(inside, (*inside, "aten::_local_scalar_dense"))
    if name == "argmax" and identity.dtype == "float32" and number == 1:
        yield Result(
            identity.test_id, Outcome.FAILED, 0.1, message="RuntimeError: busy", signature="RuntimeError: busy"
        )
        yield Result(identity.test_id, Outcome.FLAKY, 0.1, attempt=2, fallback=account)
        return
    silent = outcome in (Outcome.SKIPPED, Outcome.XFAILED)
    yield Result(
        identity.test_id,
        outcome,
        0.001 * (1 + len(name)),
        reason=message if silent else "",
        message="" if silent else message,
        signature=signature(message) if outcome.is_bad else "",
        samples=None if outcome.is_death else SampleAccount(4, 1 if outcome.is_bad else 4, "sample 1: float32[2]"),
        fallback=account,
    )


def _fate(name: str, dtype: str, template: str, number: int) -> tuple[Outcome, str]:
    match name:
        case "mul" if number == 2 and dtype == "bfloat16":
            return Outcome.FAILED, "AssertionError: mul is off by 0.5"
        case "matmul" if number < 3 and template == "test_backward":
            return Outcome.FAILED, "RuntimeError: no backward of matmul"
        case "linalg.qr":
            return (Outcome.CRASHED, "Aborted (signal 6)") if number < 3 else (Outcome.FAILED, "RuntimeError: no QR")
        case "gather" if dtype == "int64":
            return Outcome.SKIPPED, "does not require grad"
        case "../up":
            return Outcome.FAILED, "ValueError: <img src=x onerror=alert(1)>"
        case _ if dtype == "int64" and template == "test_backward" and name in list(OPERATORS)[number : number + 2]:
            return Outcome.FAILED, "RuntimeError: int64 in 32 bits"
        case _:
            return Outcome.PASSED, ""
