"""The module that becomes ``torch.neuron`` when the emulated device is loaded.

Its functions are those that PyTorch and its tests call on an accelerator's module; the real backend has them too.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Event, Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.emulator.profile import Profile

is_emulated = True
profile: Profile | None = None  # set by load(); a module that torch registers is the one place that lives as long as it

_Device: TypeAlias = int | str | torch.device | None
_NAME = "neuron"


def _library() -> Any:
    return torch.ops.conformance_neuron


def _index(device: _Device) -> int:
    """Return a device's index, the current one for None and for ``neuron`` without an index."""
    if isinstance(device, int):
        return device
    if device is None:
        return int(_library().current_device())
    found = torch.device(device)
    if found.type != _NAME:
        raise ValueError(f"expected a {_NAME} device, but got {found}")
    return int(_library().current_device()) if found.index is None else int(found.index)


# Devices and initialisation


def device_count() -> int:
    """Return the number of emulated devices, without initialising any."""
    return int(_library().device_count())


def is_available() -> bool:
    """Tell whether there is a device, without initialising it."""
    return device_count() > 0


def is_initialized() -> bool:
    """Tell whether this process has used the device."""
    return bool(_library().is_initialized())


def init() -> None:
    """Initialise the device; raise RuntimeError in a child of a process that had already done so."""
    _library().initialize()


_lazy_init = init


def _is_in_bad_fork() -> bool:
    return bool(_library().in_bad_fork())


def current_device() -> int:
    """Return the current device's index; initialises the device, as ``torch.cuda.current_device`` does."""
    init()
    return int(_library().current_device())


def set_device(device: _Device) -> None:
    """Make a device the current one of this thread; a negative index changes nothing."""
    init()
    if (index := _index(device)) >= 0:
        _library().set_device(index)


class device:  # noqa: N801 - torch.cuda.device has this spelling
    """Make a device the current one within a ``with`` block."""

    def __init__(self, device: _Device) -> None:
        self.idx = _index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = current_device()
        set_device(self.idx)

    def __exit__(self, *exception: object) -> None:
        set_device(self.prev_idx)


class device_of(device):  # noqa: N801 - torch.cuda.device_of has this spelling
    """Make a tensor's device the current one within a ``with`` block; other tensors change nothing."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(tensor.device.index if tensor.device.type == _NAME else -1)


def synchronize(device: _Device = None) -> None:
    """Check the device; its work is always done when a call returns."""
    init()
    _library().memory(_index(device))


@dataclass(frozen=True)
class _Properties:
    """What ``get_device_properties`` returns; ``total_memory`` is in bytes."""

    name: str
    total_memory: int
    major: int = 0
    minor: int = 0


def get_device_name(device: _Device = None) -> str:
    """Return the device's name, which says that it is emulated."""
    _library().memory(_index(device))
    return "neuron-emulated"


def get_device_properties(device: _Device = None) -> _Properties:
    """Return the device's name and memory size."""
    return _Properties(get_device_name(device), int(_library().memory(_index(device))[4]))


def get_device_capability(device: _Device = None) -> tuple[int, int]:
    """Return (0, 0): an emulated device has no hardware generation."""
    get_device_name(device)
    return (0, 0)


# Dtypes


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Tell whether bfloat16 tensors can exist on the device."""
    del including_emulation  # the name and the default are those of torch.cuda.is_bf16_supported
    return profile is None or "bfloat16" not in profile.unsupported_dtypes


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the dtypes that autocast may use."""
    return [torch.bfloat16, torch.float16]


# Random numbers


def _as_int64(seed: int) -> int:
    """Return a seed of the range that torch.manual_seed takes, in 64 bits with a sign."""
    seed = int(seed) & (2**64 - 1)
    return seed - 2**64 if seed >= 2**63 else seed


def manual_seed(seed: int) -> None:
    """Seed the current device's generator."""
    _library().manual_seed(-1, _as_int64(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    for index in range(device_count()):
        _library().manual_seed(index, _as_int64(seed))


def seed() -> None:
    """Seed the current device's generator with a number that cannot be foreseen."""
    default_generators[int(_library().current_device())].seed()


def seed_all() -> None:
    """Seed the generators of all devices with the same number, which cannot be foreseen."""
    seed()
    manual_seed_all(initial_seed())


def initial_seed() -> int:
    """Return the seed of the current device's generator."""
    return int(_library().initial_seed(-1)) & (2**64 - 1)


def get_rng_state(device: _Device = None) -> torch.Tensor:
    """Return the state of a device's generator, a CPU tensor of bytes."""
    state: torch.Tensor = _library().get_rng_state(_index(device))
    return state


def set_rng_state(new_state: torch.Tensor, device: _Device = None) -> None:
    """Set the state of a device's generator."""
    _library().set_rng_state(_index(device), new_state.cpu())


def get_rng_state_all() -> list[torch.Tensor]:
    """Return the states of all devices' generators."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: list[torch.Tensor]) -> None:
    """Set the states of all devices' generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


class _Generators:
    """The default generators, made when they are first asked for: importing must not create them."""

    def __len__(self) -> int:
        return device_count()

    def __getitem__(self, index: int) -> torch.Generator:
        if not 0 <= index < device_count():
            raise IndexError(f"there are {device_count()} {_NAME} devices, and {index} is not one of them")
        generator: torch.Generator = _library().default_generator(index)
        return generator


default_generators = _Generators()


# Memory, in bytes


def memory_allocated(device: _Device = None) -> int:
    """Return the memory in use by tensors."""
    return int(_library().memory(_index(device))[0])


def max_memory_allocated(device: _Device = None) -> int:
    """Return the most memory in use since the start or the last ``reset_peak_memory_stats``."""
    return int(_library().memory(_index(device))[1])


memory_reserved = memory_allocated  # nothing is cached
max_memory_reserved = max_memory_allocated


def reset_peak_memory_stats(device: _Device = None) -> None:
    """Make the memory now in use the new peak."""
    _library().reset_peak_memory(_index(device))


reset_max_memory_allocated = reset_peak_memory_stats


def memory_stats(device: _Device = None) -> OrderedDict[str, int]:
    """Return the counters under the names that torch.cuda gives them."""
    allocated, peak, allocations, frees, _ = (int(number) for number in _library().memory(_index(device)))
    stats: OrderedDict[str, int] = OrderedDict()
    for kind in ("active_bytes", "allocated_bytes", "reserved_bytes"):
        stats[f"{kind}.all.current"] = allocated
        stats[f"{kind}.all.peak"] = peak
    stats["allocation.all.allocated"] = allocations
    stats["allocation.all.current"] = allocations - frees
    stats["allocation.all.freed"] = frees
    return stats


def mem_get_info(device: _Device = None) -> tuple[int, int]:
    """Return the free and the total memory."""
    allocated, _, _, _, total = (int(number) for number in _library().memory(_index(device)))
    return total - allocated, total


def empty_cache() -> None:
    """Do nothing: memory is given back at once."""


# Streams and events, which order nothing since every call is done when it returns


def current_stream(device: _Device = None) -> Stream:
    """Return the current stream of this thread."""
    return torch.accelerator.current_stream(torch.device(_NAME, _index(device)))


def set_stream(stream: Stream) -> None:
    """Make a stream the current one of this thread."""
    torch.accelerator.set_stream(stream)


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Make a stream the current one within a ``with`` block; None changes nothing."""
    if stream is None:
        yield
        return
    before = current_stream(stream.device)
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)


__all__ = [
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "default_generators",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_emulated",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "profile",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]
