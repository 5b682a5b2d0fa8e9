"""The templates that use torch.compile: what they record, what they notice, and that a run has them only on demand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.model.compilation import CompileMode
from conformance.model.outcome import Outcome
from conformance.store import CompileRow, Database, compile_results, operator_statuses, results
from tests.conftest import run_conformance

BOTH = "compile,compile_dynamic"


def _run(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> Path:
    done = run_conformance(
        *("run", *arguments, "--workers", "1", "--db", "a.sqlite", "--skiplist", "none"), cwd=folder, env=env or {}
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return folder / "a.sqlite"


def _numbers(path: Path) -> dict[tuple[str, CompileMode], CompileRow]:
    with Database.open_existing(path) as database:
        return {(row.op or row.module or "", row.mode): row for row in compile_results(database, 1)}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run on the emulator that refuses nothing."""
    folder = tmp_path_factory.mktemp("full")
    env = {"CONFORMANCE_NEURON": "emulated", "CONFORMANCE_NEURON_PROFILE": "full"}
    ops = "sin,add,nonzero,nn.functional.dropout,randn,nn.Linear,nn.GELU"
    return _run(folder, "--device", "neuron", "--templates", BOTH, "--dtypes", "one", "--ops", ops, env=env)


def test_each_operator_and_module_has_a_row_for_each_mode(full: Path) -> None:
    found = _numbers(full)
    names = {"sin", "add", "nonzero", "nn.functional.dropout", "randn", "nn.Linear", "nn.GELU"}
    assert found.keys() == {(name, mode) for name in names for mode in CompileMode}
    assert {row.outcome for row in found.values()} <= {Outcome.PASSED, Outcome.SKIPPED}


def test_the_numbers_of_a_test_are_its_own(full: Path) -> None:
    found = _numbers(full)
    add, sin = found["add", CompileMode.STATIC], found["sin", CompileMode.STATIC]
    assert (add.graphs, add.recompilations, add.breaks) == (3, 2, 0)  # samples of three shapes
    assert (sin.graphs, sin.recompilations, sin.breaks) == (1, 0, 0)  # and of one
    assert found["nn.Linear", CompileMode.STATIC].recompilations == 0
    for row in (add, sin):
        assert row.backend == "neuron"
        assert row.compile_s is not None
        assert 0 < row.compile_s < 60
        assert row.peak_bytes is not None
        assert row.peak_bytes >= 4 * 5  # one input


@pytest.mark.parametrize(("dynamic", "graphs", "recompilations"), [(False, 3, 2), (True, 1, 0)])
def test_static_shapes_are_compiled_one_by_one_and_dynamic_ones_once(
    dynamic: bool, graphs: int, recompilations: int
) -> None:
    import torch

    from conformance.suites.compiling import Compiler

    compiler = Compiler("eager", dynamic=dynamic, device="cpu")
    compiled = compiler.compile(torch.sin)
    for size in (3, 4, 5):
        compiled(torch.ones(size))
    found = compiler.account()
    assert (found.graphs, found.recompilations, found.breaks) == (graphs, recompilations, 0)
    again = Compiler("eager", dynamic=dynamic, device="cpu")
    again.compile(torch.cos)(torch.ones(3))
    assert again.account().graphs == 1  # nothing of the first is counted


def test_what_dynamo_leaves_to_eager_mode_is_told_by_its_breaks(full: Path) -> None:
    row = _numbers(full)["nonzero", CompileMode.STATIC]
    assert row.graphs == 0
    assert row.breaks is not None
    assert row.breaks > 0


def test_the_emulator_refuses_dynamic_shapes_and_says_so(tmp_path: Path) -> None:
    path = _run(
        *(tmp_path, "--device", "neuron", "--templates", BOTH, "--dtypes", "one", "--ops", "sin,nn.Linear"),
        env={"CONFORMANCE_NEURON": "emulated"},
    )
    found = _numbers(path)
    assert found["sin", CompileMode.STATIC].outcome is Outcome.PASSED
    assert found["nn.Linear", CompileMode.STATIC].outcome is Outcome.PASSED
    refused = found["sin", CompileMode.DYNAMIC]
    assert (refused.outcome, refused.graphs, refused.recompilations) == (Outcome.FAILED, 0, 0)
    with Database.open_existing(path) as database:
        (message,) = [row.message for row in results(database, 1, op="sin") if row.outcome is Outcome.FAILED]
        statuses = {row.op: (str(row.status), row.planned) for row in operator_statuses(database, 1)}
    assert "NotImplementedError: torch.compile for 'neuron' does not support dynamic shapes" in message
    assert statuses["sin"] == ("untested", 0)


def test_a_wrong_result_is_noticed(tmp_path: Path) -> None:
    path = _run(
        *(tmp_path, "opinfo", "--device", "neuron", "--templates", "compile", "--dtypes", "one", "--ops", "sin,cos"),
        env={"CONFORMANCE_NEURON": "emulated", "CONFORMANCE_NEURON_FAULTS": "aten::sin=wrong"},
    )
    outcomes = {name: row.outcome for (name, _), row in _numbers(path).items()}
    assert outcomes == {"sin": Outcome.FAILED, "cos": Outcome.PASSED}


def test_the_cpu_and_another_backend_by_the_variable(tmp_path: Path) -> None:
    arguments = ("opinfo", "--device", "cpu", "--templates", "compile", "--dtypes", "one", "--ops", "sin")
    for backend in ("aot_eager", "eager"):
        folder = tmp_path / backend
        folder.mkdir()
        path = _run(folder, *arguments, env={"CONFORMANCE_COMPILE_BACKEND": "eager"} if backend == "eager" else None)
        row = _numbers(path)["sin", CompileMode.STATIC]
        assert (row.backend, row.outcome, row.peak_bytes) == (backend, Outcome.PASSED, None)


def test_a_backend_that_does_not_exist_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    done = run_conformance(
        *("run", "opinfo", "--device", "cpu", "--templates", "compile", "--ops", "sin", "--db", "a.sqlite"),
        cwd=tmp_path,
        env={"CONFORMANCE_COMPILE_BACKEND": "egaer"},
    )
    assert done.returncode == 2
    assert "CONFORMANCE_COMPILE_BACKEND=egaer" in done.stderr
    assert "[unknown-compile-backend]" in done.stderr


def test_one_test_can_be_run_by_its_id(tmp_path: Path) -> None:
    test_id = "opinfo::TestOperators::test_compile_dynamic_sin_float32"
    assert _numbers(_run(tmp_path, "opinfo", "--device", "cpu", "--test", test_id)).keys() == {
        ("sin", CompileMode.DYNAMIC)
    }


def test_a_run_that_names_no_compiling_template_imports_no_dynamo_and_has_no_such_test(tmp_path: Path) -> None:
    done = run_conformance("collect", "opinfo", "--device", "cpu", "--ops", "sin", cwd=tmp_path)
    assert "test_forward_sin_float32" in done.stdout
    assert "test_compile" not in done.stdout
    done = run_conformance(
        *("collect", "opinfo", "--device", "cpu", "--ops", "sin", "--templates", "compile*"), cwd=tmp_path
    )
    names = [line.rpartition("::")[2] for line in done.stdout.split()]
    assert sorted(names) == ["test_compile_dynamic_sin_float32", "test_compile_sin_float32"]


def test_samples_are_chosen_by_their_shapes() -> None:
    import torch

    from conformance.suites.compiling import COMPILED_SAMPLES, of_different_shapes

    class Sample:
        def __init__(self, *shape: int) -> None:
            self.input: Any = torch.ones(shape)
            self.args: tuple[Any, ...] = ()
            self.kwargs: dict[str, Any] = {}

    def chosen(*shapes: tuple[int, ...]) -> list[int]:
        samples = [(number, str(shape), Sample(*shape)) for number, shape in enumerate(shapes)]
        return [number for number, *_ in of_different_shapes(samples)]

    assert chosen((2,), (2,), (3,), (4,), (5,)) == [0, 2, 3]
    assert chosen((), (2,), (2,), (3, 3), (4, 4)) == [3, 4, 0]  # of two dimensions there are most
    assert chosen((2,)) == [0]
    assert chosen() == []
    assert COMPILED_SAMPLES == 3
