"""A model that is compiled: counts, results, other sizes, and what a device refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from conformance.readiness.answer import Question, run_there
from conformance.readiness.compiled import other_sizes
from conformance.readiness.findings import Compilation, OtherSize, Verdict
from conformance.readiness.subject import Subject

MODELS = Path(__file__).with_name("small_models.py")


def compiled(name: str, profile: str, faults: str = "") -> tuple[Verdict, tuple[Compilation, ...]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONFORMANCE_NEURON", "emulated")
        patch.setenv("CONFORMANCE_NEURON_PROFILE", profile)
        patch.setenv("CONFORMANCE_NEURON_FAULTS", faults)
        readiness = run_there(Question(f"{MODELS}:{name}", compiles=True, timeout=120), "neuron")
    return readiness.verdict, readiness.compilations


def test_static_shapes_are_compiled_for_each_size_and_dynamic_ones_refused_where_the_profile_says_so() -> None:
    verdict, (static, dynamic) = compiled("perceptron", "default")
    assert verdict is Verdict.NATIVE
    assert (static.mode, static.backend, static.problem, static.difference) == ("compile", "neuron", "", "")
    assert (static.graphs, static.breaks, static.recompilations) == (3, 0, 2)
    assert static.compile_s
    assert static.peak_bytes
    assert static.sizes == (
        OtherSize("dimension 0 of 10 instead of 5", 1),
        OtherSize("dimension 0 of 15 instead of 5", 1),
    )
    assert dynamic.mode == "dynamic"
    assert "does not support dynamic shapes" in dynamic.problem
    assert dynamic.sizes == ()


def test_dynamic_shapes_take_other_sizes_with_one_graph() -> None:
    _, (_, dynamic) = compiled("perceptron", "full")
    assert (dynamic.problem, dynamic.graphs, dynamic.recompilations) == ("", 1, 0)
    assert [size.recompilations for size in dynamic.sizes] == [0, 0]


def test_a_text_is_tried_in_other_lengths_too() -> None:
    _, (static, _) = compiled("llama", "full")
    assert [size.size for size in static.sizes if size.size.startswith("dimension 1")] == [
        "dimension 1 of 5 instead of 6",
        "dimension 1 of 4 instead of 6",
    ]
    assert static.recompilations == len(static.sizes) == 4


def test_a_model_that_fails_as_it_is_is_not_compiled() -> None:
    verdict, compilations = compiled("perceptron", "default", faults="aten::addmm=error")
    assert verdict is Verdict.FAILS
    assert compilations == ()


def test_inputs_of_one_size_change_together_and_no_dimension_vanishes() -> None:
    subject = Subject(nn.Identity(), (torch.ones(2, 2), torch.ones(3)), {"mask": torch.ones(2)}, "x")
    found = {
        what: [tuple(tensor.shape) for tensor in (*args, *kwargs.values())]
        for what, args, kwargs in other_sizes(subject)
    }
    assert found == {
        "dimension 0 of 4 instead of 2": [(4, 2), (3,), (4,)],
        "dimension 0 of 6 instead of 2": [(6, 2), (3,), (6,)],
        "dimension 1 of 1 instead of 2": [(2, 1), (3,), (2,)],
    }
