"""The observer sees every fallback, in every thread, and leaves the profiler alone."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.on_device


def test_each_fallback_is_counted_by_its_overload() -> None:
    import torch

    from conformance.model.result import FallbackAccount
    from conformance.probes import ObserverProbe

    probe = ObserverProbe()
    x = torch.ones(3, device="neuron")
    probe.begin_test()
    for _ in range(3):
        torch.hypot(x, x)
    probe.open_window()
    torch.hypot(x, x)
    torch.special.i0e(x)
    probe.close_window()
    x.sin().sum().item()
    both = ("aten::hypot.out", "aten::special_i0e.out")
    assert probe.end_test() == FallbackAccount(both, both)
    assert probe.fallback_calls == {"aten::hypot.out": 4, "aten::special_i0e.out": 1}
    torch.hypot(x, x)  # between tests nobody looks
    probe.begin_test()
    assert probe.end_test() == FallbackAccount()


def test_autograds_threads_and_others_are_seen() -> None:
    import threading

    import torch

    from conformance.probes import ObserverProbe

    threads: set[int] = set()

    class Note(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: object, t: torch.Tensor) -> torch.Tensor:
            return t.clone()

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
            threads.add(threading.get_ident())
            return torch.special.i0e(grad)

    probe = ObserverProbe()
    x = torch.ones(3, device="neuron", requires_grad=True)
    y = Note.apply(x).sum()
    for only_windows in (False, True):
        probe.begin_test(only_windows=only_windows)
        probe.open_window()
        y.backward(retain_graph=True)
        probe.close_window()
        assert probe.end_test() is not None
        assert probe.fallback_calls == {"aten::special_i0e.out": 1}
    assert threading.get_ident() not in threads
    probe.begin_test()
    thread = threading.Thread(target=torch.special.i1e, args=(x.detach(),))
    thread.start()
    thread.join()
    account = probe.end_test()
    assert account is not None
    assert account.operator == ("aten::special_i1e.out",)


@pytest.mark.parametrize("only_windows", [False, True])
def test_a_test_that_uses_the_profiler_sees_what_it_sees_without_the_observer(only_windows: bool) -> None:
    import torch
    from torch.profiler import profile

    from conformance.probes import ObserverProbe

    x = torch.ones(3, device="neuron")

    def names() -> list[str]:
        with profile() as session:
            torch.hypot(x, x)
            x.sin()
        return [event.name for event in session.events()]

    names()  # the first session has events of the profiler's own
    alone = names()
    probe = ObserverProbe()
    probe.begin_test(only_windows=only_windows)
    assert names() == alone
    probe.open_window()
    assert names() == alone
    probe.close_window()
    account = probe.end_test()
    assert account is not None
    assert account.operator == ("aten::hypot.out",)


@pytest.mark.parametrize("how", ["switched off", "removed"])
@pytest.mark.parametrize("only_windows", [False, True])
def test_an_observer_that_was_cut_off_does_not_know(how: str, only_windows: bool) -> None:
    import torch

    from conformance.probes import ObserverProbe

    probe = ObserverProbe()
    x = torch.ones(3, device="neuron")
    probe.begin_test(only_windows=only_windows)
    probe.open_window()
    if how == "switched off":
        torch.autograd._enable_record_function(False)
        torch.hypot(x, x)
        probe.close_window()
        assert probe.end_test() is None
        torch.autograd._enable_record_function(True)
    else:
        torch._C._autograd._clear_callbacks()
        torch.hypot(x, x)
        probe.close_window()
        assert probe.end_test() is None
    assert probe.computed_inside is None
    probe.begin_test(only_windows=only_windows)
    probe.open_window()
    torch.hypot(x, x)
    probe.close_window()
    account = probe.end_test()
    assert account is not None
    assert account.operator == ("aten::hypot.out",)


def test_an_error_in_an_operator_does_not_shift_the_blame() -> None:
    import pytest
    import torch

    from conformance.probes import ObserverProbe

    probe = ObserverProbe()
    x = torch.ones(3, 3, device="neuron")
    probe.begin_test()
    for _ in range(3):
        with pytest.raises(RuntimeError):
            torch.linalg.cholesky(-x)
        torch.hypot(x, x)
    probe.end_test()
    assert probe.fallback_calls["aten::hypot.out"] == 3
    assert probe.fallback_calls["aten::linalg_cholesky_ex.L"] == 3
    assert len(probe.fallback_calls) == 2


def test_a_kernel_that_computes_on_the_cpu_inside_is_told_apart() -> None:
    import warnings

    import torch

    from conformance.model.result import FallbackAccount
    from conformance.probes import ObserverProbe

    warnings.simplefilter("ignore")
    kernels = torch.library.Library("aten", "IMPL")
    kernels.impl("erfinv", lambda x: torch.special.erfinv(x.cpu()).to(x.device), "PrivateUse1")
    kernels.impl("hypot.out", lambda x, y, out: out.copy_(torch.hypot(x.to("cpu"), y.to("cpu"))), "PrivateUse1")
    kernels.impl("i0", lambda x: torch.special.i0e(x) * torch.exp(abs(x)), "PrivateUse1")
    # Looks at values and moves them, but computes nothing there.
    kernels.impl("frac", lambda x: x.cpu().to(x.device) - (1 if x.max().item() > 1 else 0), "PrivateUse1")
    probe = ObserverProbe()
    x = torch.full((3,), 0.5, device="neuron")
    probe.begin_test()
    torch.hypot(x, x)
    probe.open_window()
    torch.erfinv(x)
    torch.erfinv(x)
    torch.i0(x)
    torch.frac(x)
    probe.close_window()
    account = probe.end_test()
    assert probe.computed_inside == FallbackAccount(("aten::erfinv",), ("aten::erfinv", "aten::hypot.out"))
    assert account == FallbackAccount(("aten::special_i0e.out",), ("aten::special_i0e.out",))


def test_it_sees_in_a_process_that_was_forked_after_it_was_loaded() -> None:
    import os

    import torch

    from conformance.probes import ObserverProbe

    probe = ObserverProbe()
    pid = os.fork()
    if pid == 0:
        probe.begin_test()
        torch.special.i0e(torch.ones(3, device="neuron"))
        probe.end_test()
        os._exit(0 if probe.fallback_calls == {"aten::special_i0e.out": 1} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
