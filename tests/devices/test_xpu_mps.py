"""The adapters for Intel's and Apple's GPUs, on a machine that has neither."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
import torch

from conformance.devices.installed import InstalledTorch
from conformance.devices.mps import MPS
from conformance.devices.xpu import XPU
from conformance.errors import InfrastructureError

BUILT = InstalledTorch(version="2.13.0+xpu", xpu="20250301")


def test_an_intel_gpu_is_found_by_the_vendor_of_a_render_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.devices.xpu.installed_torch", lambda: BUILT)
    node = tmp_path / "sys/class/drm/renderD128/device"
    node.mkdir(parents=True)
    (node / "vendor").write_text("0x1002\n")
    assert type(XPU)(tmp_path).look().why == "no Intel GPU here, or no driver for it"
    (node / "vendor").write_text("0x8086\n")
    seen = type(XPU)(tmp_path).look()
    assert (seen.found, seen.count, seen.version) == (True, None, "2.13.0+xpu")


@pytest.mark.parametrize(
    ("built", "words"),
    [
        (None, "torch is not installed"),
        (InstalledTorch(version="2.13.0+cpu"), "torch 2.13.0+cpu is built without XPU"),
        (InstalledTorch(version="2.6.0+xpu"), "no Intel GPU here"),
    ],
    ids=["no-torch", "cpu-only", "named-by-its-version"],
)
def test_what_xpu_lacks_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: InstalledTorch | None, words: str
) -> None:
    monkeypatch.setattr("conformance.devices.xpu.installed_torch", lambda: built)
    seen = type(XPU)(tmp_path).look()
    assert not seen.found
    assert words in seen.why


def test_xpu_workers_get_their_own_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZE_AFFINITY_MASK", raising=False)
    monkeypatch.setattr(torch.xpu, "device_count", lambda: 2)
    assert XPU.worker_environment(0, 1) == {}
    assert [XPU.worker_environment(worker, 2) for worker in range(2)] == [
        {"ZE_AFFINITY_MASK": "0"},
        {"ZE_AFFINITY_MASK": "1"},
    ]
    monkeypatch.setenv("ZE_AFFINITY_MASK", "0.0,0.1")
    assert XPU.worker_environment(1, 2) == {"ZE_AFFINITY_MASK": "0.1"}


@pytest.mark.skipif(torch.xpu.is_available(), reason="there is an Intel GPU here")
def test_loading_xpu_without_a_gpu_is_one_line() -> None:
    with pytest.raises(InfrastructureError, match="there is no XPU device to test: ") as caught:
        XPU.load()
    assert caught.value.slug == "no-device"
    assert not XPU.is_initialized()


def test_neither_may_be_forked_and_neither_claims_an_account() -> None:
    for adapter in (XPU, MPS):
        assert not adapter.fork_safe
        assert adapter.fork_note
        assert adapter.fallback_counter() is None


def test_mps_is_found_on_an_apple_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.devices.mps.installed_torch", lambda: InstalledTorch(version="2.13.0"))
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(platform, "mac_ver", lambda: ("26.1", ("", "", ""), "arm64"))
    seen = MPS.look()
    assert (seen.found, seen.why, seen.count) == (True, "macOS 26.1", 1)
    assert MPS.describe().versions == (("macOS", "26.1"),)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    assert not MPS.look().found


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="this is a Mac")
def test_loading_mps_elsewhere_is_one_line() -> None:
    with pytest.raises(InfrastructureError, match="there is no MPS device to test: ") as caught:
        MPS.load()
    assert caught.value.slug == "no-device"
