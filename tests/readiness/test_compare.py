"""Results held against those of the CPU."""

from __future__ import annotations

import pytest
import torch

from conformance.readiness.compare import compared


def difference(
    mine: torch.Tensor, theirs: torch.Tensor, *, random: bool = False, tolerance: float | None = None
) -> str:
    found = compared("forward", {"result": mine}, {"result": theirs}, random=random, tolerance=tolerance)
    return found.difference


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0005, 2.0])),
        (torch.tensor([float("nan"), float("inf")]), torch.tensor([float("nan"), float("inf")])),
        (torch.tensor([1.0], dtype=torch.bfloat16), torch.tensor([1.01], dtype=torch.bfloat16)),
        (torch.tensor([3]), torch.tensor([3])),
        (torch.empty(0), torch.empty(0)),
        (torch.tensor([1 + 2j]), torch.tensor([1 + 2.001j])),
    ],
)
def test_equal_within_the_tolerance_of_the_dtype(mine: torch.Tensor, theirs: torch.Tensor) -> None:
    assert difference(mine, theirs) == ""


@pytest.mark.parametrize(
    ("mine", "theirs", "words"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]), "by up to 0.1, in 1 of 2 numbers"),
        (torch.tensor([float("nan")]), torch.tensor([1.0]), "NaN or infinity on one side"),
        (torch.tensor([1.0]), torch.tensor([float("nan")]), "NaN or infinity on one side"),
        (torch.tensor([float("inf")]), torch.tensor([1.0]), "by up to inf"),
        (torch.tensor([3]), torch.tensor([4]), "differs in 1 of 1 numbers"),
        (torch.tensor([1.0]), torch.tensor([[1.0]]), "float32[1] on the device and float32[1, 1] on the CPU"),
        (torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64), "float32[1] on the device and float64[1]"),
    ],
)
def test_a_difference_is_described(mine: torch.Tensor, theirs: torch.Tensor, words: str) -> None:
    assert words in difference(mine, theirs)


def test_random_numbers_are_compared_by_their_kind_only() -> None:
    assert difference(torch.tensor([1.0]), torch.tensor([9.0]), random=True) == ""
    assert difference(torch.tensor([1.0]), torch.tensor([9.0, 1.0]), random=True) != ""


def test_a_tolerance_that_is_given_holds_for_every_dtype() -> None:
    assert difference(torch.tensor([1.0]), torch.tensor([1.4]), tolerance=0.5) == ""
    assert difference(torch.tensor([1.0]), torch.tensor([1.0001]), tolerance=0.0) != ""


def test_a_missing_result_is_a_difference() -> None:
    found = compared("forward", {}, {"loss": torch.ones(1)}, random=False, tolerance=None)
    assert found.difference == "the device gives other results than the CPU: loss"


def test_slack_is_for_the_names_it_is_given_for() -> None:
    mine, theirs = {"new a": torch.tensor([0.0])}, {"new a": torch.tensor([0.0025])}
    assert compared("train", mine, theirs, random=False, tolerance=None).difference
    assert not compared("train", mine, theirs, random=False, tolerance=None, slack={"new ": 0.002}).difference
