"""The suite ``models``: tiny models of the text-generation architectures of transformers, compared with the CPU.

pytest collects this file by its path. Collecting imports the names of the architectures only: each test makes its
model. What cannot be made tiny is skipped with the reason, so that it stays in the denominator.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import unittest
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.common_utils import TestCase, _TestParametrizer

from conformance.probes import operator_window
from conformance.suites import account, compiling, gradients
from conformance.suites.compare import assert_same
from conformance.suites.models import tiny
from conformance.suites.models.decode import decode, scores_of
from conformance.suites.parametrize import instantiate
from conformance.suites.samples import on_cpu, seed_everything
from conformance.suites.selection import ACTIVE, ALL_DTYPES, ONE_DTYPE, SEED

# A whole model adds up the rounding of some hundred operators.
TOLERANCE = 1e-3
NEW_TOKENS = 4


class _Architectures(_TestParametrizer):  # type: ignore[misc,unused-ignore]
    """Instantiate a template for every architecture that is selected."""

    def __init__(self, template: str) -> None:
        self._template = template

    def _parametrize_test(self, test: Any, generic_cls: Any, device_cls: Any) -> Iterator[Any]:
        del generic_cls, device_cls
        selection = ACTIVE.selection
        if not selection.has_template(self._template):
            return
        if selection.dtypes and not {"float32", ALL_DTYPES, ONE_DTYPE} & set(selection.dtypes):
            return
        for name in tiny.architectures():
            spelt = name.replace("-", "_")
            if selection.has_name(name, spelt):
                yield _own(test), spelt, {"architecture": name}, lambda _: []


def _own(test: Any) -> Any:
    @functools.wraps(test)
    def run(*args: Any, **keywords: Any) -> Any:
        return test(*args, **keywords)

    return run


class TestModels(TestCase):
    """One test for each template and architecture; the templates are the methods."""

    @contextlib.contextmanager
    def _made(self, architecture: str) -> Iterator[tuple[Any, torch.Tensor]]:
        """Give the tiny model on the CPU and its text; judge at the end what was seen in between."""
        self.precision = self.rel_tol = TOLERANCE
        try:
            model = tiny.tiny_model(architecture, seed=SEED)
        except tiny.NotTinyError as error:
            raise unittest.SkipTest(f"not made: {error}") from error
        tokens = tiny.sheet().recipe(architecture).tokens
        text = torch.randint(3, 100, (1, tokens), generator=torch.Generator().manual_seed(SEED))
        counted = account.begin()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with counted.sample(f"{architecture}, {tokens} tokens"):
                yield model, text
        counted.conclude()

    @_Architectures("forward")
    def test_forward(self, device: str, architecture: str) -> None:
        """The scores of all tokens on the device equal those on the CPU."""
        self._compare_scores(device, architecture, prepared=contextlib.nullcontext)

    @_Architectures("compile")
    def test_compile(self, device: str, architecture: str) -> None:
        """What torch.compile makes of the model for static shapes gives the scores of the CPU, not compiled."""
        self._compare_scores(device, architecture, prepared=_compiled)

    def _compare_scores(
        self, device: str, architecture: str, *, prepared: Callable[[Any], contextlib.AbstractContextManager[Any]]
    ) -> None:
        with self._made(architecture) as (model, text), torch.no_grad():
            on_device = copy.deepcopy(model).to(device)
            want, random = on_cpu(lambda: scores_of(model(text)), seed=SEED)
            carried = text.to(device)
            with prepared(on_device) as called:
                seed_everything()
                with operator_window():
                    got = scores_of(called(carried))
            assert_same(self, got, want, device=self.device_type, values=not random, what="scores: ")

    @_Architectures("generate")
    def test_generate(self, device: str, architecture: str) -> None:
        """The scores of each new token, with the cache handed on, equal those on the CPU."""
        use_cache = tiny.sheet().recipe(architecture).cache
        with self._made(architecture) as (model, whole):
            text = whole[:, : whole.shape[1] // 2]
            on_device = copy.deepcopy(model).to(device)
            want, random = on_cpu(lambda: decode(model, text, NEW_TOKENS, use_cache=use_cache), seed=SEED)
            carried = text.to(device)
            seed_everything()
            with operator_window():
                got = decode(on_device, carried, NEW_TOKENS, forced=want.tokens, use_cache=use_cache)
            assert_same(self, got.scores, want.scores, device=self.device_type, values=not random, what="scores: ")

    @_Architectures("backward")
    def test_backward(self, device: str, architecture: str) -> None:
        """The gradients of all parameters on the device equal those on the CPU, without dropout where that can be."""
        with self._made(architecture) as (model, text):
            model.train(tiny.sheet().recipe(architecture).training)
            on_device = copy.deepcopy(model).to(device)
            (_, want), random = on_cpu(
                lambda: gradients.first_order(lambda: scores_of(model(text)), _weights(model), device="cpu", seed=SEED),
                seed=SEED,
            )
            carried = text.to(device)
            seed_everything()
            _, got = gradients.first_order(
                lambda: scores_of(on_device(carried)),
                _weights(on_device),
                device=device,
                seed=SEED,
                window=operator_window,
            )
            kind = self.device_type
            names = [name for name, weight in model.named_parameters() if weight.requires_grad]
            for name, mine, theirs in zip(names, got, want, strict=True):
                assert_same(self, mine, theirs, device=kind, values=not random, what=f"gradient of {name}: ")


@contextlib.contextmanager
def _compiled(model: Any) -> Iterator[Any]:
    counted = account.ACTIVE.account
    assert counted is not None  # begun when the model was made
    with compiling.compiler(counted, dynamic=False) as compiler:
        yield compiler.compile(model)


def _weights(model: Any) -> list[torch.Tensor]:
    return [weight for weight in model.parameters() if weight.requires_grad]


instantiate(TestModels, globals())
