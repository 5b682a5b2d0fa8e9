"""torch.compile on the emulated device: the captured graph runs there, and what the profile refuses is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from conformance.emulator.profile import find_profile, read_profile

if TYPE_CHECKING:
    from pathlib import Path


def test_loading_the_emulator_does_not_import_dynamo() -> None:
    code = """
import sys
from conformance import emulator
emulator.load()
print("torch._dynamo" in sys.modules)
import torch
print("neuron" in torch._dynamo.list_backends(exclude_tags=()))
registry = sys.modules["torch._dynamo.backends.registry"]
print(type(registry.__loader__).__name__, type(registry.__spec__.loader).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["False", "True", "SourceFileLoader SourceFileLoader"], done.stderr


def test_the_backend_is_there_when_dynamo_was_imported_first() -> None:
    code = """
import torch, torch._dynamo
from conformance import emulator
emulator.load()
print(torch.compile(lambda x: x + 1, backend="neuron")(torch.ones(2, device="neuron")).tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[2.0, 2.0]\n", done.stderr


@pytest.mark.on_device
def test_a_compiled_graph_runs_on_the_device_and_is_counted_as_in_eager_mode() -> None:
    import torch

    from conformance import emulator

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.erfinv(torch.tanh(x)) + 1  # erfinv is no native operator of the profile

    x = torch.linspace(-1, 1, 12, device="neuron").reshape(3, 4)
    function(x)
    emulator.counts()
    want = function(x)
    eager = emulator.counts()
    assert "aten::erfinv.out" in eager.fallback
    compiled = torch.compile(function, backend="neuron", dynamic=False)
    compiled(x)
    emulator.counts()
    got = compiled(x)
    assert emulator.counts() == eager
    assert got.device.type == "neuron"
    assert torch.equal(got.cpu(), want.cpu())


@pytest.mark.on_device
def test_gradients_go_through_a_compiled_graph() -> None:
    import torch

    x = torch.ones(2, 3, device="neuron", requires_grad=True)
    torch.compile(lambda x: (x * x).sum(), backend="neuron", dynamic=False)(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[2.0] * 3] * 2


@pytest.mark.on_device
def test_dynamic_shapes_are_refused_and_said_to_be() -> None:
    import torch

    x = torch.ones(3, 4, device="neuron")
    with pytest.raises(Exception, match="does not support dynamic shapes, which an input has") as caught:
        torch.compile(torch.sin, backend="neuron", dynamic=True)(x)
    assert "NotImplementedError" in str(caught.value)
    torch._dynamo.reset()
    compiled = torch.compile(torch.sin, backend="neuron")
    compiled(x)
    with pytest.raises(Exception, match="does not support dynamic shapes"):
        compiled(torch.ones(5, 4, device="neuron"))  # dynamo makes the size dynamic at the second shape
    torch._dynamo.reset()
    static = torch.compile(torch.sin, backend="neuron", dynamic=False)
    assert [static(torch.ones(n, 4, device="neuron")).shape[0] for n in (3, 5)] == [3, 5]


@pytest.mark.on_device
@pytest.mark.parametrize("inside", [False, True])
def test_complex_dtypes_are_refused_also_where_they_only_come_up_between(inside: bool) -> None:
    import torch

    def between(x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(torch.fft.fft(x))

    x = torch.ones(4, device="neuron", dtype=torch.float32 if inside else torch.complex64)
    function = between if inside else torch.neg
    named = "the result of 'fft_fft'" if inside else "an input"
    with pytest.raises(Exception, match=f"does not support the dtype complex64, which {named} has"):
        torch.compile(function, backend="neuron", dynamic=False)(x)


@pytest.mark.on_device
def test_a_size_that_dynamo_found_to_be_fixed_is_not_dynamic() -> None:
    import torch

    def function(x: torch.Tensor) -> torch.Tensor:
        return x + torch.ones(5, device="neuron")  # which leaves no other size for x than 5

    compiled = torch.compile(function, backend="neuron", dynamic=True)
    assert compiled(torch.ones(5, device="neuron")).tolist() == [2.0] * 5


@pytest.mark.on_device
def test_the_functions_of_the_device_module_are_not_compiled() -> None:
    import torch

    def function(x: torch.Tensor) -> torch.Tensor:
        with torch.random.fork_rng(device_type="neuron"):
            torch.manual_seed(3)
            return torch.rand_like(x)

    x = torch.ones(5, device="neuron")
    want = function(x)
    got = torch.compile(function, backend="neuron", dynamic=False)(x)
    assert torch.equal(got.cpu(), want.cpu())


@pytest.mark.on_device(profile="full")
def test_the_profile_full_refuses_nothing() -> None:
    import torch

    compiled = torch.compile(torch.neg, backend="neuron", dynamic=True)
    for length in (3, 5):
        assert compiled(torch.ones(length, 4, device="neuron", dtype=torch.complex64)).shape == (length, 4)


def test_profiles_say_what_is_refused() -> None:
    default, full = (read_profile(find_profile(name)) for name in ("default", "full"))
    assert (default.compiles_dynamic_shapes, full.compiles_dynamic_shapes) == (False, True)
    assert default.uncompiled_dtypes == ("complex32", "complex64", "complex128")
    assert full.uncompiled_dtypes == ()


def test_a_profile_without_the_table_refuses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('schema = 1\nname = "mine"\nnative = "all"\n', encoding="utf-8")
    profile = read_profile(path)
    assert profile.compiles_dynamic_shapes
    assert profile.uncompiled_dtypes == ()
