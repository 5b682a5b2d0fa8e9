"""The rule about forks, which decides how the harness may start its workers."""

from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.on_device


def _in_fork(check: str) -> tuple[int, str]:
    """Run code in a forked child; return its exit code and what it printed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        code = 1
        try:
            with os.fdopen(writing, "w") as output:
                exec(check, {"output": output})
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), text


def test_looking_does_not_initialise() -> None:
    import torch

    assert torch.neuron.is_available()
    assert torch.neuron.device_count() == 2
    assert not torch.neuron._is_in_bad_fork()
    torch.manual_seed(1)
    torch.neuron.get_rng_state()
    torch.device("neuron:1")
    torch.Generator(device="neuron")
    torch.neuron.get_device_name()
    torch.neuron.memory_allocated()
    assert torch.accelerator.is_available()
    assert not torch.neuron.is_initialized()


@pytest.mark.parametrize(
    "use",
    [
        "torch.empty(1, device='neuron')",
        "torch.ones(1).to('neuron')",
        "torch.neuron.init()",
        "torch.neuron.current_device()",
        "torch.neuron.set_device(1)",
        "torch.neuron.synchronize()",
        "torch.accelerator.current_device_index()",
    ],
)
def test_the_first_use_initialises(use: str) -> None:
    import torch

    exec(use, {"torch": torch})
    assert torch.neuron.is_initialized()


def test_a_fork_before_the_first_use_may_use_the_device() -> None:
    code = (
        "import torch; print(torch.ones(2, device='neuron').sum().item(), torch.neuron._is_in_bad_fork(), file=output)"
    )
    assert _in_fork(code) == (0, "2.0 False\n")
    import torch

    assert not torch.neuron.is_initialized()
    assert torch.ones(1, device="neuron").item() == 1


@pytest.mark.parametrize(
    "use",
    [
        "torch.ones(1, device='neuron')",
        "held.add_(1)",
        "held.view(1)",
        "held.item()",
        "held.cpu()",
        "torch.hypot(held, held)",
        "torch.neuron.init()",
        "torch.neuron.current_device()",
    ],
)
def test_a_fork_after_it_may_not(use: str) -> None:
    import torch

    held = torch.ones(1, device="neuron")
    check = f"""
import gc, torch
held = [o for o in gc.get_objects() if isinstance(o, torch.Tensor) and o.is_neuron and o.shape == (1,)][0]
assert torch.neuron._is_in_bad_fork()
assert not torch.neuron.is_initialized()
torch.manual_seed(1)
try:
    {use}
except RuntimeError as error:
    print(error, file=output)
"""
    code, text = _in_fork(check)
    assert code == 0
    assert "Cannot re-initialize neuron in forked subprocess" in text
    assert not torch.neuron._is_in_bad_fork()
    assert held.item() == 1
