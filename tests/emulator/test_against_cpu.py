"""The emulated device gives the CPU's results over PyTorch's operator database; every exception is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_SPARSE = "its results or arguments are sparse, a layout that the device does not have"
_FORMAT = "some samples ask for channels-last memory, which this profile does not have"
_FORMULA = "PyTorch's own derivative asks for channels-last memory if the indices have it"

_CASTS = (
    *("bool", "byte", "char", "short", "int", "long"),
    *("half", "bfloat16", "float", "double", "chalf", "cfloat", "cdouble"),
)

REFUSED = {
    "full": {"sparse.mm.reduce": _SPARSE, "to_sparse": _SPARSE, "sparse.sampled_addmm": _SPARSE},
    "default": {
        "sparse.mm.reduce": _SPARSE,
        "to_sparse": _SPARSE,
        "sparse.sampled_addmm": _SPARSE,
        "to": _FORMAT,
        **dict.fromkeys(_CASTS, _FORMAT),
        "nn.functional.max_unpool2d": _FORMULA,
        "nn.functional.max_unpool2d.grad": _FORMULA,
    },
}

_DIFFERENT_ANYWHERE = {
    "tensor_split": "PyTorch wants a tensor of indices on the CPU, and the comparison moves all tensors",
    "nn.functional.scaled_dot_product_attention": (
        "the CPU has a fused kernel, the device composes the operator: float32 rounds otherwise, and dropout draws "
        "other numbers"
    ),
}
DIFFERENT = {"full": _DIFFERENT_ANYWHERE, "default": _DIFFERENT_ANYWHERE}

# The share of operators that run without any fallback, forward and backward.
NATIVE_SHARE = {"full": (1.0, 1.0), "default": (0.60, 0.70)}


def _measure(profile: str) -> dict[str, dict[str, Any]]:
    script = Path(__file__).with_name("compare_with_cpu.py")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CONFORMANCE_NEURON_")}
    done = subprocess.run(
        [sys.executable, str(script), profile],
        env={**kept, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    report: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return report


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["full", "default"])
def test_every_operator_agrees_or_is_named(profile: str) -> None:
    report = _measure(profile)
    different = {n: r for n, r in report.items() if r.get("forward different") or r.get("backward different")}
    refused = {n: r for n, r in report.items() if r.get("refused")}
    assert set(different) == set(DIFFERENT[profile]), {n: r["first"] for n, r in different.items()}
    assert set(refused) == set(REFUSED[profile]), {n: r["first"] for n, r in refused.items()}
    for part in ("forward", "backward"):
        unequal = sum(1 for r in report.values() if r.get(f"{part} different"))
        print(f"{profile}: {part} equal {len(report) - unequal} of {len(report)}, refused {len(refused)}")
        assert 1 - unequal / len(report) >= 0.99
    assert len(report) >= 600
    assert sum(r["gradients"] for r in report.values()) >= 5000
    native = sum(1 for r in report.values() if not r["fallback"])
    print(f"{profile}: native {native}, with fallback {len(report) - native}")
    low, high = NATIVE_SHARE[profile]
    assert low <= native / len(report) <= high
