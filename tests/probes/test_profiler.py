"""The profiler as a probe: silent, in all threads, and out of the way of a test that profiles."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from importlib.metadata import version

import pytest

NEEDS_NAMES = pytest.mark.skipif(version("torch").startswith("2.6."), reason="its profiler does not name overloads")


@NEEDS_NAMES
@pytest.mark.on_device
def test_threads_and_windows_are_told_apart() -> None:
    import threading

    import torch

    from conformance.model.result import FallbackAccount
    from conformance.probes import ProfilerProbe

    class Note(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: object, t: torch.Tensor) -> torch.Tensor:
            return t.clone()

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
            return torch.special.i0e(grad)

    x = torch.ones(3, device="neuron", requires_grad=True)
    probe = ProfilerProbe()
    probe.begin_test()
    torch.hypot(x, x)
    probe.open_window()
    y = Note.apply(x).sum()
    probe.close_window()
    thread = threading.Thread(target=torch.special.i1e, args=(x.detach(),))
    thread.start()
    thread.join()
    probe.open_window()
    y.backward()
    probe.close_window()
    assert probe.end_test() == FallbackAccount(
        ("aten::special_i0e.out",), ("aten::hypot.out", "aten::special_i0e.out", "aten::special_i1e.out")
    )


@NEEDS_NAMES
@pytest.mark.on_device
@pytest.mark.parametrize("only_windows", [False, True])
def test_a_test_that_profiles_is_not_disturbed_and_its_account_is_unknown(only_windows: bool) -> None:
    import torch
    from torch.profiler import profile

    from conformance.probes import ProfilerProbe

    x = torch.ones(3, device="neuron")

    def names() -> list[str]:
        with profile() as session:
            torch.hypot(x, x)
            x.sin()
        return [event.name for event in session.events()]

    names()
    alone = names()
    starters = (torch.autograd.profiler._enable_profiler, torch._C._autograd._prepare_profiler)
    probe = ProfilerProbe()
    for in_window in (False, True):
        probe.begin_test(only_windows=only_windows)
        torch.hypot(x, x)
        if in_window:
            probe.open_window()
        assert names() == alone
        assert names() == alone
        if in_window:
            probe.close_window()
        torch.hypot(x, x)
        assert probe.end_test() is None
    assert starters == (torch.autograd.profiler._enable_profiler, torch._C._autograd._prepare_profiler)
    probe.begin_test(only_windows=only_windows)
    probe.open_window()
    torch.hypot(x, x)
    probe.close_window()
    account = probe.end_test()
    assert account is not None
    assert account.operator == ("aten::hypot.out",)
    assert names() == alone


@NEEDS_NAMES
@pytest.mark.on_device
def test_a_session_that_runs_already_is_left_alone() -> None:
    import torch
    from torch.profiler import profile

    from conformance.probes import ProfilerProbe

    x = torch.ones(3, device="neuron")
    probe = ProfilerProbe()
    with profile() as session:
        probe.begin_test()
        torch.hypot(x, x)
        assert probe.end_test() is None
    assert "aten::hypot" in [event.name for event in session.events()]


@NEEDS_NAMES
@pytest.mark.on_device
def test_a_session_that_would_take_too_much_memory_is_given_up() -> None:
    import torch

    from conformance.probes import ProfilerProbe, profiler

    profiler._EVENTS_MEMORY = -1
    x = torch.ones(3, device="neuron")
    probe = ProfilerProbe()
    probe.begin_test()
    probe.open_window()
    torch.hypot(x, x)
    probe.close_window()
    assert probe.end_test() is None


@NEEDS_NAMES
@pytest.mark.on_device
def test_a_test_that_failed_before_its_end_leaves_nothing_running() -> None:
    import torch

    from conformance.model.result import FallbackAccount
    from conformance.probes import ProfilerProbe

    x = torch.ones(3, device="neuron")
    probe = ProfilerProbe()
    probe.begin_test()
    probe.open_window()
    torch.hypot(x, x)
    probe.begin_test()
    x.sin()
    assert probe.end_test() == FallbackAccount()
    assert not torch.autograd._profiler_enabled()


@NEEDS_NAMES
def test_no_line_is_printed_and_no_variable_is_left() -> None:
    code = """
        import os, torch
        from conformance.probes import ProfilerProbe
        probe = ProfilerProbe()
        for _ in range(3):
            probe.begin_test()
            torch.ones(2).sin()
            print(probe.end_test())
        print("KINETO_LOG_LEVEL" in os.environ)
    """
    # Not the variables that earlier tests of this process have set for torch: they are not what is looked at.
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["FallbackAccount(operator=(), test=(), inside=None)"] * 3 + ["False"]


def test_a_profiler_that_cannot_name_overloads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from conformance.errors import InfrastructureError
    from conformance.probes import ProfilerProbe

    def as_in_torch_2_6(**options: bool) -> None:
        raise TypeError(f"incompatible constructor arguments: {options}")

    monkeypatch.setattr(torch._C._profiler, "_ExperimentalConfig", as_in_torch_2_6)
    with pytest.raises(InfrastructureError, match=r"use torch 2.7 or newer, or install a C\+\+ compiler") as caught:
        ProfilerProbe()
    assert caught.value.slug == "no-profiler"
    monkeypatch.delattr(torch._C._profiler, "_RecordFunctionFast")
    with pytest.raises(InfrastructureError, match=r"torch \d.*has no torch._C._profiler._RecordFunctionFast") as caught:
        ProfilerProbe()
    assert caught.value.slug == "unsupported-torch"
