"""What PyTorch expects of a device: memory, indices, views, copies, random numbers, storage files, mixed precision."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

pytestmark = pytest.mark.on_device


def test_operators_run_and_give_the_cpu_result() -> None:
    import torch

    x = torch.arange(6.0).view(2, 3)
    on_device = x.to("neuron").requires_grad_()
    (on_device @ on_device.T).sin().sum().backward()
    on_cpu = x.clone().requires_grad_()
    (on_cpu @ on_cpu.T).sin().sum().backward()
    assert on_device.grad is not None
    assert on_device.grad.device == torch.device("neuron:0")
    torch.testing.assert_close(on_device.grad.cpu(), on_cpu.grad)


def test_copies_between_indices_are_real() -> None:
    import torch

    x = torch.ones(3, device="neuron:0")
    y = x.to("neuron:1")
    assert y.device.index == 1
    assert y.data_ptr() != x.data_ptr()
    y.add_(1)
    assert x.tolist() == [1, 1, 1]
    assert y.tolist() == [2, 2, 2]


@pytest.mark.parametrize("operator", ["add", "hypot"])  # native, fallback
@pytest.mark.parametrize("other", ["neuron:1", "cpu"])
def test_tensors_on_two_devices_raise(operator: str, other: str) -> None:
    import torch

    with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device.*neuron:0 and " + other):
        getattr(torch, operator)(torch.ones(2, device="neuron:0"), torch.ones(2, device=other))


def test_a_cpu_number_and_cpu_indices_go_with_any_device() -> None:
    import torch

    x = torch.arange(3.0, device="neuron")
    assert (x + torch.tensor(2.0)).tolist() == [2, 3, 4]
    assert x[torch.tensor([2, 0])].tolist() == [2, 0]


def test_an_index_that_does_not_exist_raises() -> None:
    import torch

    with pytest.raises(RuntimeError, match=r"invalid device index 7: this machine has 2"):
        torch.ones(1, device="neuron:7")
    with pytest.raises(RuntimeError, match="invalid device index"):
        torch.neuron.set_device(2)


def test_current_device_follows_the_context_managers() -> None:
    import torch

    with torch.neuron.device(1):
        assert torch.ones(1, device="neuron").device.index == 1
        with torch.neuron.device_of(torch.ones(1, device="neuron:0")):
            assert torch.neuron.current_device() == 0
    assert torch.neuron.current_device() == 0
    torch.accelerator.set_device_index(1)
    assert torch.neuron.current_device() == 1


def test_memory_is_aligned_and_counted_for_each_device() -> None:
    import torch

    torch.neuron.reset_peak_memory_stats()
    before = torch.neuron.memory_allocated()
    x = torch.ones(1000, device="neuron")
    assert x.data_ptr() % 64 == 0
    assert torch.neuron.memory_allocated() - before == 4000
    y = x * 2  # allocated by a CPU kernel, and device memory all the same
    assert torch.neuron.memory_allocated() - before == 8000
    assert torch.neuron.memory_allocated(1) == 0
    del x, y
    assert torch.neuron.memory_allocated() == before
    assert torch.neuron.max_memory_allocated() - before == 8000
    torch.neuron.reset_peak_memory_stats()
    assert torch.neuron.max_memory_allocated() == before
    stats = torch.neuron.memory_stats()
    assert stats["allocation.all.allocated"] - stats["allocation.all.freed"] == stats["allocation.all.current"]
    free, total = torch.neuron.mem_get_info()
    assert total - free == before
    assert torch.neuron.get_device_properties().total_memory == total


def test_more_memory_than_there_is_raises_out_of_memory() -> None:
    import torch

    with pytest.raises(torch.OutOfMemoryError, match="tried to allocate"):
        torch.empty(2**50, device="neuron")
    assert torch.ones(1, device="neuron").item() == 1


def test_pinned_memory_is_known() -> None:
    import torch

    pinned = torch.ones(3).pin_memory()
    assert pinned.is_pinned()
    assert pinned[1:].is_pinned()
    assert not torch.ones(3).is_pinned()
    assert pinned.to("neuron", non_blocking=True).tolist() == [1, 1, 1]


def test_views_share_memory() -> None:
    import torch

    x = torch.arange(6.0, device="neuron").view(2, 3)
    x.view(6)[2:4].add_(10)
    x[1].neg_()
    assert x.tolist() == [[0, 1, 12], [-13, -4, -5]]
    assert x[1].as_strided((2, 2), (1, 1), 0).tolist() == [[0, 1], [1, 12]]
    assert x.t()._is_view()
    assert x.unfold(1, 2, 1)[0, 1].data_ptr() == x[0, 1:].data_ptr()


def test_a_fallback_writes_into_a_view() -> None:
    import torch

    x = torch.tensor([[3.0, 5.0], [4.0, 12.0]], device="neuron")
    x[0].hypot_(x[1])
    assert x.tolist() == [[5, 13], [4, 12]]


@pytest.mark.parametrize("operator", ["add", "hypot"])
def test_an_out_argument_is_resized_and_written(operator: str) -> None:
    import torch

    x = torch.tensor([3.0, 4.0], device="neuron")
    out = torch.empty(0, device="neuron")
    assert getattr(torch, operator)(x, x, out=out) is out
    torch.testing.assert_close(out.cpu(), getattr(torch, operator)(x.cpu(), x.cpu()))


def test_storages_resize_fill_and_set() -> None:
    import torch

    x = torch.ones(3, device="neuron")
    storage = x.untyped_storage()
    assert storage.is_neuron
    storage.resize_(16)
    assert storage.nbytes() == 16
    assert x.tolist() == [1, 1, 1]
    assert torch.empty(0, device="neuron").set_(storage, 1, (2,), (1,)).tolist() == [1, 1]
    storage.fill_(0)
    assert x.tolist() == [0, 0, 0]
    assert torch.ones(3).untyped_storage().neuron().device == torch.device("neuron:0")
    with pytest.raises(RuntimeError, match="devices must match"):
        torch.empty(0, device="neuron").set_(torch.ones(3).untyped_storage())


def test_methods_of_tensors_modules_and_packed_sequences_exist() -> None:
    import torch

    assert torch.ones(1).neuron().is_neuron
    assert torch.nn.Linear(2, 2).neuron().weight.is_neuron
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 4, device="neuron"), torch.tensor([3, 2]))
    assert packed.is_neuron


def test_tensors_survive_files_and_keep_what_they_share() -> None:
    import torch

    x = torch.arange(6.0, device="neuron:1")
    file = io.BytesIO()
    torch.save({"whole": x, "part": x[2:]}, file)

    def load(**options: object) -> dict[str, torch.Tensor]:
        file.seek(0)
        loaded: dict[str, torch.Tensor] = torch.load(file, **options)
        return loaded

    back = load()
    assert back["part"].device == torch.device("neuron:1")
    back["whole"].zero_()
    assert back["part"].tolist() == [0, 0, 0, 0]
    on_cpu = load(map_location="cpu")
    assert on_cpu["part"].device.type == "cpu"
    assert on_cpu["part"].tolist() == [2, 3, 4, 5]
    assert load(map_location="neuron:0")["whole"].device == torch.device("neuron:0")
    file = io.BytesIO()
    torch.save(on_cpu, file)
    assert load(map_location="neuron")["whole"].is_neuron
    assert pickle.loads(pickle.dumps(x)).device == x.device
    assert copy.deepcopy(x).tolist() == x.tolist()


def test_equal_seeds_give_equal_numbers_on_device_and_cpu() -> None:
    import torch

    torch.manual_seed(7)
    on_device = [torch.rand(3, device="neuron"), torch.randn(3, device="neuron"), torch.randperm(5, device="neuron")]
    torch.manual_seed(7)
    on_cpu = [torch.rand(3), torch.randn(3), torch.randperm(5)]
    for x, y in zip(on_device, on_cpu, strict=True):
        assert torch.equal(x.cpu(), y)
    ours = torch.Generator(device="neuron").manual_seed(5)
    theirs = torch.Generator().manual_seed(5)
    assert torch.equal(torch.rand(4, generator=ours, device="neuron").cpu(), torch.rand(4, generator=theirs))
    assert torch.equal(
        torch.empty(2, device="neuron").cauchy_(generator=ours).cpu(), torch.empty(2).cauchy_(generator=theirs)
    )


def test_drawing_on_the_device_leaves_the_cpu_generator_alone() -> None:
    import torch

    state = torch.get_rng_state()
    torch.rand(3, device="neuron")
    torch.empty(3, device="neuron").cauchy_()  # a fallback
    assert torch.equal(torch.get_rng_state(), state)


def test_generator_states_are_saved_and_restored() -> None:
    import torch

    torch.neuron.manual_seed_all(-3)
    assert torch.neuron.initial_seed() == 2**64 - 3
    states = torch.neuron.get_rng_state_all()
    first = torch.rand(2, device="neuron:1")
    torch.neuron.set_rng_state_all(states)
    assert torch.equal(torch.rand(2, device="neuron:1"), first)
    with torch.random.fork_rng(devices=[0], device_type="neuron"):
        torch.rand(2, device="neuron")
    assert torch.equal(torch.neuron.get_rng_state(0), states[0])
    assert len(torch.neuron.default_generators) == 2
    torch.neuron.seed()
    assert torch.neuron.initial_seed() == torch.neuron.default_generators[0].initial_seed()


def test_a_generator_of_another_device_is_refused() -> None:
    import torch

    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'neuron'"):
        torch.rand(3, generator=torch.Generator("neuron"))
    with pytest.raises(RuntimeError, match="Expected a 'neuron' device type for generator but found 'cpu'"):
        torch.rand(3, generator=torch.Generator(), device="neuron")


def test_autocast_lowers_matmul_and_raises_softmax() -> None:
    import torch

    x = torch.ones(2, 2, device="neuron")
    with torch.autocast("neuron", dtype=torch.bfloat16):
        product = x @ x
        assert product.dtype == torch.bfloat16
        assert product.softmax(0).dtype == torch.float32
    assert (x @ x).dtype == torch.float32
    assert torch.bfloat16 in torch.neuron.get_amp_supported_dtype()
    assert torch.neuron.is_bf16_supported()


def test_streams_and_events_keep_the_protocol() -> None:
    import torch

    default = torch.neuron.current_stream()
    stream = torch.neuron.Stream(device="neuron")
    with torch.neuron.stream(stream):
        assert torch.neuron.current_stream() == stream
    assert torch.neuron.current_stream() == default
    start = torch.neuron.Event(device="neuron", enable_timing=True)
    end = torch.neuron.Event(device="neuron", enable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) >= 0
    stream.wait_event(end)
    torch.ones(1, device="neuron").record_stream(stream)
    torch.neuron.synchronize()


def test_torch_accelerator_speaks_to_the_device() -> None:
    import torch

    assert torch.accelerator.current_accelerator() == torch.device("neuron")
    assert torch.accelerator.device_count() == torch.neuron.device_count() == 2
    torch.accelerator.synchronize()
    if hasattr(torch.accelerator, "memory_allocated"):  # torch 2.9
        x = torch.ones(10, device="neuron")
        assert torch.accelerator.memory_allocated() == torch.neuron.memory_allocated() >= x.nbytes


def test_modules_move_in_place_and_lazy_ones_materialise() -> None:
    import torch

    module = torch.nn.Linear(3, 2)
    weight = module.weight
    module.to("neuron")
    assert module.weight is weight
    assert weight.is_neuron
    module(torch.ones(1, 3, device="neuron")).sum().backward()
    torch.optim.AdamW(module.parameters()).step()
    lazy = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.LazyBatchNorm1d()).to("neuron")
    lazy(torch.ones(2, 3, device="neuron"))
    assert lazy[0].weight.shape == (4, 3)
    assert lazy[0].weight.is_neuron


@pytest.mark.parametrize("cell", ["LSTM", "GRU"])
def test_recurrent_modules_agree_with_the_cpu(cell: str) -> None:
    import torch

    torch.manual_seed(0)
    module = getattr(torch.nn, cell)(3, 4, num_layers=2, bidirectional=True)
    x = torch.randn(5, 2, 3)

    def run(device: str) -> list[torch.Tensor]:
        on_device = copy.deepcopy(module).to(device)
        output = on_device(x.to(device))[0]
        (output * output).sum().backward()
        return [output.detach().cpu(), *(p.grad.cpu() for p in on_device.parameters())]

    for ours, theirs in zip(run("neuron"), run("cpu"), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_conjugated_and_negated_tensors_copy() -> None:
    import torch

    x = torch.tensor([1 + 2j], device="neuron").conj()
    assert x.is_conj()
    assert x.cpu().tolist() == [1 - 2j]
    assert x.imag.cpu().tolist() == [-2]
    assert x.resolve_conj().tolist() == [1 - 2j]
    assert (torch._efficientzerotensor((1,), device="neuron") + 1).tolist() == [1]


def test_transforms_and_inference_mode_work() -> None:
    import torch

    x = torch.arange(6.0, device="neuron").view(2, 3)
    assert torch.vmap(torch.sum)(x).tolist() == [3, 12]
    _, tangent = torch.func.jvp(torch.sin, (x,), (x,))
    assert tangent.is_neuron
    with torch.inference_mode():
        assert (x * 2).sum().item() == 30


def test_the_device_says_that_it_is_emulated() -> None:
    import torch

    assert torch.neuron.is_emulated
    assert torch.neuron.get_device_name() == "neuron-emulated"
    assert torch.ones(1, device="neuron").device.type == "neuron"
