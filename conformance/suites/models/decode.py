"""Generate token by token, handing the cache from one token to the next where the model keeps one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

# What models call what they hand to their next call; the first that the model gives and takes is used.
_CACHES = ("past_key_values", "cache_params", "state", "mems")


@dataclass(frozen=True, slots=True)
class Decoded:
    """What was generated: the scores of each new token, the tokens that were best, and which cache was handed on.

    ``tokens`` are on the CPU, one column for each step; ``cache`` is empty where the whole text was given each time.
    """

    scores: tuple[torch.Tensor, ...]
    tokens: torch.Tensor
    cache: str


def decode(
    module: Any,
    text: torch.Tensor,
    count: int,
    *,
    arguments: Mapping[str, Any] | None = None,
    forced: torch.Tensor | None = None,
    use_cache: bool = True,
) -> Decoded:
    """Generate ``count`` tokens after ``text``, always the best one, without gradients.

    With ``forced`` these tokens are read in place of the model's own, so that two devices see the same text also where
    two tokens are equally good on one of them. ``arguments`` go to every call of the module.
    """
    accepted = _accepted(module)
    scores: list[torch.Tensor] = []
    tokens: list[torch.Tensor] = []
    kept: dict[str, Any] = {}
    used = ""
    reading = text
    with torch.no_grad():
        for position in range(count):
            asking = {"use_cache": True} if use_cache and "use_cache" in accepted else {}
            result = module(reading, **(arguments or {}), **asking, **kept)
            last = scores_of(result)[:, -1, :]
            best = last.argmax(-1)
            scores.append(last)
            tokens.append(best.cpu())
            following = best if forced is None else forced[:, position].to(text.device)
            kept = _cache(result, accepted) if use_cache else {}
            used = used or next(iter(kept), "")
            column = following.unsqueeze(1).to(text.dtype)
            reading = column if kept else torch.cat([reading, column], dim=1)
    return Decoded(tuple(scores), torch.stack(tokens, dim=1), used)


def scores_of(result: Any) -> torch.Tensor:
    """Return the scores of all tokens (batch, position, token) from what a model gives.

    Raises ``TypeError`` where there are none.
    """
    found = getattr(result, "logits", None)
    if found is None and isinstance(result, Mapping):
        found = result.get("logits")
    if found is None and isinstance(result, (tuple, list)) and result:
        found = result[0]
    if found is None:
        found = result
    if not isinstance(found, torch.Tensor) or found.dim() != 3:
        raise TypeError("the model gives no scores of tokens: a tensor (batch, position, token), alone or as `logits`")
    return found


def _accepted(module: Any) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        return frozenset()


def _cache(result: Any, accepted: frozenset[str]) -> dict[str, Any]:
    for name in _CACHES:
        value = result.get(name) if isinstance(result, Mapping) else getattr(result, name, None)
        if value is not None and name in accepted:
            return {name: value}
    return {}
