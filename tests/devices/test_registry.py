"""Adapters are found by entry points, backends by what is installed; a package of one's own needs no change here."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from conformance.devices import DeviceAdapter, adapter_for, known_devices
from conformance.errors import UsageError
from tests.devices.packages import BACKEND, ask, install

ADAPTER = """
from conformance.devices import DeviceAdapter, DeviceDescription, Presence

class Acme(DeviceAdapter):
    device = "{device}"
    summary = "an accelerator of Acme's"

    def look(self):
        return Presence(found=True, why="Acme {version}", version="{version}", count=4)

    def describe(self):
        return DeviceDescription("Acme One", emulated=False, backend="acme", backend_version="{version}")

ADAPTER = Acme()
"""
FIND = """
from conformance.devices import adapter_for, known_devices
from conformance.errors import ConformanceError
try:
    found = adapter_for("{device}")
    answer = [type(found).__name__, found.summary, known_devices()]
except ConformanceError as error:
    answer = [error.slug, str(error), known_devices() if error.slug != "two-adapters" else []]
"""


def test_every_registered_adapter_is_one_and_has_the_name_of_its_device() -> None:
    ours = [entry.name for entry in entry_points(group="conformance.devices") if entry.value.startswith("conformance.")]
    assert {"cpu", "cuda", "mps", "neuron", "xla", "xpu", "npu", "hpu", "tpu", "spyre", "rbln", "openreg"} == set(ours)
    for name in ours:
        adapter = adapter_for(name)
        assert isinstance(adapter, DeviceAdapter)
        assert adapter.device == name
        assert adapter.summary
        assert adapter.fork_safe or adapter.fork_note


@pytest.mark.parametrize(
    "device", ["toaster", "", "../cpu", "torch.cuda", "CPU", "neuronx", "geometric\n", "privateuseone"]
)
def test_an_unknown_device_is_one_line_that_names_the_known_ones(device: str) -> None:
    with pytest.raises(UsageError, match="unknown device") as caught:
        adapter_for(device)
    assert "neuron" in str(caught.value)
    assert caught.value.slug == "unknown-device"


def test_a_package_of_ones_own_brings_a_device(tmp_path: Path) -> None:
    install(
        tmp_path,
        "acme_conformance",
        ADAPTER.format(device="acme", version="7.1"),
        entry_points={"conformance.devices": {"acme": "acme_conformance:ADAPTER"}},
    )
    kind, summary, known = ask(tmp_path, FIND.format(device="acme"))
    assert (kind, summary) == ("Acme", "an accelerator of Acme's")
    assert set(known) == {"acme", *known_devices()}


def test_a_package_of_ones_own_goes_before_the_adapter_that_comes_with_the_harness(tmp_path: Path) -> None:
    install(
        tmp_path,
        "a_npu",  # sorted before conformance, and after it below
        ADAPTER.format(device="npu", version="7.1"),
        entry_points={"conformance.devices": {"npu": "a_npu:ADAPTER"}},
    )
    install(
        tmp_path,
        "z_tpu",
        ADAPTER.format(device="tpu", version="7.1"),
        entry_points={"conformance.devices": {"tpu": "z_tpu:ADAPTER"}},
    )
    assert ask(tmp_path, FIND.format(device="npu"))[0] == "Acme"
    assert ask(tmp_path, FIND.format(device="tpu"))[0] == "Acme"


def test_two_packages_for_one_device_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        install(
            tmp_path,
            name,
            ADAPTER.format(device="acme", version="7.1"),
            entry_points={"conformance.devices": {"acme": f"{name}:ADAPTER"}},
        )
    slug, message, _ = ask(tmp_path, FIND.format(device="acme"))
    assert slug == "two-adapters"
    assert "one:ADAPTER and two:ADAPTER" in message


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import nothing_of_that_name\nADAPTER = None\n", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "cannot be imported: SystemExit: 3"),
        ("ADAPTER = 7\n", "is a int, not a DeviceAdapter instance"),
        ("ADAPTERS = 7\n", "AttributeError"),
        (ADAPTER.format(device="other", version="7.1"), "says that it is for 'other'"),
    ],
    ids=["import", "exit", "no-adapter", "no-name", "other-device"],
)
def test_a_broken_adapter_is_one_line_and_leaves_the_others_alone(tmp_path: Path, source: str, words: str) -> None:
    install(tmp_path, "acme", source, entry_points={"conformance.devices": {"acme": "acme:ADAPTER"}})
    slug, message, known = ask(tmp_path, FIND.format(device="acme"))
    assert slug == "broken-adapter"
    assert words in message
    assert "acme" in known


def test_an_installed_backend_needs_no_adapter(tmp_path: Path) -> None:
    install(
        tmp_path,
        "torch_acme",
        BACKEND.format(device="acme", available=True),
        entry_points={"torch.backends": {"torch_acme": "torch_acme:_autoload"}},
    )
    kind, summary, known = ask(tmp_path, FIND.format(device="acme"))
    assert kind == "PrivateUseAdapter"
    assert "torch_acme" in summary
    assert "acme" in known


def test_an_installed_backend_that_pytorch_does_not_load_by_itself_is_found_by_name(tmp_path: Path) -> None:
    install(tmp_path, "torch_acme", BACKEND.format(device="acme", available=True))
    kind, _, known = ask(tmp_path, FIND.format(device="acme"))
    assert kind == "PrivateUseAdapter"
    assert "acme" not in known


def test_a_package_that_an_adapter_is_for_makes_no_second_device(tmp_path: Path) -> None:
    install(
        tmp_path,
        "torch_neuronx",
        "raise SystemExit('imported')\n",
        entry_points={"torch.backends": {"torch_neuronx": "torch_neuronx:_autoload"}},
    )
    slug, _, known = ask(tmp_path, FIND.format(device="neuronx"))
    assert slug == "unknown-device"
    assert "neuronx" not in known
    install(
        tmp_path,
        "habana_frameworks",
        "raise SystemExit('imported')\n",
        entry_points={"torch.backends": {"device_backend": "habana_frameworks:__autoload"}},
    )
    _, _, known = ask(tmp_path, FIND.format(device="hpu"))
    assert "habana_frameworks" not in known
