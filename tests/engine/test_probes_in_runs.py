"""What a run records of fallbacks and registrations, by each probe."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import rows
from tests.engine.running import run_pytest

EMULATED = {"CONFORMANCE_NEURON": "emulated"}
# A file as PyTorch's own are: it knows nothing of the harness. erfinv falls back on the emulated device, sin does not;
# what it compares with falls back in both tests.
FILE = """
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase

class TestOps(TestCase):
    @ops([op for op in op_db if op.name in ("sin", "erfinv")], allowed_dtypes=(torch.float32,))
    def test_it(self, device, dtype, op):
        x = torch.full((3,), 0.5, device=device).requires_grad_()
        op(x).sum().backward()
        torch.hypot(x, x)

instantiate_device_type_tests(TestOps, globals())
"""


@pytest.mark.parametrize("probe", ["backend", "observer", "profiler"])
def test_each_probe_tells_the_operator_from_the_rest_of_the_test(tmp_path: Path, probe: str) -> None:
    options = ("--conformance-device", "neuron", "--conformance-workers", "1", "--conformance-probe", probe)
    run_pytest(tmp_path, *options, environment=EMULATED, test_it=FILE)
    found = dict(rows(tmp_path / "out.sqlite", "select op, fallback_ops from test_results"))
    assert "aten::erfinv.out" in found["erfinv"].split(",")
    assert found["sin"] == ""
    anywhere = dict(rows(tmp_path / "out.sqlite", "select op, test_fallback_ops from test_results"))
    assert all("aten::hypot.out" in seen.split(",") for seen in anywhere.values())
    inside = {seen for (seen,) in rows(tmp_path / "out.sqlite", "select inside_ops from test_results")}
    assert inside == ({""} if probe == "observer" else {None})
    assert rows(tmp_path / "out.sqlite", "select probe <> '' from run") == [(1,)]


def test_a_run_records_what_the_backend_has_registered(tmp_path: Path) -> None:
    run_pytest(tmp_path, "--conformance-device", "neuron", environment=EMULATED, test_it="def test_it(): pass\n")
    found = dict(
        rows(
            tmp_path / "out.sqlite",
            "select overload, kind from registration join overload on overload.id = overload_id"
            " where registration_set_id = (select registration_set_id from run)",
        )
    )
    assert len(found) > 3_000
    assert (found["aten::sin.out"], found["aten::erfinv.out"], found["aten::einsum"]) == (
        "kernel",
        "fallback",
        "composite",
    )


def test_nothing_looks_where_nobody_asked(tmp_path: Path) -> None:
    options = ("--conformance-device", "neuron", "--conformance-probe", "none")
    run_pytest(tmp_path, *options, environment=EMULATED, test_it=FILE)
    assert set(rows(tmp_path / "out.sqlite", "select fallback_ops, test_fallback_ops from test_results")) == {
        (None, None)
    }
