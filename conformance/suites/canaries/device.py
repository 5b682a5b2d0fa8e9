"""Canaries of the device itself: it works, it falls back, it dies, it hangs, it is poisoned.

What only the emulated device can be made to do is not tried on another.
"""

from __future__ import annotations

from typing import Any

import pytest

from conformance.model.outcome import Outcome
from conformance.suites.canaries import NOT_TRIED, canary, is_armed
from conformance.suites.selection import ACTIVE

pytestmark = pytest.mark.skipif(not is_armed(), reason="a canary: only `conformance selftest` runs it")


def _add() -> None:
    import torch

    sent = torch.tensor([1.0, 2.0])
    back = (sent.to(ACTIVE.device) + 1).cpu()
    assert torch.equal(back, sent + 1), f"1 and 2 plus 1 gave {back.tolist()} on {ACTIVE.device}"


def _emulator() -> Any:
    """Return the emulator if it is the device; leave the test untried otherwise."""
    from conformance import emulator

    if ACTIVE.device != "neuron" or not emulator.is_loaded():
        pytest.skip(f"{NOT_TRIED}only the emulated device can be told to do it")
    return emulator


@canary(Outcome.PASSED)
def test_uses_the_device() -> None:
    """Use the device."""
    _add()


@canary(Outcome.PASSED, falls_back="special_bessel_j0", untried=True)
def test_falls_back() -> None:
    """Fall back to the CPU."""
    import torch

    native = _emulator().profile().native
    if native is None or any(name.partition(".")[0] == "special_bessel_j0" for name in native):
        pytest.skip(f"{NOT_TRIED}the device's profile has the operator")
    sent = torch.tensor([0.0, 1.0])
    assert torch.equal(torch.special.bessel_j0(sent.to(ACTIVE.device)).cpu(), torch.special.bessel_j0(sent))


@canary(Outcome.FAILED, says="plus 1 gave", untried=True)
def test_gets_wrong_numbers() -> None:
    """Get wrong numbers from the device."""
    emulator = _emulator()
    emulator.inject("aten::add", "wrong")
    try:
        _add()
    finally:
        emulator.clear_faults()


@canary(Outcome.CRASHED, says="SIGSEGV", keeps="in _add", untried=True)
def test_dies_in_an_operator() -> None:
    """Die in an operator of the device."""
    _emulator().inject("aten::add", "segfault")
    _add()


@canary(Outcome.TIMED_OUT, says="its time limit", keeps="in _add", untried=True)
@pytest.mark.conformance_timeout(3)
def test_hangs_in_an_operator() -> None:
    """Hang in an operator of the device."""
    _emulator().inject("aten::add", "hang")
    _add()


@canary(Outcome.FAILED, says="injected fault", tests=6, untried=True)
@pytest.mark.parametrize("number", range(6))
def test_poisons_the_device(number: int) -> None:  # noqa: ARG001 - two workers cannot have six and never two in a row
    """Poison the device for whoever comes next in the process."""
    emulator = _emulator()
    try:
        _add()
    except RuntimeError:
        pytest.fail("this came to a device that an earlier test had poisoned")
    emulator.inject("aten::add", "error")
    _add()
