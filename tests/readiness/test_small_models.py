"""Small models on the emulated device: the verdicts, and that capturing without the device sees the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.readiness.answer import Question, run_there
from conformance.readiness.findings import Readiness, Standing, Verdict
from conformance.readiness.isolate import Death, Orders, carry_out

MODELS = Path(__file__).with_name("small_models.py")
PLAIN = ("perceptron", "convolution", "recurrent", "llama")


def run(
    name: str, *, profile: str = "default", faults: str = "", train: bool = False, tokens: int = 0, timeout: float = 120
) -> Readiness:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONFORMANCE_NEURON", "emulated")
        patch.setenv("CONFORMANCE_NEURON_PROFILE", profile)
        patch.setenv("CONFORMANCE_NEURON_FAULTS", faults)
        question = Question(f"{MODELS}:{name}", train=train, new_tokens=tokens, timeout=timeout)
        return run_there(question, "neuron")


@pytest.mark.parametrize("name", PLAIN)
def test_plain_models_are_native_and_captured_without_the_device_exactly_as_on_it(name: str) -> None:
    tokens = 3 if name == "llama" else 0
    there = run(name, profile="full", train=True, tokens=tokens)
    assert (there.verdict, there.trouble) == (Verdict.NATIVE, None), there.sentence
    assert [item.difference for item in there.comparisons] == [""] * len(there.phases)
    assert all(item.tensors and item.largest is not None and item.largest < 1e-4 for item in there.comparisons)
    assert there.peak_bytes
    assert there.peak_bytes >= there.parameter_bytes
    assert set(there.seconds) == set(there.phases)
    answer = carry_out(Orders(f"{MODELS}:{name}", "neuron", True, tokens, 0, capture=True), timeout=120)
    assert not isinstance(answer, Death)
    captured: Any = answer["captured"]
    assert captured["notes"] == ["Captured on tensors that say they are on the device and compute on the CPU."]
    assert [(use["name"], use["calls"], use["phases"], use["dtypes"]) for use in captured["overloads"]] == [
        (use.name, use.calls, list(use.phases), list(use.dtypes)) for use in there.overloads
    ]


def test_the_default_profile_runs_a_llama_natively() -> None:
    there = run("llama", tokens=2)
    assert there.verdict is Verdict.NATIVE
    assert there.phases == ("forward", "generate")
    assert there.place.emulated
    assert "Emulated" in there.notes[0]


@pytest.mark.parametrize("probe", ["backend", "profiler"])
def test_a_fallback_is_seen_counted_and_measured(probe: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONFORMANCE_NEURON", "emulated")
        there = run_there(Question(f"{MODELS}:bessel", probe=probe), "neuron")
    assert there.verdict is Verdict.FALLBACK
    uses = {use.name: use for use in there.overloads}
    assert list(uses) == ["aten::i0", "aten::add.Tensor"]
    fallen = uses["aten::i0"]
    assert (fallen.standing, fallen.fallback_calls, fallen.fallbacks) == (Standing.FALLBACK, 1, ("aten::i0.out",))
    assert fallen.moved_bytes == 2 * 3 * 4
    assert uses["aten::add.Tensor"].standing is Standing.NATIVE
    assert uses["aten::add.Tensor"].registered == "kernel"


def test_without_a_probe_nobody_claims_that_nothing_fell_back() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONFORMANCE_NEURON", "emulated")
        there = run_there(Question(f"{MODELS}:bessel", probe="none"), "neuron")
    assert there.verdict is Verdict.UNSEEN
    assert {use.standing for use in there.overloads} == {Standing.UNSEEN}


def test_the_operator_that_fails_is_named_with_the_users_line() -> None:
    there = run("recurrent", faults="aten::_thnn_fused_lstm_cell=not_implemented")
    assert there.verdict is Verdict.FAILS
    assert there.trouble is not None
    assert (there.trouble.phase, there.trouble.overload) == ("forward", "aten::_thnn_fused_lstm_cell")
    assert there.trouble.frames[-1].path.endswith("small_models.py")
    assert there.trouble.frames[-1].code == "states, _ = self.lstm(x)"
    assert there.trouble.inputs.startswith("float32[")
    standings = {use.name: use.standing for use in there.overloads}
    assert standings["aten::_thnn_fused_lstm_cell"] is Standing.FAILS
    assert standings["aten::mm"] is Standing.NATIVE


def test_a_failing_backward_is_traced_to_the_forward_line() -> None:
    there = run("perceptron", faults="aten::threshold_backward=error", train=True)
    assert there.verdict is Verdict.FAILS
    assert there.trouble is not None
    assert (there.trouble.phase, there.trouble.overload) == ("train", "aten::threshold_backward")
    assert there.trouble.frames[-1].code.startswith("return self.layers(x)")
    assert [item.difference for item in there.comparisons] == [""]  # forward had been fine


def test_wrong_numbers_are_a_verdict_and_the_operator_that_makes_them_is_found() -> None:
    there = run("convolution", faults="aten::native_batch_norm=wrong")
    assert there.verdict is Verdict.WRONG
    assert there.trouble is not None
    assert there.trouble.overload == "aten::native_batch_norm"
    assert "torch.relu(self.norm(" in there.trouble.frames[-1].code
    assert there.sentence.startswith("wrong results in phase forward: result.pooled differs")


def test_an_error_that_the_model_catches_is_no_failure() -> None:
    there = run("swallows", faults="aten::erfinv=error")
    assert there.verdict in (Verdict.NATIVE, Verdict.FALLBACK)


def test_a_crash_is_one_line_with_the_operator_and_the_users_line() -> None:
    there = run("perceptron", faults="aten::relu=segfault")
    assert there.verdict is Verdict.CRASHES
    assert there.sentence == "crashes at aten::relu, in phase forward: the process died of SIGSEGV"
    assert there.trouble is not None
    assert there.trouble.frames[-1].code.startswith("return self.layers(x)")
    assert there.parameters == 484  # known before the device brought the process down


def test_a_hang_is_one_line_with_the_operator_and_the_users_line() -> None:
    there = run("perceptron", faults="aten::relu=hang", timeout=15)
    assert there.verdict is Verdict.HANGS
    assert there.sentence == "hangs at aten::relu, in phase forward: no end after 15 s"
    assert there.trouble is not None
    assert there.trouble.frames[-1].code.startswith("return self.layers(x)")


def test_too_little_device_memory_is_a_verdict(tmp_path: Path) -> None:
    profile = tmp_path / "small.toml"
    profile.write_text('schema = 1\nname = "small"\nnative = "all"\n[memory]\ngib = 1\n')
    there = run("greedy", profile=str(profile))
    assert there.verdict is Verdict.TOO_BIG
    assert there.sentence.startswith("does not fit at aten::zeros, in phase forward: OutOfMemoryError")


def test_the_cpu_is_a_device_too() -> None:
    there = run_there(Question(f"{MODELS}:perceptron"), "cpu")
    assert there.verdict is Verdict.NATIVE
    assert not there.place.emulated
    assert os.environ.get("CONFORMANCE_NEURON_FAULTS", "") == ""
