"""What the device cannot do ends in an error that names it, as a real backend's would, and never in a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.on_device

_STATEMENTS = {
    "sparse_coo_tensor": "torch.sparse_coo_tensor([[0], [1]], [1.0], device='neuron')",
    "to_sparse": "x.to_sparse()",
    "to_sparse_csr": "x.to_sparse_csr().sum()",  # PyTorch makes one without asking the backend
    "sparse moved": "torch.ones(2, 2).to_sparse().to('neuron')",
    "csr moved": "torch.ones(2, 2).to_sparse_csr().to('neuron').sum()",
    "empty sparse": "torch.empty(2, 2, layout=torch.sparse_coo, device='neuron')",
    "nested": "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device='neuron') * 2",  # nor here
    "nested moved": "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).to('neuron') * 2",
    "quantize": "torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)",
    "quantized moved": "torch.quantize_per_tensor(x.cpu(), 0.1, 0, torch.qint8).to('neuron')",
    "empty quantized": "torch.empty(3, dtype=torch.qint8, device='neuron')",
    "mkldnn": "x.to_mkldnn()",
    "no CPU kernel": "torch.ops.aten.cudnn_affine_grid_generator(x, 1, 1, 1, 1)",
}


@pytest.mark.parametrize("profile", ["default", "full"])
@pytest.mark.parametrize("what", sorted(_STATEMENTS))
def test_it_raises_not_implemented(what: str, profile: str) -> None:
    import torch

    from conformance import emulator

    assert emulator.profile().name == profile
    x = torch.ones(2, 2, device="neuron")
    with pytest.raises(NotImplementedError, match=r"aten::|layout|not supported|Unsupported"):
        exec(_STATEMENTS[what], {"torch": torch, "x": x})
    assert (x + x).tolist() == [[2, 2], [2, 2]]


def test_another_memory_format_is_refused() -> None:
    import torch

    x = torch.ones(1, 2, 3, 3, device="neuron")
    requests: list[Callable[[], object]] = [
        lambda: x.contiguous(memory_format=torch.channels_last),
        lambda: x.clone(memory_format=torch.channels_last),
        lambda: x.to(memory_format=torch.channels_last),
        lambda: torch.empty_like(x, memory_format=torch.channels_last),
        lambda: x.resize_(1, 3, 2, 2, memory_format=torch.channels_last),
    ]
    for ask in requests:
        with pytest.raises(NotImplementedError, match="memory format ChannelsLast is not supported"):
            ask()
    assert x.clone(memory_format=torch.preserve_format).stride() == x.stride()


def test_channels_last_tensors_from_the_cpu_are_taken() -> None:
    import torch

    x = torch.randn(1, 2, 4, 6).contiguous(memory_format=torch.channels_last)[..., ::2]
    torch.testing.assert_close(torch.hypot(x.to("neuron"), x.to("neuron")).cpu(), torch.hypot(x, x))


def test_64_bit_types_keep_their_dtype_and_lose_their_precision() -> None:
    import torch

    x = torch.tensor([1 + 1e-12], dtype=torch.float64, device="neuron")
    assert x.item() == 1 + 1e-12  # stored as it is
    assert (x * 1).dtype == torch.float64
    assert (x * 1).item() == 1
    big = torch.tensor([2**40], device="neuron")
    assert big.item() == 2**40
    assert (big + 1).tolist() == [1]
    assert (torch.arange(3, device="neuron") * 2).tolist() == [0, 2, 4]
    y = torch.zeros(1, dtype=torch.float64, device="neuron")
    y.add_(0.1)
    assert y.item() == torch.tensor(0.1).item()


@pytest.mark.on_device(profile="full")
def test_the_full_profile_computes_in_64_bits() -> None:
    import torch

    assert (torch.tensor([1 + 1e-12], dtype=torch.float64, device="neuron") * 1).item() == 1 + 1e-12
    assert (torch.tensor([2**40], device="neuron") + 1).tolist() == [2**40 + 1]
    assert torch.ones(1, 2, 3, 3, device="neuron").to(memory_format=torch.channels_last).stride() == (18, 1, 6, 2)
