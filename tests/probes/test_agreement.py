"""All probes agree with the emulator's own count, operator by operator over op_db, float32, forward and backward."""

from __future__ import annotations

from importlib.metadata import version

import pytest

NEEDS_NAMES = pytest.mark.skipif(version("torch").startswith("2.6."), reason="its profiler does not name overloads")
PROFILER = pytest.param("profiler", marks=NEEDS_NAMES)


@pytest.mark.on_device
@pytest.mark.parametrize("samples", [1, pytest.param(30, marks=pytest.mark.slow)])
def test_all_probes_see_what_the_device_counts(samples: int) -> None:
    import warnings
    from collections import Counter
    from typing import Any

    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.utils import _pytree as pytree

    from conformance import emulator
    from conformance.model.result import FallbackAccount
    from conformance.probes import CounterProbe, ObserverProbe, Probe, ProfilerProbe

    warnings.simplefilter("ignore")
    counted: Counter[str] = Counter()

    def take() -> dict[str, int]:
        taken = emulator.counts().fallback
        counted.update(taken)
        return taken

    def tensors(value: Any) -> list[torch.Tensor]:
        return [t for t in pytree.tree_leaves(value) if isinstance(t, torch.Tensor) and t.requires_grad]

    def run(op: Any, sample: Any) -> bool:
        """Call forward and backward; tell whether there was a backward."""
        results = tensors(op(sample.input, *sample.args, **sample.kwargs))
        inputs = tensors((sample.input, sample.args, sample.kwargs))
        if not op.supports_autograd or not results or not inputs:
            return False
        torch.autograd.grad(results, inputs, [torch.ones_like(t) for t in results], allow_unused=True)
        return True

    observer = ObserverProbe()
    probes: list[Probe] = [CounterProbe(take), observer]
    if not torch.__version__.startswith("2.6."):
        probes.append(ProfilerProbe())
    seen = Counter[str]()
    wrong: list[tuple[Any, ...]] = []
    for op in op_db:
        if torch.float32 not in op.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        made = iter(op.sample_inputs("neuron", torch.float32, requires_grad=op.supports_autograd))
        while seen[op.full_name] < samples:
            try:
                sample = next(made, None)
            except (RuntimeError, NotImplementedError):
                seen["samples that the device cannot hold"] += 1
                break
            if sample is None:
                break
            seen[op.full_name] += 1
            for probe in probes:
                probe.begin_test()
            counted.clear()  # of what made the sample
            for probe in probes:
                probe.open_window()
            try:
                seen["backward"] += run(op, sample)
            except Exception:  # a few samples are errors on purpose, or need what the device does not have
                seen["raised"] += 1
            for probe in reversed(probes):
                probe.close_window()
            accounts = [probe.end_test() for probe in reversed(probes)]
            truth = tuple(sorted(counted))
            if any(account != FallbackAccount(truth, truth) for account in accounts):
                wrong.append((op.full_name, truth, accounts))
            if dict(counted) != observer.fallback_calls:
                wrong.append((op.full_name, dict(counted), observer.fallback_calls))
            if observer.computed_inside != FallbackAccount():
                wrong.append((op.full_name, "computed inside", observer.computed_inside))
            seen["with a fallback"] += bool(truth)
    assert not wrong, (len(wrong), wrong[:5])
    assert len(seen) > 600
    assert seen["with a fallback"] > 150
    assert seen["backward"] > 500
    assert seen["raised"] < 0.02 * seen.total()


@pytest.mark.on_device
@pytest.mark.parametrize("kind", ["observer", PROFILER])
def test_probes_that_look_in_windows_only_see_the_same_there(kind: str) -> None:
    import torch

    from conformance import emulator
    from conformance.model.result import FallbackAccount
    from conformance.probes import ObserverProbe, Probe, ProfilerProbe

    probe: Probe = ObserverProbe() if kind == "observer" else ProfilerProbe()
    x = torch.rand(3, device="neuron", requires_grad=True)
    other = torch.rand(3, device="neuron")
    for _ in range(2):
        probe.begin_test(has_subject=True, only_windows=True)
        torch.special.i0e(other)
        probe.open_window()
        y = torch.special.erfcx(x)
        probe.close_window()
        torch.special.i1e(other)
        emulator.counts()
        probe.open_window()
        torch.atan(torch.special.erfcx(x)).sum().backward()
        probe.close_window()
        counted = emulator.counts().fallback
        torch.special.i1(y.detach())
        account = probe.end_test()
        assert "aten::special_erfcx.out" in counted
        assert account == FallbackAccount(tuple(sorted(counted)), tuple(sorted(counted)))
    probe.begin_test(has_subject=True, only_windows=True)
    torch.special.i0e(other)
    assert probe.end_test() == FallbackAccount()


@pytest.mark.on_device
@pytest.mark.parametrize("kind", ["backend", "observer", PROFILER])
def test_a_native_operator_is_native_though_its_samples_and_comparisons_fall_back(kind: str) -> None:
    import torch

    from conformance.devices import adapter_for
    from conformance.probes import probe_for

    probe = probe_for(adapter_for("neuron"), kind)
    probe.begin_test()
    x = torch.special.i0e(torch.rand(3, device="neuron")).requires_grad_()
    probe.open_window()
    y = torch.sin(x)
    probe.close_window()
    start = torch.special.i1e(y.detach())
    probe.open_window()
    torch.autograd.grad(y, x, start)
    probe.close_window()
    torch.special.erfcx(y.detach())
    account = probe.end_test()
    assert account is not None
    assert account.operator == ()
    assert account.test == ("aten::special_erfcx.out", "aten::special_i0e.out", "aten::special_i1e.out")
