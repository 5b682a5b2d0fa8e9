"""The adapter for Trainium: real or emulated, against a stand-in for TorchNeuron."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from conformance.devices.neuron import NEURON
from conformance.devices.neuron_account import overload_names
from conformance.errors import InfrastructureError, UsageError
from tests.devices.packages import ask, install


class Device(types.ModuleType):
    """Stands in for torch.neuron: counts how often it was waited for."""

    def __init__(self) -> None:
        super().__init__("torch.neuron")
        self.waits = 0
        self.started = False
        self.failing = False

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return self.started

    def device_count(self) -> int:
        return 8

    def synchronize(self) -> None:
        self.waits += 1
        if self.failing:
            raise RuntimeError("an earlier operator failed")


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """Install TorchNeuron's stand-in and return its device module."""
    for name in ("", "_DEVICES", "_FAULTS", "_PROFILE"):
        monkeypatch.delenv(f"CONFORMANCE_NEURON{name}", raising=False)
    monkeypatch.delenv("NEURON_RT_VISIBLE_CORES", raising=False)
    source = """
    fell_back = []
    def get_fallback_ops():
        return set(fell_back)
    def clear_op_tracking():
        fell_back.clear()
    """
    install(tmp_path, "torch_neuronx", source, version="2.13.3.1", distribution="torch-neuronx")
    install(tmp_path, "neuronxcc", "", version="2.30.1", distribution="neuronx-cc")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = Device()
    monkeypatch.setattr(torch, "neuron", module, raising=False)
    yield module
    sys.modules.pop("torch_neuronx", None)


def package() -> Any:
    return sys.modules["torch_neuronx"]


@pytest.fixture
def real(device: Device, tmp_path: Path) -> Any:
    """Return an adapter that has loaded the stand-in for the real thing."""
    adapter = type(NEURON)(tmp_path)
    adapter.load()
    return adapter


def test_torch_neuron_is_taken_where_it_is_installed(device: Device, real: Any, tmp_path: Path) -> None:
    assert real.presence() == "torch-neuronx 2.13.3.1"
    described = real.describe()
    assert not described.emulated
    assert (described.backend, described.backend_version) == ("torch-neuronx", "2.13.3.1")
    assert described.versions == (("neuronx-cc", "2.30.1"),)
    (tmp_path / "sys/module/neuron").mkdir(parents=True)
    (tmp_path / "sys/module/neuron/version").write_text("2.25\n")
    assert real.describe().versions == (("neuronx-cc", "2.30.1"), ("driver", "2.25"))
    assert device.waits == 0
    assert not device.started


def test_cores_are_counted_without_starting_anything(device: Device, real: Any, tmp_path: Path) -> None:
    assert real.look().why == "TorchNeuron is installed, but there is no Neuron device, or no driver for it"
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/neuron0").touch()
    assert (real.look().found, real.look().count) == (True, None)
    for core in range(8):
        (tmp_path / f"sys/devices/virtual/neuron_device/neuron0/neuron_core{core}").mkdir(parents=True)
    seen = real.look()
    assert (seen.found, seen.count, seen.version, seen.emulated) == (True, 8, "2.13.3.1", False)


def test_the_older_xla_library_of_the_same_name_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONFORMANCE_NEURON", raising=False)
    install(
        tmp_path, "torch_neuronx", "raise SystemExit('imported')\n", version="2.9.0.2.11", distribution="torch-neuronx"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    seen = NEURON.look()
    assert seen.emulated
    assert "torch-neuronx 2.9.0.2.11 is the older XLA library" in seen.why


def test_the_emulator_is_what_it_was_chosen_to_be(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFORMANCE_NEURON", "emulated")
    seen = NEURON.look()
    assert seen.emulated
    assert "CONFORMANCE_NEURON=emulated" in seen.why
    assert NEURON.fallback_note == "the emulator's count"


def test_real_without_the_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFORMANCE_NEURON", "real")
    for ask_for in (NEURON.look, NEURON.presence, NEURON.prepare):
        with pytest.raises(InfrastructureError, match=r"no TorchNeuron .* is installed"):
            ask_for()


def test_a_bad_choice_is_one_line(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFORMANCE_NEURON", "reel")
    with pytest.raises(UsageError, match="CONFORMANCE_NEURON='reel' is not one of auto, emulated, real"):
        NEURON.look()


def test_the_account_is_read_after_waiting_and_cleared(device: Device, real: Any) -> None:
    take = real.fallback_counter()
    device.started = True
    package().fell_back.extend(["sin", "aten::mul.Tensor", "aten.add.Tensor"])
    assert take() == {"aten::add.Tensor": 1, "aten::mul.Tensor": 1, "aten::sin": 1}
    assert device.waits == 1
    assert take() == {}


def test_a_device_that_is_not_in_use_is_not_started_by_asking(device: Device, real: Any) -> None:
    take = real.fallback_counter()
    assert take() == {}
    assert device.waits == 0


def test_an_operator_that_fails_late_does_not_lose_the_account(device: Device, real: Any) -> None:
    take = real.fallback_counter()
    device.started, device.failing = True, True
    package().fell_back.append("aten::sin")
    assert take() == {"aten::sin": 1}


@pytest.mark.parametrize("missing", ["get_fallback_ops", "clear_op_tracking"])
def test_an_account_that_the_installed_version_does_not_keep_is_not_assumed(
    device: Device, real: Any, missing: str
) -> None:
    delattr(package(), missing)
    assert real.fallback_counter() is None


@pytest.mark.parametrize("missing", ["synchronize", "is_initialized"])
def test_an_account_that_cannot_be_completed_is_not_used(
    device: Device, real: Any, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Device, missing)
    assert real.fallback_counter() is None


def test_names_are_written_as_the_dispatcher_writes_them() -> None:
    assert overload_names(["add.Tensor", "aten::add.Tensor", "torch.ops.aten.add.Tensor", "aten.add.Tensor"]) == [
        "aten::add.Tensor"
    ]
    assert overload_names(["sin", "sin.default", "nki::rms_norm", " ", ""]) == ["aten::sin", "nki::rms_norm"]


def test_every_worker_gets_cores_of_its_own(device: Device, real: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert real.worker_environment(0, 1) == {}
    assert real.worker_environment(1, 2) == {"NEURON_RT_VISIBLE_CORES": "1"}
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "4-7")
    assert [real.worker_environment(worker, 2)["NEURON_RT_VISIBLE_CORES"] for worker in range(2)] == ["4,5", "6,7"]
    with pytest.raises(InfrastructureError, match="5 workers, but only 4 NeuronCores"):
        real.worker_environment(0, 5)
    monkeypatch.setenv("CONFORMANCE_NEURON", "emulated")
    assert real.worker_environment(0, 5) == {}


def test_the_emulator_keeps_installed_backends_from_taking_its_place(tmp_path: Path) -> None:
    install(
        tmp_path,
        "torch_neuronx",
        "raise SystemExit('imported')\n",
        version="2.9.0",
        distribution="torch-neuronx",
        entry_points={"torch.backends": {"torch_neuronx": "torch_neuronx:_autoload"}},
    )
    code = """
    from conformance.devices import adapter_for
    adapter = adapter_for("neuron")
    adapter.prepare()
    adapter.load()
    answer = [adapter.describe().emulated, adapter.is_initialized()]
    """
    assert ask(tmp_path, code) == [True, False]
