"""A callable that opens a window passes for what it stands for."""

from __future__ import annotations

import copy
import functools
import inspect
import operator
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from conformance.probes import Probe, watch_with
from conformance.probes.windowed import Windowed, bare


class Windows(Probe):
    """A probe that remembers what ran in a window."""

    sees = True

    def __init__(self) -> None:
        super().__init__()
        self.is_open = False
        self.opened = 0

    def _enter(self) -> None:
        self.is_open = True
        self.opened += 1

    def _leave(self) -> None:
        self.is_open = False


@pytest.fixture
def windows() -> Iterator[Windows]:
    probe = Windows()
    watch_with(probe)
    probe.begin_test()
    yield probe
    watch_with(Probe())


CALLABLES: list[Callable[..., Any]] = [
    torch.sin,
    torch.Tensor.add_,
    torch.nn.functional.softmax,
    torch.ops.aten.sin.default,
    operator.add,
    functools.partial(torch.add, alpha=2),
    lambda x: x,
]


def _asked(question: Callable[[Any], Any], value: Any) -> Any:
    try:
        return question(value)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("original", CALLABLES, ids=range(len(CALLABLES)))
@pytest.mark.parametrize(
    "question",
    [
        lambda f: f.__name__,
        lambda f: f.__qualname__,
        lambda f: f.__module__,
        lambda f: f.__doc__,
        lambda f: f.__wrapped__,
        lambda f: f.__class__,
        lambda f: f.__code__,
        repr,
        dir,
        hash,
        inspect.signature,
        inspect.isfunction,
        inspect.isbuiltin,
        inspect.ismethod,
        callable,
        lambda f: pickle.loads(pickle.dumps(f)).__class__,
        lambda f: bare(copy.copy(f)).__class__,
        lambda f: copy.deepcopy(f).__class__,
        lambda f: functools.wraps(f)(lambda: None).__qualname__,
    ],
)
def test_it_answers_as_the_callable_does(original: Callable[..., Any], question: Callable[[Any], Any]) -> None:
    assert _asked(question, Windowed(original)) == _asked(question, original)


@pytest.mark.parametrize("original", CALLABLES, ids=range(len(CALLABLES)))
def test_it_equals_the_callable_and_what_also_stands_for_it(original: Callable[..., Any]) -> None:
    stand_in = Windowed(original)
    assert stand_in == original
    assert original == stand_in
    assert stand_in == Windowed(original)
    assert stand_in in {original}
    assert original in [stand_in]
    assert stand_in != torch.cos
    assert bare(stand_in) is original
    assert bare(original) is original


def test_a_pickle_needs_nothing_but_the_callable() -> None:
    assert pickle.loads(pickle.dumps(Windowed(torch.sin))) is torch.sin


def test_attributes_are_set_on_the_callable() -> None:
    def function() -> None:
        pass

    stand_in = Windowed(function)
    stand_in.note = "mine"
    assert function.note == "mine"  # type: ignore[attr-defined]
    del stand_in.note
    assert not hasattr(stand_in, "note")


def test_a_call_opens_the_window_also_where_it_raises(windows: Windows) -> None:
    was_open = []

    def function(*args: int, **keywords: int) -> int:
        was_open.append(windows.is_open)
        return sum(args) // keywords["by"]

    assert Windowed(function)(4, 2, by=3) == 2
    with pytest.raises(ZeroDivisionError):
        Windowed(function)(1, by=0)
    assert was_open == [True, True]
    assert not windows.is_open


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
@pytest.mark.parametrize("original", [torch.sin, torch.nn.functional.softplus])
def test_compiling_and_tracing_see_only_the_callable(windows: Windows, original: Callable[..., Any]) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    stand_in = Windowed(original)
    x = torch.ones(3)
    compiled = torch.compile(lambda t: stand_in(t) + 1, backend="eager", fullgraph=True)
    assert torch.equal(compiled(x), original(x) + 1)
    # Traced into, or called as a whole when it runs, as torch 2.6 does: no window is part of what is compiled.
    assert windows.opened in (0, 1)
    assert make_fx(stand_in)(x).code == make_fx(original)(x).code
    assert torch.jit.trace(stand_in, (x,)).code == torch.jit.trace(original, (x,)).code
    assert torch.equal(torch.vmap(stand_in)(x), original(x))
    assert windows.opened > 1
