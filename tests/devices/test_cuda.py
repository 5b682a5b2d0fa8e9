"""The adapter for CUDA: found without torch, divided among workers, described without starting the driver."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from conformance.devices.cuda import CUDA
from conformance.devices.installed import InstalledTorch
from conformance.errors import InfrastructureError

BUILT = InstalledTorch(version="2.13.0+cu130", cuda="13.0")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the root of a machine with two GPUs, as the driver's files show it."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("conformance.devices.cuda.installed_torch", lambda: BUILT)
    for number in range(2):
        folder = tmp_path / f"proc/driver/nvidia/gpus/0000:0{number}:00.0"
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t\t Acme H{number}\nIRQ:   \t\t 90\nGPU UUID: \t GPU-{number}\n")
    (tmp_path / "sys/module/nvidia").mkdir(parents=True)
    (tmp_path / "sys/module/nvidia/version").write_text("580.1\n")
    return tmp_path


def test_gpus_are_counted_from_the_files_of_the_driver(machine: Path) -> None:
    seen = type(CUDA)(machine).look()
    assert (seen.found, seen.count, seen.version) == (True, 2, "2.13.0+cu130")
    assert seen.why == "Acme H0, CUDA 13.0"


@pytest.mark.parametrize(
    ("visible", "found", "count"),
    [("1", True, 1), ("0-7", True, 2), ("", False, 0), ("-1", False, 0), ("0,-1,1", True, 1)],
)
def test_hidden_gpus_are_not_counted(
    machine: Path, monkeypatch: pytest.MonkeyPatch, visible: str, found: bool, count: int
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    seen = type(CUDA)(machine).look()
    assert (seen.found, seen.count) == (found, count)


@pytest.mark.parametrize(
    ("built", "words"),
    [
        (None, "torch is not installed"),
        (InstalledTorch(version="2.13.0+cpu"), "torch 2.13.0+cpu is built without CUDA"),
        (BUILT, "no NVIDIA GPU here, or no driver for it"),
        (InstalledTorch(version="2.13.0+rocm7", hip="7.0"), "there is no /dev/kfd"),
    ],
    ids=["no-torch", "cpu-only", "no-driver", "rocm-no-driver"],
)
def test_what_is_missing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: InstalledTorch | None, words: str
) -> None:
    monkeypatch.setattr("conformance.devices.cuda.installed_torch", lambda: built)
    seen = type(CUDA)(tmp_path).look()
    assert not seen.found
    assert words in seen.why


def test_a_rocm_machine_is_found_but_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.devices.cuda.installed_torch", lambda: InstalledTorch(version="2.13.0", hip="7.0"))
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kfd").touch()
    seen = type(CUDA)(tmp_path).look()
    assert (seen.found, seen.count) == (True, None)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_loading_without_a_gpu_is_one_line_that_says_why() -> None:
    with pytest.raises(InfrastructureError, match="there is no CUDA device to test: ") as caught:
        CUDA.load()
    assert caught.value.slug == "no-device"
    assert "\n" not in str(caught.value)


def test_the_number_of_gpus_is_asked_of_nvml_which_leaves_a_process_forkable() -> None:
    assert CUDA.environment() == {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}


def test_the_description_starts_nothing(machine: Path) -> None:
    described = type(CUDA)(machine).describe()
    assert described.device_name == "Acme H0"
    assert ("driver", "580.1") in described.versions
    assert not described.emulated
    assert not torch.cuda.is_initialized()
    assert not CUDA.is_initialized()


def slices(workers: int) -> list[str]:
    return [CUDA.worker_environment(worker, workers).get("CUDA_VISIBLE_DEVICES", "all") for worker in range(workers)]


def test_every_worker_gets_its_own_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert slices(1) == ["all"]
    assert slices(2) == ["0,1", "2,3"]
    assert slices(4) == ["0", "1", "2", "3"]
    assert slices(6) == ["0", "1", "2", "3", "0", "1"]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert slices(2) == ["all", "all"]


def test_what_the_user_chose_is_divided_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-b,GPU-a,6")
    assert slices(2) == ["GPU-b", "GPU-a,6"]
    assert slices(3) == ["GPU-b", "GPU-a", "6"]


def test_on_rocm_its_own_variable_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", "7.0")
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "2,3")
    assert CUDA.worker_environment(1, 2) == {"HIP_VISIBLE_DEVICES": "3"}
