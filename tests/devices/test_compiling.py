"""Which dynamo backend each device is compiled with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.devices import adapter_for
from conformance.devices.adapter import DeviceAdapter
from conformance.devices.compiling import VARIABLE, compile_backend, why_not_compiled
from conformance.engine.facts import run_info
from conformance.errors import UsageError


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.mark.parametrize(
    ("device", "backend"),
    [
        ("neuron", "neuron"),
        ("cpu", "aot_eager"),
        ("cuda", "inductor"),
        ("xpu", "inductor"),
        ("xla", "openxla"),
        ("npu", ""),
    ],
)
def test_every_device_has_its_own_backend(device: str, backend: str) -> None:
    assert compile_backend(adapter_for(device)) == backend


def test_the_variable_goes_before_the_adapter_and_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "eager")
    adapter = adapter_for("cpu")
    assert compile_backend(adapter) == "eager"
    assert why_not_compiled(adapter) == ""
    info = run_info(adapter, suites=["opinfo"], selection="", probe="", seed=0)
    assert info.environment[VARIABLE] == "eager"


def test_a_backend_that_does_not_exist_is_a_usage_error_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "aot_egaer")
    with pytest.raises(UsageError, match=f"{VARIABLE}=aot_egaer: there is no such backend; aot_eager") as caught:
        why_not_compiled(adapter_for("cpu"))
    assert caught.value.slug == "unknown-compile-backend"


def test_a_device_without_a_backend_says_how_to_name_one() -> None:
    class Unknown(DeviceAdapter):
        device = "unknown"

    class Missing(DeviceAdapter):
        device = "missing"
        compile_backend = "openxla_not_here"

    assert VARIABLE in why_not_compiled(Unknown())
    assert "no backend 'openxla_not_here' here" in why_not_compiled(Missing())


def test_the_cpu_can_be_compiled_for_without_a_compiler() -> None:
    code = "import torch; print(torch.compile(lambda x: x + 1, backend='aot_eager')(torch.ones(2)).tolist())"
    environment = {**os.environ, "PATH": "/nonexistent", "CXX": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout == "[2.0, 2.0]\n", done.stderr


def test_the_page_of_each_device_names_its_backend() -> None:
    pages = Path(__file__).resolve().parents[2] / "docs" / "devices"
    for device in ("neuron", "cpu", "cuda", "xpu", "mps", "xla"):
        page = (pages / f"{device}.md").read_text()
        assert f"| torch.compile | the backend `{adapter_for(device).compile_backend}`" in page
    assert VARIABLE in (pages / "private-use.md").read_text()
