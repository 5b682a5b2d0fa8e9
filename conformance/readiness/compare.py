"""Hold results of the device against those of the CPU."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from conformance.readiness.findings import Comparison

TOLERANCE = 1e-3
_COARSE = 2e-2  # for results of 16 bits and fewer
_COARSE_DTYPES = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")


def compared(
    phase: str,
    mine: Mapping[str, torch.Tensor],
    theirs: Mapping[str, torch.Tensor],
    *,
    random: bool,
    tolerance: float | None,
    slack: Mapping[str, float] | None = None,
) -> Comparison:
    """Compare named tensors of the device (``mine``) with those of the CPU (``theirs``).

    A number may differ by the tolerance, plus the tolerance times the size of the CPU's number; ``slack`` adds to the
    first for names that begin in a certain way. With ``random`` shapes and dtypes are compared only. The first tensor
    that differs is described.
    """
    largest = 0.0
    if set(mine) != set(theirs):
        odd = sorted(set(mine) ^ set(theirs))
        return Comparison(phase, 0, None, f"the device gives other results than the CPU: {', '.join(odd[:3])}")
    difference = ""
    for name, want in theirs.items():
        got = mine[name].detach().cpu()
        want = want.detach()
        if got.shape != want.shape or got.dtype != want.dtype:
            return Comparison(
                phase,
                len(theirs),
                None,
                f"{name} is {_kind(got)} on the device and {_kind(want)} on the CPU",
                random,
            )
        if random or not want.numel():
            continue
        extra = next((value for begin, value in (slack or {}).items() if name.startswith(begin)), 0.0)
        distance, text = _difference(got, want, tolerance=tolerance, extra=extra)
        largest = max(largest, distance)
        if text and not difference:
            difference = f"{name} {text}"
    return Comparison(phase, len(theirs), None if random else largest, difference, random)


def _difference(got: torch.Tensor, want: torch.Tensor, *, tolerance: float | None, extra: float) -> tuple[float, str]:
    """Return the largest difference, and what is to be said of it where it is too large."""
    if not (want.is_floating_point() or want.is_complex()):
        unequal = int((got != want).sum())
        return (float(unequal > 0), f"differs in {unequal:,} of {want.numel():,} numbers" if unequal else "")
    coarse = str(want.dtype).removeprefix("torch.") in _COARSE_DTYPES
    allowed = tolerance if tolerance is not None else _COARSE if coarse else TOLERANCE
    wide = torch.complex128 if want.is_complex() else torch.float64
    mine, theirs = got.to(wide), want.to(wide)
    same = (mine == theirs) | (torch.isnan(mine) & torch.isnan(theirs))
    distance = torch.where(same, 0.0, (mine - theirs).abs())
    wrong_nan = torch.isnan(distance)
    beyond = (distance > extra + allowed + allowed * theirs.abs()) | wrong_nan
    count = int(beyond.sum())
    finite = torch.where(wrong_nan, 0.0, distance)
    largest = float(finite.max())
    if not count:
        return largest, ""
    what = "NaN or infinity on one side" if bool(wrong_nan.any()) else f"by up to {largest:.3g}"
    return largest, f"differs {what}, in {count:,} of {want.numel():,} numbers (allowed: {allowed:g}, and as a share)"


def _kind(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
