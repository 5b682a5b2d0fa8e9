"""Injected faults: what each kind does, which overloads it reaches, and how a bad specification is refused."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from conformance.emulator import Fault, FaultKind, parse_faults
from conformance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.emulator.conftest import DeviceProcess

_USE = """
import torch
from conformance import emulator
emulator.inject({operator!r}, {kind!r}, {argument!r})
x = torch.ones(2, device="neuron")
print("before", flush=True)
torch.{call}
print("after")
"""


def _code(operator: str, kind: str, call: str, argument: float | None = None) -> str:
    return _USE.format(operator=operator, kind=kind, call=call, argument=argument)


# One native and one fallback operator for each kind.
_CALLS = [("aten::sin", "sin(x)"), ("aten::hypot", "hypot(x, x)")]


@pytest.mark.parametrize(("operator", "call"), _CALLS)
@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("not_implemented", "NotImplementedError", "is not implemented (injected fault)"),
        ("error", "RuntimeError", "failed (injected fault)"),
        ("alloc_error", "OutOfMemoryError", "neuron: out of memory"),
    ],
)
def test_an_exception_names_the_operator(
    neuron: DeviceProcess, operator: str, call: str, kind: str, error: str, text: str
) -> None:
    ended = neuron.run(_code(operator, kind, call))
    assert ended.returncode == 1
    last = ended.output.splitlines()[-1]
    assert error in last
    assert text in last
    assert f"'{operator}" in last


@pytest.mark.parametrize(("operator", "call"), _CALLS)
@pytest.mark.parametrize(
    ("kind", "argument", "code"),
    [
        ("segfault", None, -signal.SIGSEGV),
        ("abort", None, -signal.SIGABRT),
        ("exit", None, 1),
        ("exit", 3, 3),
        ("exit", 0, 0),
    ],
)
def test_the_process_ends(
    neuron: DeviceProcess, operator: str, call: str, kind: str, argument: float | None, code: int
) -> None:
    ended = neuron.run(_code(operator, kind, call, argument))
    assert ended.returncode == code
    assert ended.output == "before\n"


@pytest.mark.parametrize(("operator", "call"), _CALLS)
def test_a_poisoned_device_does_nothing_more(neuron: DeviceProcess, operator: str, call: str) -> None:
    code = f"""
import torch
from conformance import emulator
emulator.inject({operator!r}, "poison")
x = torch.ones(2, device="neuron")
for compute in (lambda: torch.{call}, lambda: x + 1, emulator.clear_faults, lambda: torch.cosh(x)):
    try:
        compute()
    except RuntimeError as error:
        print(str(error).partition(" (injected")[0])
"""
    lines = neuron.run(code).output.splitlines()
    assert "left the device in an unrecoverable state" in lines[0]
    assert [line.partition(", cannot")[0] for line in lines[1:]] == [
        "neuron: the device is in an unrecoverable state"
    ] * 2


@pytest.mark.parametrize(("operator", "call"), _CALLS)
def test_a_hang_lasts_until_the_process_is_killed(neuron: DeviceProcess, operator: str, call: str) -> None:
    ended = neuron.run(_code(operator, "hang", call), timeout_s=1.5)
    assert ended.timed_out
    assert ended.output == "before\n"


def test_a_hang_leaves_other_python_threads_running(neuron: DeviceProcess) -> None:
    code = "import os, threading\nthreading.Timer(0.3, lambda: os._exit(42)).start()\n" + _code("sin", "hang", "sin(x)")
    assert neuron.run(code, timeout_s=30).returncode == 42


@pytest.mark.on_device
@pytest.mark.parametrize("operator", ["sin", "hypot"])
def test_slow_waits_and_then_works(operator: str) -> None:
    import time

    import torch

    from conformance import emulator

    arguments = [torch.ones(2, device="neuron")] * (2 if operator == "hypot" else 1)
    emulator.inject(operator, "slow", 0.2)
    start = time.monotonic()
    result = getattr(torch, operator)(*arguments)
    assert time.monotonic() - start >= 0.2
    torch.testing.assert_close(result.cpu(), getattr(torch, operator)(*(x.cpu() for x in arguments)))


@pytest.mark.on_device
@pytest.mark.parametrize("operator", ["sin", "hypot"])
@pytest.mark.parametrize("kind", ["wrong", "nan"])
def test_numbers_are_spoilt(operator: str, kind: str) -> None:
    import torch

    from conformance import emulator

    arguments = [torch.tensor([0.0, -3.0, 1e30], device="neuron")] * (2 if operator == "hypot" else 1)
    right = getattr(torch, operator)(*arguments)
    emulator.inject(operator, kind)
    for spoilt in (
        getattr(torch, operator)(*arguments),
        getattr(torch, operator)(*arguments, out=torch.empty(3, device="neuron")),
        getattr(arguments[0].clone(), f"{operator}_")(*arguments[1:]),
    ):
        assert (spoilt.isnan() if kind == "nan" else spoilt != right).all()
    emulator.clear_faults()
    assert torch.equal(getattr(torch, operator)(*arguments), right)


@pytest.mark.on_device
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_numbers_of_every_dtype_are_spoilt(dtype: str) -> None:
    import torch

    from conformance import emulator

    x = torch.ones(3, dtype=getattr(torch, dtype), device="neuron")
    emulator.inject("flip", "wrong")
    assert (x.flip(0) != x).all()


@pytest.mark.on_device
def test_indices_beside_numbers_stay_right() -> None:
    import torch

    from conformance import emulator

    x = torch.tensor([1.0, 3.0, 2.0], device="neuron")
    emulator.inject("topk", "wrong")
    values, indices = torch.topk(x, 2)
    assert values.tolist() != [3, 2]
    assert indices.tolist() == [1, 2]
    emulator.inject("argmax", "wrong")
    assert torch.argmax(x).item() != 1


@pytest.mark.on_device
def test_the_kernels_that_every_backend_needs_take_faults_too() -> None:
    import torch

    from conformance import emulator

    x = torch.randn(1, 2, 5, 5, device="neuron")
    w = torch.randn(2, 2, 3, 3, device="neuron")
    right = torch.nn.functional.conv2d(x, w)
    emulator.inject("convolution_overrideable", "nan")
    assert torch.nn.functional.conv2d(x, w).isnan().all()
    assert not right.isnan().any()
    emulator.inject("_copy_from", "error")
    with pytest.raises(RuntimeError, match="_copy_from"):
        x.cpu()


@pytest.mark.on_device
@pytest.mark.parametrize("name", ["add", "aten::add", "add.Tensor", "aten::add.Tensor"])
def test_a_name_reaches_the_overload_that_runs(name: str) -> None:
    import torch

    from conformance import emulator

    x = torch.ones(2, device="neuron")
    emulator.inject(name, "error")
    with pytest.raises(RuntimeError, match="injected"):
        x + x
    emulator.clear_faults()
    assert (x + x).tolist() == [2, 2]


@pytest.mark.on_device
def test_an_operator_reaches_its_out_and_in_place_overloads() -> None:
    import torch

    from conformance import emulator

    x = torch.ones(2, device="neuron")
    emulator.inject("aten::add", "error")
    calls: list[Callable[[], object]] = [
        lambda: x.add_(x),
        lambda: torch.add(x, x, out=torch.empty(2, device="neuron")),
        lambda: x + x,
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="injected"):
            call()
    emulator.clear_faults()
    emulator.inject("aten::add_", "error")
    assert (x + x).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"add_\.Tensor"):
        x.add_(x)


@pytest.mark.on_device
@pytest.mark.parametrize("name", ["hypot", "hypot_", "aten::hypot", "hypot.out"])
def test_a_fallback_that_pytorch_composes_of_its_out_overload_is_reached(name: str) -> None:
    import torch

    from conformance import emulator

    x = torch.ones(2, device="neuron")
    emulator.inject(name, "error")
    with pytest.raises(RuntimeError, match=r"hypot\.out"):
        x.hypot_(x)


@pytest.mark.on_device
def test_a_fault_can_begin_at_a_later_call() -> None:
    import torch

    from conformance import emulator

    x = torch.ones(2, device="neuron")
    emulator.inject("sin", "error", from_call=3)
    x.sin()
    x.sin_()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="injected"):
            x.sin()


@pytest.mark.on_device
def test_a_fault_acts_in_an_autograd_thread() -> None:
    import torch

    from conformance import emulator

    x = torch.ones(2, device="neuron", requires_grad=True)
    y = x.sin().sum()
    emulator.inject("aten::cos", "error")
    with pytest.raises(RuntimeError, match=r"aten::cos.*injected"):
        y.backward()


@pytest.mark.on_device
@pytest.mark.parametrize(
    ("operator", "kind", "why"),
    [
        ("aten::sine", "error", "no operator 'aten::sine' (did you mean"),
        ("add.Tenser", "error", "no operator"),
        ("linear", "error", "made of other operators"),
        ("view", "nan", "no numbers of its own"),
    ],
)
def test_a_fault_that_could_never_act_is_refused(operator: str, kind: str, why: str) -> None:
    import re

    from conformance import emulator

    with pytest.raises(UsageError, match=re.escape(why)) as caught:
        emulator.inject(operator, kind)
    assert caught.value.slug == "bad-fault"


def test_the_grammar() -> None:
    assert parse_faults("aten::add=wrong; mul.Tensor=hang;aten::sin=slow:0.5;aten::exp=exit:3;aten::cos=error@2;") == [
        Fault("aten::add", FaultKind.WRONG),
        Fault("aten::mul.Tensor", FaultKind.HANG),
        Fault("aten::sin", FaultKind.SLOW, argument=0.5),
        Fault("aten::exp", FaultKind.EXIT, argument=3),
        Fault("aten::cos", FaultKind.ERROR, from_call=2),
    ]
    assert parse_faults("add=slow;add_=exit:0@4") == [
        Fault("aten::add", FaultKind.SLOW, argument=1),
        Fault("aten::add_", FaultKind.EXIT, argument=0, from_call=4),
    ]
    assert parse_faults("") == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("add", "in 'add': write OPERATOR=KIND"),
        ("=error", "write OPERATOR=KIND"),
        ("foo::add=error", "write OPERATOR=KIND"),
        ("add=eror", "unknown kind 'eror' (did you mean 'error'?)"),
        ("add=", "unknown kind ''"),
        ("add=slow:fast", "'fast' is not a number"),
        ("add=slow:-1", "0 to 86400 seconds"),
        ("add=slow:nan", "0 to 86400 seconds"),
        ("add=exit:300", "from 0 to 255, not 300"),
        ("add=exit:1.5", "from 0 to 255"),
        ("add=error:2", "'error' takes no number"),
        ("add=error@", "'' after '@'"),
        ("add=error@x", "'x' after '@'"),
        ("add=error@0", "counted from 1"),
        ("sin=error;add=error@-1", "in 'add=error@-1': '-1' after '@'"),
    ],
)
def test_a_bad_specification_names_its_part(text: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_faults(text)
    assert caught.value.slug == "bad-fault"
    assert why in str(caught.value)
    assert str(caught.value).startswith("CONFORMANCE_NEURON_FAULTS: in '")
