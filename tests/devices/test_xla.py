"""The adapter for pytorch/xla, against a stand-in for the package: its account, its slices, its state."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.devices.xla import XLA
from conformance.errors import InfrastructureError
from conformance.probes import CounterProbe
from tests.devices.packages import install

SOURCE = """
import types
_XLAC = types.SimpleNamespace(_xla_runtime_is_initialized=lambda: started)
started = False
"""
METRICS = """
counters = {}
def executed_fallback_ops():
    return [name for name, value in counters.items() if value and "::" in name and not name.startswith("xla::")]
def counter_value(name):
    return counters.get(name)
def clear_counters():
    for name in counters:
        counters[name] = 0
"""


@pytest.fixture
def torch_xla(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the stand-in, imported."""
    install(tmp_path, "torch_xla", SOURCE, version="2.9.0", distribution="torch-xla")
    for name, source in {
        "debug": "",
        "debug/metrics": METRICS,
        "runtime": "def addressable_device_count():\n    return 4\n",
    }.items():
        (tmp_path / "torch_xla" / name).mkdir()
        (tmp_path / "torch_xla" / name / "__init__.py").write_text(source)
    for name in (
        "PJRT_DEVICE",
        "TPU_VISIBLE_CHIPS",
        "CPU_NUM_DEVICES",
        "NEURON_RT_VISIBLE_CORES",
        "CUDA_VISIBLE_DEVICES",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    XLA.load()
    yield sys.modules["torch_xla"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch_xla"]:
        del sys.modules[name]


def test_without_the_package_it_says_so() -> None:
    assert XLA.look().why == "torch_xla is not installed"
    with pytest.raises(InfrastructureError, match="needs torch_xla, which is not installed") as caught:
        XLA.load()
    assert caught.value.slug == "no-device"


def test_the_hosts_cpu_is_called_no_accelerator(torch_xla: Any) -> None:
    seen = XLA.look()
    assert (seen.found, seen.version, seen.count) == (True, "2.9.0", 1)
    assert "no accelerator" in seen.why
    assert "no accelerator" in XLA.describe().device_name


def test_the_counters_are_read_as_differences(torch_xla: Any) -> None:
    take = XLA.fallback_counter()
    assert take is not None
    counters = sys.modules["torch_xla.debug.metrics"].__dict__["counters"]
    counters.update({"aten::median": 2, "xla::add": 9, "torchvision::nms": 1})
    assert take() == {"aten::median": 2, "torchvision::nms": 1}
    assert take() == {}
    counters["aten::median"] += 3
    assert take() == {"aten::median": 3}


def test_a_test_that_clears_the_counters_hides_nothing(torch_xla: Any) -> None:
    take = XLA.fallback_counter()
    assert take is not None
    metrics = sys.modules["torch_xla.debug.metrics"].__dict__
    metrics["counters"]["aten::median"] = 5
    assert take() == {"aten::median": 5}
    metrics["clear_counters"]()
    assert take() == {}
    metrics["counters"]["aten::median"] = 2
    assert take() == {"aten::median": 2}


def test_reading_a_scalar_is_no_fallback_but_a_computation_on_the_cpu_is(torch_xla: Any) -> None:
    take = XLA.fallback_counter()
    assert take is not None
    counters = sys.modules["torch_xla.debug.metrics"].__dict__["counters"]
    counters.update({"aten::_local_scalar_dense": 4, "aten::nonzero": 1, "aten::equal": 1})
    assert take() == {"aten::nonzero": 1, "aten::equal": 1}


def test_the_probe_attributes_the_counters_to_the_operator(torch_xla: Any) -> None:
    take = XLA.fallback_counter()
    assert take is not None
    counters = sys.modules["torch_xla.debug.metrics"].__dict__["counters"]
    probe = CounterProbe(take, name=XLA.fallback_counter_name)
    counters["aten::before"] = 1
    probe.begin_test()
    counters["aten::making_input"] = 1
    probe.open_window()
    counters["aten::median"] = 1
    probe.close_window()
    counters["aten::comparing"] = 1
    account = probe.end_test()
    assert account is not None
    assert account.operator == ("aten::median",)
    assert account.test == ("aten::comparing", "aten::making_input", "aten::median")


def test_a_package_without_an_account_is_not_taken_for_one_without_fallbacks(torch_xla: Any) -> None:
    assert XLA.fallback_counter() is not None
    del sys.modules["torch_xla.debug.metrics"].__dict__["executed_fallback_ops"]
    assert XLA.fallback_counter() is None


def test_the_state_of_the_runtime_is_asked_and_unknown_means_used(torch_xla: Any) -> None:
    assert not XLA.is_initialized()
    torch_xla.started = True
    assert XLA.is_initialized()
    del torch_xla._XLAC._xla_runtime_is_initialized
    assert XLA.is_initialized()


def test_tpu_workers_get_a_chip_each_and_no_more_workers_than_chips(
    torch_xla: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dev").mkdir()
    for number in range(4):
        (tmp_path / "dev" / f"accel{number}").touch()
    adapter = type(XLA)(tmp_path)
    assert (adapter.look().why, adapter.look().count) == ("PJRT device TPU", 4)
    chips = [adapter.worker_environment(worker, 4) for worker in range(4)]
    assert [chip["TPU_VISIBLE_CHIPS"] for chip in chips] == ["0", "1", "2", "3"]
    assert {chip["TPU_PROCESS_BOUNDS"] for chip in chips} == {"1,1,1"}
    with pytest.raises(InfrastructureError, match="5 workers, but only 4 TPU chips"):
        adapter.worker_environment(0, 5)
    monkeypatch.setenv("TPU_VISIBLE_CHIPS", "2,3")
    assert adapter.worker_environment(1, 2)["TPU_VISIBLE_CHIPS"] == "3"


def test_slices_follow_what_pjrt_drives(torch_xla: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert XLA.worker_environment(1, 2) == {}
    monkeypatch.setenv("PJRT_DEVICE", "NEURON")
    assert XLA.worker_environment(1, 2) == {"NEURON_RT_VISIBLE_CORES": "1"}
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "4-7")
    assert XLA.worker_environment(1, 2) == {"NEURON_RT_VISIBLE_CORES": "6,7"}
    monkeypatch.setenv("PJRT_DEVICE", "CUDA")
    assert XLA.worker_environment(1, 2) == {}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert XLA.worker_environment(1, 2) == {"CUDA_VISIBLE_DEVICES": "1"}
    assert XLA.worker_environment(0, 1) == {}


def test_devices_are_counted_by_the_runtime(torch_xla: Any) -> None:
    assert XLA.device_count() == 4
