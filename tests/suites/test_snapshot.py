"""Taking a snapshot of the installed torch: what is seen, what cannot be measured, and that it comes out the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing._internal.common_dtype import _dispatch_dtypes
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._python_dispatch import _get_current_dispatch_mode

from conformance import resources
from conformance.analysis import opdb
from conformance.analysis.opdb_format import FACTS, OVERLOADS
from conformance.errors import InfrastructureError
from conformance.model.overload import Dispatch, OperatorRecord, Phase, Snapshot
from conformance.suites import inventory
from conformance.suites.snapshot import prepare_folder, take_snapshot, write_snapshot
from conformance.suites.snapshot_measure import Measured, dtypes_to_measure, measure
from conformance.suites.snapshot_watch import Watch

# Of several groups and layouts; with random numbers, tuples, backward, composites, and some that cannot be measured.
NAMES = (
    *(
        "add",
        "stack",
        "linalg.svd",
        "nn.functional.dropout",
        "nn.functional.linear",
        "randn",
        "sparse.mm.reduce",
        "item",
    ),
    *("to_sparse", "cross", "jiterator_unary", "nonzero", "torch.ops.aten._flash_attention_forward", "unique"),
)


@pytest.fixture(scope="module")
def taken() -> Snapshot:
    return take_snapshot(names=NAMES)


def operator(snapshot: Snapshot, name: str) -> OperatorRecord:
    return next(operator for operator in snapshot.operators if operator.name == name)


def seen(call: Any, *, deep: bool = True) -> set[str]:
    with torch.inference_mode(), Watch(deep=deep) as watch:
        call()
    return set(watch.seen)


def test_a_composite_is_looked_into_and_a_kernel_is_not() -> None:
    tensor = torch.ones(2, 2)
    assert {"aten::stack", "aten::cat"} <= seen(lambda: torch.stack([tensor, tensor]))
    assert seen(lambda: torch.stack([tensor, tensor]), deep=False) == {"aten::stack"}
    assert seen(lambda: torch.linalg.svd(tensor)) == {"aten::linalg_svd", "aten::_linalg_svd"}
    assert seen(lambda: tensor + tensor) == {"aten::add.Tensor"}


def test_what_autograd_takes_apart_is_seen_in_inference_mode_only() -> None:
    tensor = torch.ones(2, 2, requires_grad=True)
    linear = torch.nn.functional.linear
    assert "aten::linear" in seen(lambda: linear(tensor, tensor))
    with Watch() as watch:
        linear(tensor, tensor)
    assert "aten::linear" not in watch.seen
    assert {"aten::t", "aten::mm"} & watch.seen


def test_a_tensor_of_another_layout_keeps_its_own_kernel() -> None:
    dense, sparse = torch.eye(2), torch.eye(2).to_sparse()
    assert seen(lambda: torch.abs(sparse)) == {"aten::abs"}
    assert {"aten::abs", "aten::abs.out"} <= seen(lambda: torch.abs(dense))
    twice = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,), check_invariants=False)
    assert "aten::_coalesce" in seen(twice.coalesce)  # a composite over sparse tensors is looked into as well


def test_an_overload_that_calls_itself_ends() -> None:
    tensor = torch.ones(2, requires_grad=True)
    with Watch() as watch:
        tensor.exp().sum().backward()  # what is saved for it is detached, which a mode turns into a call of detach
    assert "aten::detach" in watch.seen


def test_an_operator_reaches_what_it_is_made_of_in_each_phase(taken: Snapshot) -> None:
    add = operator(taken, "add")
    assert "aten::add.Tensor" in add.reached[Phase.FORWARD]
    assert "aten::add_.Tensor" in add.reached[Phase.VARIANTS]
    assert "aten::add.out" in add.reached[Phase.OUT]
    assert "aten::add.out" not in add.reached[Phase.FORWARD]
    assert "aten::sum.dim_IntList" in add.reached[Phase.BACKWARD]  # where an input was broadcast
    linear = operator(taken, "nn.functional.linear")
    assert {"aten::linear", "aten::addmm"} <= set(linear.reached[Phase.FORWARD])
    assert "aten::mm" in linear.reached[Phase.BACKWARD]
    assert operator(taken, "nn.functional.dropout").reached[Phase.OUT] == ()  # it takes no out=


def test_the_backward_is_the_operators_and_not_what_the_sample_puts_behind_it(taken: Snapshot) -> None:
    """The sample of svd takes absolute values, whose backward is sgn; the backward of svd alone has none."""
    svd = operator(taken, "linalg.svd")
    assert "aten::_linalg_svd" in svd.reached[Phase.FORWARD]
    assert len(svd.reached[Phase.BACKWARD]) > 5
    assert "aten::sgn" not in svd.reached[Phase.BACKWARD]
    assert [item for item in svd.unmeasured if item.phase == "backward"] == []


def test_what_cannot_be_measured_is_there_with_its_reason(taken: Snapshot) -> None:
    assert [op.name for op in taken.operators] == sorted(NAMES)
    flash = operator(taken, "torch.ops.aten._flash_attention_forward")
    assert (flash.overloads, flash.samples) == ((), {})
    assert [item.reason for item in flash.unmeasured] == ["declares no dtype for the CPU"]
    if not torch.cuda.is_available():
        jiterator = operator(taken, "jiterator_unary")
        assert jiterator.overloads == ()
        assert sum(item.samples for item in jiterator.unmeasured) == sum(jiterator.samples.values()) > 0
        assert {item.phase for item in jiterator.unmeasured} == {"forward"}
    assert {item.phase for item in operator(taken, "nonzero").unmeasured} == {"out"}
    assert "aten::nonzero" in operator(taken, "nonzero").overloads


def test_every_overload_that_was_seen_is_known_to_the_dispatcher(taken: Snapshot) -> None:
    known = {overload.name for overload in taken.overloads}
    assert [name for op in taken.operators for name in op.overloads if name not in known] == []
    assert len(known) > 3000
    assert {overload.dispatch for overload in taken.overloads} == set(Dispatch)
    core = {overload.name for overload in taken.core}
    assert {"aten::add.Tensor", "aten::convolution"} <= core
    assert "aten::linear" not in core


def test_the_profiler_saw_every_overload_that_was_recorded() -> None:
    """The profiler hears every call through the dispatcher, and knows nothing of dispatch modes."""
    try:
        config = torch._C._profiler._ExperimentalConfig(capture_overload_names=True)
    except TypeError:
        pytest.skip(f"the profiler of torch {torch.__version__} does not record overloads")
    for name in ("add", "stack", "nn.functional.linear", "nn.functional.conv2d", "linalg.svd", "cumprod"):
        op = next(op for op in op_db if op.full_name == name)
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], experimental_config=config
        ) as profile:
            recorded = {overload for overloads in measure(op, limit=2).reached.values() for overload in overloads}
        heard = {
            f"{event.name}.{event.overload_name}" if event.overload_name else event.name for event in profile.events()
        }
        assert recorded
        assert recorded - heard == set(), name


def made_up(function: Any, *, samples: int = 3, dtypes: tuple[torch.dtype, ...] = (torch.float32,)) -> Any:
    def make(op: Any, device: str, dtype: torch.dtype, requires_grad: bool, **_: Any) -> Any:
        for index in range(samples):
            yield SampleInput(torch.full((2,), float(index), dtype=dtype, requires_grad=requires_grad))
            if samples > 90:
                raise RuntimeError("no more samples")

    return OpInfo("made_up", op=function, dtypes=_dispatch_dtypes(dtypes), sample_inputs_func=make, supports_out=False)


def test_a_sample_that_raises_is_counted_and_the_others_are_measured() -> None:
    def picky(tensor: torch.Tensor) -> torch.Tensor:
        if tensor[0] == 1:
            raise ValueError("not 1 at 0x7f00beef")
        return tensor.sin()

    measured = measure(made_up(picky), limit=9)
    assert [(item.dtype, item.phase, item.samples, item.reason) for item in measured.unmeasured] == [
        ("float32", "forward", 2, "ValueError: not N at ADDRESS")  # once without and once with gradients
    ]
    assert "aten::sin" in measured.reached[Phase.FORWARD]
    assert {"aten::cos", "aten::mul.Tensor"} <= set(measured.reached[Phase.BACKWARD])


def test_a_backward_that_raises_is_named_as_one() -> None:
    class Broken(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
        @staticmethod
        def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
            return tensor.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
            raise NotImplementedError("no way back")

    (item,) = measure(made_up(Broken.apply), limit=9).unmeasured
    assert (item.phase, item.samples, item.reason) == ("backward", 3, "NotImplementedError: no way back")


def test_a_generator_that_breaks_is_named_and_what_came_before_is_measured() -> None:
    measured = measure(made_up(torch.sin, samples=91), limit=9)
    assert {(item.phase, item.samples, item.reason) for item in measured.unmeasured} == {
        ("samples", 0, "RuntimeError: no more samples")
    }
    assert measured.samples == {"float32": 1}
    assert "aten::sin" in measured.reached[Phase.FORWARD]


def test_an_operator_without_samples_says_so() -> None:
    (item,) = measure(made_up(torch.sin, samples=0), limit=9).unmeasured
    assert item.reason == "PyTorch gives no sample"


@pytest.mark.parametrize(("limit", "complete"), [(2, False), (3, True), (4, True)])
def test_the_bound_on_samples_holds_and_what_it_cuts_off_is_said(limit: int, complete: bool) -> None:
    measured = measure(made_up(torch.sin), limit=limit)
    assert (measured.samples, measured.complete) == ({"float32": min(limit, 3)}, complete)


def test_a_number_that_stands_for_a_tensor_inside_a_composite_is_no_obstacle() -> None:
    measured = Measured()
    ran, result = measured.watch("float32", Phase.FORWARD, lambda: torch.copysign(torch.ones(2), -3.0))
    assert (ran, result.tolist(), measured.unmeasured) == (True, [-1, -1], ())
    assert {"aten::copysign.Scalar", "aten::copysign.Tensor"} <= set(measured.reached[Phase.FORWARD])


@pytest.mark.parametrize(
    ("bothered", "note"),
    [
        (lambda mode: mode is not None and mode._deep, "composites not looked into: RuntimeError: leave me alone"),
        (lambda mode: mode is not None, "not watched: RuntimeError: leave me alone"),
    ],
)
def test_a_call_that_raises_only_because_it_is_watched_is_run_and_that_is_said(bothered: Any, note: str) -> None:
    def shy() -> Any:
        result = torch.ones(2).sin()
        if bothered(_get_current_dispatch_mode()):
            raise RuntimeError("leave me alone")
        return result

    measured = Measured()
    ran, result = measured.watch("float32", Phase.FORWARD, shy)
    assert (ran, result.shape) == (True, (2,))
    assert [(item.samples, item.reason) for item in measured.unmeasured] == [(1, note)]
    assert "aten::sin" in measured.reached[Phase.FORWARD]


def test_a_variable_that_chooses_one_sample_does_not_cut_a_snapshot_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_OPINFO_SAMPLE_INPUT_INDEX", "1")
    assert measure(made_up(torch.sin), limit=9).samples == {"float32": 3}


@pytest.mark.parametrize(
    ("declared", "chosen"),
    [
        ("float64 float32 bool int8 int64 complex128 complex64", "float32 complex64 int64 bool"),
        ("bfloat16 float16", "float16"),
        ("float8_e4m3fn", "float8_e4m3fn"),
        ("uint8 int16", "int16"),
        ("bool", "bool"),
        ("complex128", "complex128"),
        ("", ""),
    ],
)
def test_one_dtype_of_each_kind_is_measured(declared: str, chosen: str) -> None:
    dtypes = {getattr(torch, name) for name in declared.split()}
    assert dtypes_to_measure(dtypes) == [getattr(torch, name) for name in chosen.split()]


def test_the_names_dtypes_and_flags_are_those_that_a_run_stores(taken: Snapshot) -> None:
    for device in ("cpu", "privateuse1"):
        stored = [info for info in inventory.operators(device) if info.name in NAMES]
        assert taken.inventory(device) == stored
    assert list(taken.modules) == inventory.modules("cpu")


def test_taking_one_leaves_torch_as_it_was() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        take_snapshot(names=["add"], samples=1)
        assert torch.get_num_threads() == 2
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
    finally:
        torch.set_num_threads(threads)


def test_a_torch_without_what_is_needed_is_refused_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch._C, "_dispatch_get_all_op_names")
    with pytest.raises(InfrastructureError, match=r"torch .* has no torch\._C\._dispatch_get_all_op_names") as caught:
        take_snapshot(names=[])
    assert caught.value.slug == "unsupported-torch"


TAKE = """
import sys
from pathlib import Path
from conformance.suites.snapshot import prepare_folder, take_snapshot, write_snapshot
folder = prepare_folder(Path(sys.argv[1]), "x")
print(write_snapshot(take_snapshot(names=sys.argv[2:]), folder))
"""


def test_another_process_writes_the_same_bytes(tmp_path: Path, taken: Snapshot) -> None:
    """With another hash seed and thread count, and without the operators that this process has run before."""
    subprocess.run(
        [sys.executable, "-c", TAKE, str(tmp_path / "theirs"), *NAMES],
        env={**os.environ, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "2"},
        check=True,
        capture_output=True,
        timeout=300,
    )
    folder = prepare_folder(tmp_path / "mine", "x")
    size = write_snapshot(taken, folder)
    mine = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "theirs" / "x").iterdir()} == mine
    assert size == sum(map(len, mine.values()))
    assert opdb.load(folder) == taken


def test_what_comes_with_the_harness_is_what_this_torch_gives(taken: Snapshot) -> None:
    """All that is declared, and the overloads of a few operators, which stand for those that take a minute."""
    if opdb.public_version(str(torch.__version__)) not in opdb.versions():
        pytest.skip(f"no snapshot of torch {torch.__version__} comes with the harness")
    shipped = opdb.load(str(torch.__version__))
    if shipped.build != torch.__version__:
        pytest.skip(f"the snapshot is of {shipped.build}, another build of this torch")
    assert shipped.overloads == taken.overloads
    assert shipped.modules == taken.modules
    assert shipped.measurement == taken.measurement
    assert shipped.inventory("cpu") == inventory.operators("cpu")
    assert [op for op in shipped.operators if op.name in NAMES] == list(taken.operators)


def test_a_snapshot_replaces_an_earlier_one_and_leaves_other_files_alone(tmp_path: Path, taken: Snapshot) -> None:
    folder = prepare_folder(tmp_path, taken.torch)
    (folder / OVERLOADS).write_text("old")
    (folder / "notes.txt").write_text("mine")
    write_snapshot(taken, folder)
    assert opdb.load(folder) == taken
    assert sorted(path.name for path in folder.iterdir()) == [
        *("modules.json", "notes.txt", "operators.json", "overloads.json", FACTS)
    ]


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for parent in (tmp_path / "file", Path("/proc/nowhere")):
        with pytest.raises(InfrastructureError, match=r"cannot write .* give --out") as caught:
            prepare_folder(parent, "2.99.0")
        assert caught.value.slug == "snapshot-unwritable"


def test_a_write_that_fails_in_the_middle_is_noticed_when_it_is_loaded(tmp_path: Path, taken: Snapshot) -> None:
    folder = prepare_folder(tmp_path, taken.torch)
    write_snapshot(taken, folder)
    fewer = Snapshot(
        torch=taken.torch,
        build=taken.build,
        measurement=taken.measurement,
        operators=taken.operators[1:],
        overloads=taken.overloads,
        modules=taken.modules,
    )
    (folder / f".{OVERLOADS}.new").mkdir()  # what is to be written there cannot be
    with pytest.raises(InfrastructureError, match="cannot write"):
        write_snapshot(fewer, folder)
    with pytest.raises(InfrastructureError, match="not of one snapshot"):
        opdb.load(folder)


def test_the_folder_that_comes_with_the_harness_holds_snapshots_only() -> None:
    names = {path.name for path in resources.op_db().iterdir()}
    assert names == {"README.md", *opdb.versions()}
