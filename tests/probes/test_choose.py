"""Which probe is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from conformance.devices import DeviceAdapter
from conformance.errors import InfrastructureError, UsageError
from conformance.probes import CounterProbe, ObserverProbe, Probe, ProfilerProbe, choose, probe_for

NEEDS_NAMES = pytest.mark.skipif(version("torch").startswith("2.6."), reason="its profiler does not name overloads")


class Silent(DeviceAdapter):
    """A backend that keeps no account of its own."""

    device = "neuron"


class Counting(DeviceAdapter):
    """A backend that keeps one."""

    device = "neuron"
    fallback_counter_name = "its own account"

    def fallback_counter(self) -> Callable[[], Mapping[str, int]]:
        return dict


@pytest.fixture
def no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CONFORMANCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)


def test_the_backends_own_account_is_best() -> None:
    probe = probe_for(Counting())
    assert (type(probe), probe.name, probe.note) == (CounterProbe, "its own account", "")


def test_then_comes_the_observer() -> None:
    probe = probe_for(Silent())
    assert (type(probe), probe.name, probe.note) == (ObserverProbe, "observer", "")


@NEEDS_NAMES
def test_without_a_compiler_comes_the_profiler(no_compiler: None) -> None:
    probe = probe_for(Silent())
    assert (type(probe), probe.name) == (ProfilerProbe, "profiler")
    assert "C++ compiler" in probe.note
    assert "\n" not in probe.note


def test_without_the_profiler_comes_none_and_says_why(no_compiler: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> ProfilerProbe:
        raise InfrastructureError("no-profiler", "this torch has no profiler\nat all")

    monkeypatch.setattr(choose, "ProfilerProbe", missing)
    probe = probe_for(Silent())
    assert (type(probe), probe.name) == (Probe, "")
    assert probe.note.endswith("; this torch has no profiler")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("backend", CounterProbe),
        ("observer", ObserverProbe),
        pytest.param("profiler", ProfilerProbe, marks=NEEDS_NAMES),
        ("none", Probe),
    ],
)
def test_a_probe_can_be_named(name: str, kind: type[Probe]) -> None:
    assert type(probe_for(Counting(), name)) is kind


def test_a_named_probe_that_cannot_be_had_is_an_error(no_compiler: None) -> None:
    with pytest.raises(UsageError, match="'neuron' keeps no account of its fallbacks"):
        probe_for(Silent(), "backend")
    with pytest.raises(InfrastructureError) as caught:
        probe_for(Silent(), "observer")
    assert caught.value.slug == "no-compiler"
    assert str(caught.value).startswith("the observer of CPU fallbacks needs a C++ compiler")
    assert "\n" not in str(caught.value)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(
        UsageError, match=r"no probe 'obsever' \(did you mean 'observer'\?\); give one of auto, backend"
    ):
        probe_for(Silent(), "obsever")


def test_the_observer_does_not_compile_with_a_broken_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "false")
    monkeypatch.setenv("CONFORMANCE_CACHE", str(tmp_path))
    with pytest.raises(InfrastructureError, match="cannot be built for torch") as caught:
        ObserverProbe()
    assert caught.value.slug == "observer-build"
    assert list(tmp_path.glob("observer-*.log"))
