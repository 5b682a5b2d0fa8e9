"""Small models of the usual kinds; each function returns a module and its example inputs."""

from __future__ import annotations

import torch
from torch import nn


class Perceptron(nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def perceptron() -> tuple[nn.Module, torch.Tensor]:
    return Perceptron(), torch.randn(5, 8)


class Convolution(nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.last = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        pooled = torch.relu(self.norm(self.convolution(x))).mean((2, 3))
        return {"pooled": pooled, "scores": self.last(pooled)}


def convolution() -> tuple[nn.Module, tuple[torch.Tensor]]:
    return Convolution(), (torch.randn(2, 3, 8, 8),)


class Recurrent(nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 8, batch_first=True)
        self.last = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(x)
        return self.last(states[:, -1])


def recurrent() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return Recurrent(), {"x": torch.randn(2, 5, 6)}


class RMSNorm(nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class Block(nn.Module):  # type: ignore[misc,unused-ignore]
    """Attention with rotary positions and a gated perceptron, as in the Llama family."""

    def __init__(self, size: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.width = heads, size // heads
        self.before, self.between = RMSNorm(size), RMSNorm(size)
        self.query, self.key, self.value, self.out = (nn.Linear(size, size, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(size, 64, bias=False), nn.Linear(size, 64, bias=False)
        self.down = nn.Linear(64, size, bias=False)

    def forward(
        self, x: torch.Tensor, cache: tuple[torch.Tensor, torch.Tensor] | None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        normed = self.before(x)
        past = cache[0].shape[2] if cache is not None else 0
        query, key = (self.rotated(self.split(layer(normed)), past) for layer in (self.query, self.key))
        value = self.split(self.value(normed))
        if cache is not None:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=cache is None)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        normed = self.between(x)
        return x + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed)), (key, value)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(2, (self.heads, self.width)).transpose(1, 2)

    def rotated(self, x: torch.Tensor, past: int) -> torch.Tensor:
        half = self.width // 2
        at = torch.arange(past, past + x.shape[2], device=x.device, dtype=x.dtype)
        angle = at[:, None] * 10000 ** (-torch.arange(half, device=x.device, dtype=x.dtype) / half)
        left, right = x[..., :half], x[..., half:]
        sine, cosine = angle.sin(), angle.cos()
        return torch.cat([left * cosine - right * sine, right * cosine + left * sine], -1)


class Llama(nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 32)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm = RMSNorm(32)
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = self.embedding.weight

    def forward(
        self,
        input_ids: torch.Tensor,
        past_key_values: list[tuple[torch.Tensor, torch.Tensor]] | None = None,
        use_cache: bool = False,
    ) -> dict[str, object]:
        x = self.embedding(input_ids)
        caches = []
        for position, block in enumerate(self.blocks):
            x, cache = block(x, past_key_values[position] if past_key_values else None)
            caches.append(cache)
        scores = self.head(self.norm(x))
        return {"logits": scores, "past_key_values": caches} if use_cache else {"logits": scores}


def llama() -> tuple[nn.Module, torch.Tensor]:
    return Llama(), torch.randint(0, 64, (1, 6))


class Bessel(nn.Module):  # type: ignore[misc,unused-ignore]
    """Calls what the default profile of the emulated device does not have."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.i0(x) + 1


def bessel() -> tuple[nn.Module, torch.Tensor]:
    return Bessel(), torch.randn(3)


class Swallows(nn.Module):  # type: ignore[misc,unused-ignore]
    """Catches the error of one operator and does something else."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            return torch.erfinv(x)
        except RuntimeError:
            return torch.tanh(x)


def swallows() -> tuple[nn.Module, torch.Tensor]:
    return Swallows(), torch.zeros(3)


class Greedy(nn.Module):  # type: ignore[misc,unused-ignore]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(2 << 30, dtype=torch.uint8, device=x.device)[:3] + x


def greedy() -> tuple[nn.Module, torch.Tensor]:
    return Greedy(), torch.ones(3)
