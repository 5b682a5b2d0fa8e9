"""What ran on the device and what fell back to the CPU, counted for each overload."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.on_device


def test_native_and_fallback_calls_are_told_apart() -> None:
    import torch

    from conformance import emulator

    x = torch.ones(2, device="neuron")
    emulator.counts()
    torch.sin(x)
    torch.sin(x)
    x.add_(1)
    torch.hypot(x, x)
    counts = emulator.counts()
    assert counts.native["aten::sin"] == 2
    assert counts.native["aten::add_.Tensor"] == 1
    assert counts.fallback == {"aten::hypot.out": 1}


def test_reset_is_a_choice() -> None:
    import torch

    from conformance import emulator

    torch.ones(2, device="neuron").sin()
    assert emulator.counts(reset=False).native["aten::sin"] == 1
    assert emulator.counts().native["aten::sin"] == 1
    assert emulator.counts() == emulator.Counts(native={}, fallback={})


def test_calls_from_autograd_threads_are_counted_exactly() -> None:
    import threading

    import torch

    from conformance import emulator

    x = torch.ones(4, device="neuron", requires_grad=True)
    y = torch.hypot(x, x.sin()).sum()
    emulator.counts()
    seen: list[int] = []

    class Note(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: object, t: torch.Tensor) -> torch.Tensor:
            return t.clone()

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
            seen.append(threading.get_ident())
            return torch.hypot(grad, grad)

    Note.apply(y).backward()
    counts = emulator.counts()
    assert seen != [threading.get_ident()]
    assert counts.fallback["aten::hypot.out"] == 1
    assert counts.native["aten::cos"] == 1


def test_calls_from_many_threads_are_counted_exactly() -> None:
    from concurrent.futures import ThreadPoolExecutor

    import torch

    from conformance import emulator

    x = torch.ones(4, device="neuron")
    emulator.counts()

    def work(_: int) -> None:
        for _ in range(200):
            x.sin()
            torch.hypot(x, x)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    counts = emulator.counts()
    assert counts.native["aten::sin"] == 1600
    assert counts.fallback["aten::hypot.out"] == 1600


def test_an_operator_on_complex_numbers_falls_back() -> None:
    import torch

    from conformance import emulator

    x = torch.tensor([3 + 4j], device="neuron")
    emulator.counts()
    assert (x * x).tolist() == [-7 + 24j]
    assert emulator.counts().fallback == {"aten::mul.Tensor": 1}
    assert torch.view_as_real(x).tolist() == [[3, 4]]
    assert emulator.counts().fallback == {}


@pytest.mark.on_device(profile="full")
def test_nothing_falls_back_under_the_full_profile() -> None:
    import torch

    from conformance import emulator

    x = torch.tensor([3 + 4j], device="neuron")
    torch.hypot((x * x).real, x.imag)
    assert emulator.counts().fallback == {}
    assert emulator.profile().name == "full"


def test_a_composed_operator_is_counted_by_its_parts() -> None:
    import torch

    from conformance import emulator

    x = torch.ones(2, 2, device="neuron")
    emulator.counts()
    torch.nn.functional.linear(x, x, x[0])
    counts = emulator.counts()
    assert counts.native["aten::addmm"] == 1
    assert "aten::linear" not in counts.native


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
def test_convolution_is_native_both_ways(name: str) -> None:
    import torch

    from conformance import emulator

    x = torch.randn(1, 2, 5, 5, device="neuron", requires_grad=True)
    w = torch.randn(2, 2, 3, 3, device="neuron", requires_grad=True)
    getattr(torch.nn.functional, name)(x, w).sum().backward()
    counts = emulator.counts()
    assert counts.fallback == {}
    assert counts.native["aten::convolution_overrideable"] == 1
    assert counts.native["aten::convolution_backward_overrideable"] == 1
