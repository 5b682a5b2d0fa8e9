"""Windows open in files written as PyTorch writes its tests, and nothing else in them changes."""

from __future__ import annotations

import textwrap
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.conftest import rows

# Only sin, linear's mm and the two modules' parts are native: every sample and every comparison falls back.
PROFILE = """
schema = 1
name = "tiny"
native = ["addmm", "mm", "sin"]
"""
PLUGIN = """
import os
import pytest

@pytest.hookimpl(trylast=True)
def pytest_configure():
    from conformance.devices import adapter_for
    from conformance.probes import probe_for, upstream_window, watch_with
    watch_with(probe_for(adapter_for("neuron"), os.environ["PROBE"]))
    upstream_window.install()
    upstream_window.install()
"""
FILE = """
import copy, functools, pickle, unittest
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db, modules
from torch.testing._internal.common_utils import TestCase

chosen = [op for op in op_db if op.name in ("sin", "erfinv")]
float32 = functools.partial(ops, chosen, allowed_dtypes=(torch.float32,))
linear_and_softplus = [info for info in module_db if info.name in ("nn.Linear", "nn.Softplus")]
classes = [info.module_cls for info in linear_and_softplus]


class TestThings(TestCase):
    def check(self, op, device, run, backward=False):
        x = torch.rand(3, device=device).atan().requires_grad_(backward)
        with torch.no_grad():
            variant = x.clone()
        result = run(variant if not backward else x)
        self.assertEqual(result, torch.ones(3, device=device) * result)
        return x, result

    @float32()
    def test_call(self, device, dtype, op):
        self.check(op, device, lambda x: op(x))

    @float32()
    def test_get_op(self, device, dtype, op):
        self.check(op, device, op.get_op())

    @float32()
    def test_get_method(self, device, dtype, op):
        self.check(op, device, op.get_method())

    @float32()
    def test_get_inplace(self, device, dtype, op):
        self.check(op, device, op.get_inplace())

    @float32()
    def test_attributes(self, device, dtype, op):
        for variant in (op.op, op.method_variant, op.inplace_variant):
            self.check(op, device, variant)

    @float32()
    def test_replaced(self, device, dtype, op):
        op = copy.copy(op)
        op.op = functools.partial(op.op)
        self.check(op, device, lambda x: op(x))

    @float32()
    def test_alias(self, device, dtype, op):
        for alias in op.aliases:
            self.check(op, device, lambda x: alias(x))

    @float32()
    def test_backward(self, device, dtype, op):
        x, result = self.check(op, device, lambda x: op(x), backward=True)
        result.backward(torch.rand(3, device=device))
        torch.autograd.grad(op(x), x, torch.rand(3, device=device))

    @float32()
    def test_gradcheck_like(self, device, dtype, op):
        x, _ = self.check(op, device, lambda x: op.gradcheck_wrapper(op.get_op(), x), backward=True)
        self.assertTrue(torch.autograd.gradcheck(op.get_op(), x, eps=1e-2, atol=1e-1, rtol=1e-1))

    @float32()
    def test_samples(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            op(sample.input, *sample.args, **sample.kwargs)

    @float32()
    def test_not_called(self, device, dtype, op):
        self.check(op, device, lambda x: x + 1)

    @float32()
    def test_identities(self, device, dtype, op):
        self.assertTrue(op.get_op() is op.get_op())
        self.assertTrue(op.get_inplace() is op.inplace_variant)
        safe = self.safe_inplace(op.get_inplace())
        self.assertTrue(safe.__wrapped__ is op.get_inplace())
        self.assertFalse(hasattr(op.get_op(), "__wrapped__"))
        self.assertEqual(op.get_op(), getattr(torch, op.name))
        self.assertEqual(op.get_op().__name__, op.name)
        self.assertIs(pickle.loads(pickle.dumps(op.get_op())), getattr(torch, op.name))
        self.assertEqual(vars(copy.deepcopy(op))["op"], getattr(torch, op.name))
        self.assertIs(vars(copy.copy(op))["op"], getattr(torch, op.name))
        self.assertIsNone(op.get_inplace_operator())
        compiled = torch.compile(lambda t: op.op(t) + op(t), backend="eager", fullgraph=True)
        compiled(torch.ones(2))

    def safe_inplace(self, variant):
        @functools.wraps(variant)
        def run(t, *args, **kwargs):
            return variant(t.clone(), *args, **kwargs)
        return run

    @modules(linear_and_softplus, allowed_dtypes=(torch.float32,))
    def test_module(self, device, dtype, module_info, training):
        module = module_info.module_cls(*((3, 3) if module_info.name == "nn.Linear" else ())).to(device)
        self.check(module_info, device, module)
        x, result = self.check(module_info, device, module, backward=True)
        result.backward(torch.rand(3, device=device))
        self.assertIs(type(module), module_info.module_cls)
        self.assertIs(type(pickle.loads(pickle.dumps(module))), module_info.module_cls)
        # Of another class: not under test.
        torch.nn.Softsign()(torch.rand(3, device=device))
        torch.nn.ELU()(torch.rand(3, device=device))

    def test_plain(self, device):
        torch.special.i0e(torch.rand(3, device=device))


instantiate_device_type_tests(TestThings, globals())


class TestAfterwards(unittest.TestCase):
    def test_nothing_is_left(self):
        for cls in classes:
            self.assertNotIn("__call__", vars(cls))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(PROFILE)
    (tmp_path / "opens_windows.py").write_text(PLUGIN)
    (tmp_path / "test_things.py").write_text(FILE)
    return tmp_path


def _run(pytester: pytest.Pytester, folder: Path, monkeypatch: pytest.MonkeyPatch, probe: str) -> dict[str, set[str]]:
    """Run the file; return template and operator (or module) -> what fell back in the window."""
    monkeypatch.setenv("PROBE", probe)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("CONFORMANCE_NEURON_PROFILE", str(folder / "tiny.toml"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    database = folder / "results.sqlite"
    done = pytester.runpytest_subprocess(
        *("-p", "opens_windows", "-W", "ignore", "--conformance-device", "neuron"),
        *("--conformance-db", str(database), str(folder / "test_things.py")),
    )
    assert done.ret == 0, done.stdout.str()[-4000:]
    found: dict[str, set[str]] = {}
    query = "select template, coalesce(op, module, ''), fallback_ops, test_fallback_ops, outcome from test_results"
    for template, subject, in_window, in_test, outcome in rows(database, query):
        assert outcome == "passed"
        window = set(filter(None, in_window.split(",")))
        found.setdefault(f"{template} {subject}", set()).update(window)
        assert window <= set(in_test.split(","))
    return found


_NAMES = pytest.mark.skipif(version("torch").startswith("2.6."), reason="its profiler does not name overloads")
_SLOW = [
    pytest.param("backend", marks=pytest.mark.slow),
    pytest.param("profiler", marks=[pytest.mark.slow, _NAMES]),
]


@pytest.mark.parametrize("probe", ["observer", *_SLOW])
def test_windows_open_where_the_operator_runs(
    pytester: pytest.Pytester, folder: Path, monkeypatch: pytest.MonkeyPatch, probe: str
) -> None:
    found = _run(pytester, folder, monkeypatch, probe)
    backward = {"aten::cos.out", "aten::mul.out"}  # of sin: grad * cos(x), neither native here
    inverse = {"aten::erfinv.out"}
    inverse_backward = {"aten::exp.out", "aten::mul.out", "aten::pow.Tensor_Scalar_out"}
    # A native operator is clean, and one that falls back shows its overloads: nothing of samples and comparisons.
    for template in ("call", "get_op", "get_method", "get_inplace", "attributes", "replaced", "samples"):
        assert found[f"test_{template} sin"] == set(), template
        assert found[f"test_{template} erfinv"] == inverse, template
    assert found["test_alias erfinv"] == inverse
    for template in ("backward", "gradcheck_like"):
        assert found[f"test_{template} sin"] == backward
        assert found[f"test_{template} erfinv"] == inverse | inverse_backward
    assert found["test_module nn.Linear"] == {"aten::sum.IntList_out"}
    assert found["test_module nn.Softplus"] == {"aten::softplus.out", "aten::softplus_backward.grad_input"}
    assert found["test_plain "] == {"aten::special_i0e.out", "aten::uniform_"}


@pytest.mark.on_device
@pytest.mark.parametrize(
    ("module", "path", "named"),
    [
        ("torch.autograd", "_engine_run_backward", "torch.autograd._engine_run_backward"),
        ("torch.testing._internal.opinfo.core", "OpInfo.get_inplace", "OpInfo.get_inplace"),
        ("torch.testing._internal.common_modules", "ModuleInfo", "common_modules.ModuleInfo"),
    ],
)
def test_a_torch_that_lacks_a_place_is_named(module: str, path: str, named: str) -> None:
    import importlib

    import pytest
    import torch

    from conformance.errors import InfrastructureError
    from conformance.probes import upstream_window

    owner = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    delattr(owner, name)
    with pytest.raises(InfrastructureError) as caught:
        upstream_window.install()
    assert caught.value.slug == "unsupported-torch"
    assert f"torch {torch.__version__} has no " in str(caught.value)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.on_device
def test_torch_itself_and_what_is_no_test_get_the_callables() -> None:
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    from conformance.devices import adapter_for
    from conformance.probes import probe_for, upstream_window, watch_with
    from conformance.probes.windowed import Windowed

    op = next(op for op in op_db if op.name == "special.i0e")
    before = vars(op).copy()
    upstream_window.install()
    probe = probe_for(adapter_for("neuron"), "backend")
    watch_with(probe)
    assert op.op is op.get_op() is torch.special.i0e
    probe.begin_test()
    assert type(op.op) is type(op.get_op()) is type(op.inplace_variant or op.op) is Windowed
    # PyTorch leaves 0 out of these samples, by comparing with `is` (opinfo/definitions/special.py).
    samples = [sample.input for sample in op.sample_inputs("cpu", torch.float32, requires_grad=True)]
    assert all((sample != 0).all() for sample in samples)
    op.op = op.op  # a test may replace it
    op.op = torch.special.i0e
    probe.end_test()
    assert op.op is op.get_op() is torch.special.i0e
    assert {name: value for name, value in vars(op).items() if name in before} == before


def test_the_file_is_written_as_pytorch_writes_its_own() -> None:
    compile(textwrap.dedent(FILE), "test_things.py", "exec")
