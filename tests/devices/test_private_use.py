"""A backend from outside of PyTorch works by its name, with real torch and a small real registration."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.devices.private_use import HPU, NPU, RBLN, SPYRE, TPU, PrivateUseAdapter
from conformance.errors import InfrastructureError
from tests.devices.packages import BACKEND, ask, install

LOAD = """
from conformance.devices import adapter_for
from conformance.errors import ConformanceError
adapter = adapter_for("{device}")
try:
    adapter.prepare()
    adapter.load()
    import torch
    described = adapter.describe()
    answer = [described.backend, described.backend_version, adapter.device_count(), adapter.is_initialized(),
              str(torch.device("{device}:1"))]
except ConformanceError as error:
    answer = [error.slug, str(error)]
"""
AUTOLOAD = {"torch.backends": {"torch_acme": "torch_acme:_autoload"}}


@pytest.mark.parametrize("autoload", ["1", "0"])
def test_a_backend_is_loaded_whether_or_not_pytorch_does_it_by_itself(tmp_path: Path, autoload: str) -> None:
    install(tmp_path, "torch_acme", BACKEND.format(device="acme", available=True), entry_points=AUTOLOAD)
    answer = ask(tmp_path, LOAD.format(device="acme"), TORCH_DEVICE_BACKEND_AUTOLOAD=autoload)
    assert answer == ["torch_acme", "1.2.3", 3, False, "acme:1"]


def test_npu_just_works_when_its_package_is_installed(tmp_path: Path) -> None:
    install(tmp_path, "torch_npu", BACKEND.format(device="npu", available=True), distribution="torch-npu")
    assert ask(tmp_path, LOAD.format(device="npu")) == ["torch_npu", "1.2.3", 3, False, "npu:1"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (BACKEND.format(device="acme", available=False), "torch.acme.is_available() says no"),
        (BACKEND.format(device="other", available=True), "did not register a device module torch.acme"),
        ("raise OSError('libacme.so: no such file')\n", "cannot be imported: OSError: libacme.so"),
        ("raise SystemExit(1)\n", "cannot be imported: SystemExit"),
    ],
    ids=["no-device", "other-device", "no-library", "exit"],
)
def test_a_backend_that_does_not_load_is_one_line_that_says_why(tmp_path: Path, source: str, words: str) -> None:
    install(tmp_path, "torch_acme", source)
    slug, message = ask(tmp_path, LOAD.format(device="acme"))
    assert slug == "no-device"
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize("device", ["acme", "cuda"])
def test_a_backend_that_keeps_torch_from_loading_is_one_line(tmp_path: Path, device: str) -> None:
    install(tmp_path, "torch_acme", "raise ValueError('wrong driver')\n", entry_points=AUTOLOAD)
    slug, message = ask(tmp_path, LOAD.format(device=device))
    assert slug == "no-torch"
    assert "Failed to load the backend extension: torch_acme" in message
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in message


def test_a_device_module_that_starts_the_device_for_any_name_is_not_asked(tmp_path: Path) -> None:
    source = """
    import types
    import torch

    class Module(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            raise SystemExit(f"started by asking for {name}")

    module = Module("torch.spyre")
    module.is_available = lambda: exec("raise SystemExit('started by is_available')")
    module.device_count = lambda: 1
    torch.utils.rename_privateuse1_backend("spyre")
    torch._register_device_module("spyre", module)
    """
    install(tmp_path, "torch_spyre", source, version="0.1", distribution="torch-spyre")
    # Whether it is in use cannot be known without starting it: taken as in use.
    assert ask(tmp_path, LOAD.format(device="spyre")) == ["torch_spyre", "0.1", 1, True, "spyre:1"]


def test_device_files_are_counted_and_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACME_DEVICES", raising=False)
    monkeypatch.setattr("conformance.devices.private_use.is_importable", lambda name: True)

    def adapter(*, exclusive: bool) -> PrivateUseAdapter:
        return PrivateUseAdapter(
            "acme",
            module="torch_acme",
            summary="",
            visible=("ACME_DEVICES", "ACME_OLD_DEVICES"),
            device_files="dev/acme[0-9]*",
            exclusive=exclusive,
            root=tmp_path,
        )

    assert adapter(exclusive=False).look().why.endswith("there is no /dev/acme[0-9]*: no device, or no driver")
    (tmp_path / "dev").mkdir()
    for name in ("acme0", "acme1", "acme_manager"):
        (tmp_path / "dev" / name).touch()
    assert adapter(exclusive=False).look().count == 2
    assert [adapter(exclusive=False).worker_environment(n, 3)["ACME_DEVICES"] for n in range(3)] == ["0", "1", "0"]
    with pytest.raises(InfrastructureError, match="3 workers, but only 2 'acme' devices"):
        adapter(exclusive=True).worker_environment(0, 3)
    monkeypatch.setenv("ACME_OLD_DEVICES", "5,7")
    assert adapter(exclusive=True).worker_environment(1, 2) == {"ACME_OLD_DEVICES": "7"}
    assert adapter(exclusive=True).worker_environment(0, 1) == {}


def test_slices_of_named_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RBLN_DEVICES", "RBLN_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    assert RBLN.worker_environment(1, 2) == {"RBLN_DEVICES": "1"}
    monkeypatch.setenv("RBLN_VISIBLE_DEVICES", "2,3")
    assert RBLN.worker_environment(1, 2) == {"RBLN_VISIBLE_DEVICES": "3"}
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "4,5")
    assert NPU.worker_environment(0, 2) == {"ASCEND_RT_VISIBLE_DEVICES": "4"}
    for adapter in (HPU, TPU, SPYRE):
        assert adapter.worker_environment(1, 2) == {}


def test_no_account_is_claimed_for_them() -> None:
    for adapter in (NPU, HPU, TPU, SPYRE, RBLN):
        assert adapter.fallback_counter() is None
