"""Build a small database that has everything a report or a page must cope with."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.signature import signature
from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.operator import ModuleInventory, OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result, SampleAccount
from conformance.model.run import RunInfo, RunState
from conformance.store import Database, RunWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ODD_OPERATOR = """odd.<script>alert("1")</script> & 'quoted'"""

_FAMILIES = {
    "pointwise": "add sub mul div.floor_rounding div.trunc_rounding sin asin cos exp log1p abs clamp where sigmoid pow",
    "reduction": "sum mean amax argmax prod var std logsumexp all any",
    "linear algebra": "matmul bmm addmm linalg.det linalg.svd linalg.qr linalg.solve einsum dot",
    "neural network": "nn.functional.relu nn.functional.gelu nn.functional.linear nn.functional.conv2d softmax",
    "indexing": "gather scatter_add index_select masked_fill take nonzero",
    "shape": "cat stack permute reshape split transpose unfold view",
    "spectral": "fft.fft fft.ifft stft",
    "other": "sort topk cumsum unique searchsorted bincount histc",
}

# The life of an operator: what its tests do. The order makes the first operators cover every status.
_TEMPERS = (
    "native",
    "native",
    "fallback",
    "partial",
    "native",
    "failing",
    "crashing",
    "skipped",
    "untested",
    "native",
    "fallback",
    "lost",
)

_DTYPES = ("float32", "bfloat16", "int64")
_TEMPLATES = ("test_forward", "test_backward", "test_out")
_MODULES = ("nn.Linear", "nn.Conv2d", "nn.LSTM", "nn.LayerNorm", "nn.Embedding", "nn.MultiheadAttention", "nn.GELU")

_MISMATCH = """AssertionError: Tensor-likes are not close!

Mismatched elements: {a} / 25 ({b}.0%)
Greatest absolute difference: 0.{a}{b} at index ({c}, 2) (up to 1e-05 allowed)
Greatest relative difference: 1.{b} at index (0, {c}) (up to 1.3e-06 allowed)"""
_DEVICES = (
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, neuron:{c} and cpu!"
)
_MISSING = "NotImplementedError: Could not run 'aten::{op}' with arguments from the 'neuron' backend."
_MARKUP = "ValueError: <b>not bold</b> & \"quotes\" in '{op}'\x00 \ud800 end"

TOLERANCES = {"float32": "rtol 1.3e-06, atol 1e-05", "bfloat16": "rtol 0.016, atol 1e-05", "int64": "rtol 0, atol 0"}


@dataclass(frozen=True)
class _Scene:
    """What makes one run of the sample different from another."""

    index: int
    operators: int
    seed: int

    @property
    def emulated(self) -> bool:
        return self.index % 3 != 1

    @property
    def interrupted(self) -> bool:
        return self.index % 3 == 2

    @property
    def day(self) -> str:
        return f"2026-{10 + self.index // 28:02d}-{1 + self.index % 28:02d}"


def build_sample(path: Path, *, runs: int = 1, operators: int = 60, seed: int = 0) -> Path:
    """Write ``runs`` runs of ``operators`` operators into the database and return its path.

    From 12 operators on, the first run has every outcome and every operator status. Of three runs the first is
    emulated and complete, the second on a real device and complete, the third emulated and interrupted; a fourth
    starts again. The same arguments make the same rows.
    """
    with Database.create_or_open(path) as database:
        for index in range(runs):
            _write_run(database, _Scene(index, operators, seed))
    return path


def _write_run(database: Database, scene: _Scene) -> None:
    chance = random.Random(scene.seed * 1000 + scene.index)
    writer = RunWriter(database, flush_interval_s=3600)
    writer.begin(_info(scene))
    inventory = _inventory(scene.operators)
    writer.write_inventory(operators=inventory, modules=[ModuleInventory(name, _DTYPES[:2]) for name in _MODULES])
    plan = [planned for operator, temper in _cast(inventory, scene) for planned in _operator_plan(operator, temper)]
    plan += [planned for module in _MODULES[:-1] for planned in _module_plan(module)]
    plan += _local_plan()
    writer.write_plan(plan)
    writer.start(started_at=f"{scene.day}T02:00:05Z")
    tempers = {operator.name: temper for operator, temper in _cast(inventory, scene)}
    for count, planned in enumerate(plan):
        if scene.interrupted and count > len(plan) * 2 // 3:
            break
        for result in _results(planned.identity, tempers, scene, chance):
            writer.add(result)
    if scene.interrupted:
        writer.finish(RunState.INTERRUPTED, finished_at=f"{scene.day}T02:07:00Z")
    else:
        writer.finish(RunState.COMPLETE, finished_at=f"{scene.day}T03:12:41Z")


def _info(scene: _Scene) -> RunInfo:
    return RunInfo(
        key=hashlib.sha256(f"{scene.seed} {scene.index}".encode()).hexdigest()[:32],
        created_at=f"{scene.day}T02:00:00Z",
        suites=("opinfo", "modules", "local"),
        device="neuron",
        device_name="emulated neuron" if scene.emulated else "Trainium2",
        emulated=scene.emulated,
        torch_version="2.13.0",
        backend="conformance emulator" if scene.emulated else "torch-neuronx",
        backend_version="0.1.0" if scene.emulated else "2.13.3.1",
        harness_version="0.1.0",
        python_version="3.11.7",
        host="trn2-<host>",
        operating_system="Linux 6.8 x86_64",
        command="conformance run opinfo modules --device neuron -k 'not \"slow\"'",
        selection="" if scene.index % 3 != 2 else "--ops '*'",
        probe="observer",
        seed=scene.seed,
        environment={"OMP_NUM_THREADS": "1", "PYTORCH_TEST_WITH_SLOW": "1"},
    )


def _inventory(operators: int) -> list[OperatorInfo]:
    known = [(name, family) for family, names in _FAMILIES.items() for name in names.split()]
    known = known[: max(operators - 1, 0)]
    known += [(f"special.made_up_{number}", "other") for number in range(operators - 1 - len(known))]
    if operators > 0:
        known.append((ODD_OPERATOR, "other"))
    return [
        OperatorInfo(name, name.replace(".", "_"), family, (*_DTYPES, "complex64"), supports_out=family != "shape")
        for name, family in known
    ]


def _cast(inventory: list[OperatorInfo], scene: _Scene) -> list[tuple[OperatorInfo, str]]:
    """Give each operator its temper; a later run has cured some failing ones and lost a native one."""
    tempers = [_TEMPERS[index % len(_TEMPERS)] for index in range(len(inventory))]
    for index, temper in enumerate(tempers):
        if temper == "failing" and index // len(_TEMPERS) < scene.index // 3 + scene.index % 2:
            tempers[index] = "native"
    if scene.index and tempers:
        tempers[0] = "partial"
    return list(zip(inventory, tempers, strict=True))


def _planned(identity: Identity, folder: str = "") -> PlannedTest:
    suffix = f"_{identity.dtype}" if identity.dtype else ""
    name = f"{identity.name.removesuffix(suffix)}_neuron{suffix}"
    return PlannedTest(f"{folder}{identity.file}::{identity.class_name}NEURON::{name}", identity)


def _operator_plan(operator: OperatorInfo, temper: str) -> Iterator[PlannedTest]:
    if temper == "untested":
        return
    formatted = operator.name.replace(".", "_")
    for dtype in _DTYPES:
        for template in _TEMPLATES:
            name = f"{template}_{formatted}_{dtype}"
            yield _planned(
                Identity("opinfo", "TestOperators", name, Suite.OPINFO, template, op=operator.name, dtype=dtype)
            )


def _module_plan(module: str) -> Iterator[PlannedTest]:
    formatted = module.replace(".", "_")
    for dtype in _DTYPES[:2]:
        for template in ("test_module_forward", "test_module_backward"):
            name = f"{template}_{formatted}_{dtype}"
            yield _planned(
                Identity("modules", "TestModules", name, Suite.MODULES, template, module=module, dtype=dtype)
            )


def _local_plan() -> list[PlannedTest]:
    """Plan tests that have neither operator nor dtype; their outcomes are in their names."""
    names = [f"test_{outcome}" for outcome in Outcome]
    names += ["test_names[<script>-'\"-\n]", "test_mended"]
    return [_planned(Identity("tests/test_local.py", "TestLocal", name, Suite.LOCAL, name), "here/") for name in names]


def _results(identity: Identity, tempers: dict[str, str], scene: _Scene, chance: random.Random) -> Iterator[Result]:
    worker = f"w{chance.randrange(4)}"
    duration_s = round(chance.uniform(0.002, 0.4), 6)
    if identity.suite is Suite.LOCAL:
        yield from _local_results(identity, duration_s, worker)
        return
    temper = tempers.get(identity.op or "", "native")
    if identity.module:
        temper = _TEMPERS[_MODULES.index(identity.module)]
    outcome, message = _fate(identity, temper, chance)
    if outcome is Outcome.NOT_RUN:
        return
    fell_back = (temper == "fallback" or (temper == "partial" and identity.dtype == "int64")) and outcome not in (
        Outcome.SKIPPED,
        Outcome.XFAILED,
    )
    overload = f"aten::{(identity.op or 'add').split('.')[-1]}.out"
    inside: tuple[str, ...] = (overload,) if fell_back else ()
    if fell_back and identity.template == "test_backward":
        inside = tuple(sorted((overload, "aten::_foreach_add.List")))
    died = outcome.is_death
    ran = 0 if outcome is Outcome.SKIPPED else 8
    passed = ran if outcome in (Outcome.PASSED, Outcome.XPASSED) else ran // 3
    first_failure = "" if passed == ran else "sample 2: Tensor[(5, 5), float32]"
    skipped_or_expected = outcome in (Outcome.SKIPPED, Outcome.XFAILED)
    yield Result(
        test_id=identity.test_id,
        outcome=outcome,
        duration_s=60.0 if outcome is Outcome.TIMED_OUT else duration_s,
        reason=message if skipped_or_expected else "",
        message="" if skipped_or_expected else message,
        details=f"Traceback (most recent call last):\n  in {identity.name}\n{message}" if outcome.is_bad else "",
        signature=signature(message) if outcome.is_bad else "",
        samples=None if died else SampleAccount(ran, passed, first_failure),
        fallback=None if died else FallbackAccount(inside, tuple(sorted({*inside, "aten::_local_scalar_dense"}))),
        worker=worker,
        tolerance=TOLERANCES.get(identity.dtype or "", "") if not died and not skipped_or_expected else "",
    )


def _fate(identity: Identity, temper: str, chance: random.Random) -> tuple[Outcome, str]:
    """Return the outcome of a test of such an operator and what was said about it."""
    op = identity.op or identity.module or ""
    a, b, c = chance.randrange(1, 9), chance.randrange(10, 99), chance.randrange(4)
    mismatch = _MISMATCH.format(a=a, b=b, c=c)
    match temper:
        case "partial" if identity.template in ("test_out", "test_module_backward"):
            return Outcome.FAILED, mismatch
        case "failing":
            texts = (_MISSING.format(op=op), _DEVICES.format(c=c), mismatch, _MARKUP.format(op=op))
            return Outcome.FAILED, texts[_TEMPLATES.index(identity.template) if identity.op else 3]
        case "crashing" if identity.dtype == "bfloat16":
            return (
                (Outcome.CRASHED, "Fatal Python error: Segmentation fault (signal 11)"),
                (Outcome.TIMED_OUT, "exceeded its time limit of 60 s and was killed"),
                (Outcome.OUT_OF_MEMORY, "killed by the operating system for its memory (signal 9)"),
            )[_TEMPLATES.index(identity.template) if identity.op else 0]
        case "skipped":
            if identity.dtype == "int64":
                return Outcome.XFAILED, "expected failure: not differentiable"
            return Outcome.SKIPPED, f"Skipped! {identity.dtype} is not supported on neuron"
        case "lost" if identity.template == "test_backward":
            return Outcome.NOT_RUN, ""
        case "native" if identity.dtype == "int64" and identity.template == "test_backward":
            return Outcome.SKIPPED, "does not require grad"
        case _:
            return Outcome.PASSED, ""


def _local_results(identity: Identity, duration_s: float, worker: str) -> Iterator[Result]:
    if identity.name == "test_not_run":
        return
    if identity.name == "test_mended":
        broken = Result(
            identity.test_id, Outcome.CRASHED, duration_s, message="Aborted (signal 6)", signature="Aborted"
        )
        yield broken
        yield Result(identity.test_id, Outcome.FLAKY, duration_s, attempt=2, worker=worker)
        return
    names = {f"test_{outcome}": outcome for outcome in Outcome}
    outcome = names.get(identity.name, Outcome.PASSED)
    message = "fixture 'tmp' not found" if outcome is Outcome.ERROR else "assert 1 == 2" if outcome.is_bad else ""
    yield Result(
        identity.test_id,
        outcome,
        duration_s,
        reason="not here" if outcome in (Outcome.SKIPPED, Outcome.XFAILED) else "",
        message=message,
        signature=signature(message),
        worker=worker,
    )
