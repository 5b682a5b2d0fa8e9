"""Generation token by token, with and without a cache."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from conformance.suites.models.decode import decode, scores_of


class Counter(nn.Module):  # type: ignore[misc,unused-ignore]
    """Prefers the token after the last one; keeps how many tokens it was given at each call."""

    def __init__(self, *, cached: bool) -> None:
        super().__init__()
        self.cached = cached
        self.given: list[int] = []

    def forward(self, input_ids: torch.Tensor, past_key_values: Any = None, use_cache: bool = False) -> dict[str, Any]:
        self.given.append(input_ids.shape[1])
        scores = nn.functional.one_hot((input_ids + 1) % 10, 10).float()
        past = (past_key_values or 0) + input_ids.shape[1]
        return {"logits": scores, "past_key_values": past if self.cached and use_cache else None}


def test_the_cache_is_handed_on_and_only_the_new_token_is_read() -> None:
    model = Counter(cached=True)
    found = decode(model, torch.tensor([[3, 4]]), 3)
    assert found.tokens.tolist() == [[5, 6, 7]]
    assert (model.given, found.cache) == ([2, 1, 1], "past_key_values")


@pytest.mark.parametrize(("cached", "use_cache"), [(False, True), (True, False)])
def test_without_a_cache_the_whole_text_is_read_each_time(cached: bool, use_cache: bool) -> None:
    model = Counter(cached=cached)
    found = decode(model, torch.tensor([[3, 4]]), 3, use_cache=use_cache)
    assert found.tokens.tolist() == [[5, 6, 7]]
    assert (model.given, found.cache) == ([2, 3, 4], "")


def test_forced_tokens_are_read_in_place_of_its_own() -> None:
    found = decode(Counter(cached=True), torch.tensor([[3]]), 3, forced=torch.tensor([[0, 0, 0]]))
    assert found.tokens.tolist() == [[4, 1, 1]]


@pytest.mark.parametrize("made", [torch.ones(1, 2, 3), (torch.ones(1, 2, 3), 1), {"logits": torch.ones(1, 2, 3)}])
def test_scores_are_found_where_models_put_them(made: Any) -> None:
    assert scores_of(made).shape == (1, 2, 3)


@pytest.mark.parametrize("made", [None, "text", torch.ones(2), {"other": 1}])
def test_a_model_without_scores_is_told_so(made: Any) -> None:
    with pytest.raises(TypeError, match="gives no scores of tokens"):
        scores_of(made)
