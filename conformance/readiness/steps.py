"""What is done with a model, the same way on the CPU and on the device: forward, generation, a training step."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import random
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.errors import UsageError
from conformance.readiness.subject import Subject
from conformance.suites.models.decode import decode

FORWARD, GENERATE, TRAIN = "forward", "generate", "train"
LEARNING_RATE = 1e-3


@dataclass(slots=True)
class Outcome:
    """What a phase gave: named tensors, whether random numbers were drawn, and how long it took."""

    results: dict[str, torch.Tensor]
    random: bool
    seconds: float
    tokens: torch.Tensor | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Plan:
    """Which phases are run, in this order, and how."""

    train: bool
    new_tokens: int
    seed: int

    @property
    def phases(self) -> tuple[str, ...]:
        """Return the names of the phases."""
        wanted = ((FORWARD, True), (GENERATE, self.new_tokens > 0), (TRAIN, self.train))
        return tuple(name for name, asked in wanted if asked)


Around = Callable[[str], AbstractContextManager[object]]


def run(
    phase: str,
    subject: Subject,
    plan: Plan,
    *,
    device: str,
    around: Around = lambda _: nullcontext(),
    wait: Callable[[], object] | None = None,
    forced: torch.Tensor | None = None,
) -> Outcome:
    """Run one phase of a subject that is on ``device``.

    ``around`` is entered around what the model does, and nothing else; ``wait`` lets the device finish.
    """
    _seed(plan.seed, device)
    before = torch.get_rng_state()
    module = subject.module
    notes: list[str] = []
    tokens = None
    wait = wait or (lambda: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wait()
        begin = time.perf_counter()
        if phase == FORWARD:
            module.eval()
            with around(phase), torch.no_grad():
                made = module(*subject.args, **subject.kwargs)
            results = named_tensors(made, "result")
        elif phase == GENERATE:
            module.eval()
            text, others = text_of(subject)
            with around(phase):
                decoded = decode(
                    module, text, plan.new_tokens, arguments=others, forced=forced, use_cache=subject.use_cache
                )
            tokens = decoded.tokens
            results = {f"scores of new token {at}": scores for at, scores in enumerate(decoded.scores, start=1)}
            if not decoded.cache:
                notes.append("The model hands no cache from token to token: the whole text is read for each.")
        else:
            results = _train(subject, device, around)
        wait()
        seconds = time.perf_counter() - begin
    return Outcome(results, not torch.equal(before, torch.get_rng_state()), seconds, tokens, notes)


def _train(subject: Subject, device: str, around: Around) -> dict[str, torch.Tensor]:
    """Run forward, backward and one step of AdamW; return the loss, the gradients and the new parameters."""
    module = subject.module
    module.train()
    weights = {name: weight for name, weight in module.named_parameters() if weight.requires_grad}
    if not weights:
        raise UsageError("bad-model", "--train: the model has no parameter that takes a gradient")
    optimiser = torch.optim.AdamW(weights.values(), lr=LEARNING_RATE, foreach=uses_foreach(device))
    with around(TRAIN):
        loss = loss_of(module(*subject.args, **subject.kwargs))
        loss.backward()
        optimiser.step()
    results = {"loss": loss.detach()}
    results |= {f"gradient of {name}": weight.grad for name, weight in weights.items() if weight.grad is not None}
    results |= {f"new {name}": weight.detach() for name, weight in weights.items()}
    return results


def loss_of(made: Any) -> torch.Tensor:
    """Return what is minimised: the model's own loss, else the mean of the squares of all its results."""
    own = made.get("loss") if isinstance(made, Mapping) else getattr(made, "loss", None)
    if isinstance(own, torch.Tensor) and own.requires_grad:
        return own.mean()
    parts = [tensor for tensor in named_tensors(made, "").values() if tensor.requires_grad]
    if not parts:
        raise UsageError("bad-model", "--train: no result of the model depends on its parameters")
    total = parts[0].pow(2).mean()
    for tensor in parts[1:]:
        total = total + tensor.pow(2).mean()
    return total


def uses_foreach(device: str) -> bool:
    """Tell whether PyTorch's optimisers would group the tensors of this device into one call."""
    module = importlib.import_module("torch.utils._foreach_utils")
    listed = getattr(module, "_get_foreach_kernels_supported_devices", None)  # torch 2.13 has it
    return listed is not None and device in listed()


def text_of(subject: Subject) -> tuple[torch.Tensor, dict[str, Any]]:
    """Return the tokens to generate from, and the other arguments of each call.

    Raises ``UsageError`` (``cannot-generate``) where the inputs hold no tokens.
    """
    others = dict(subject.kwargs)
    text = others.pop("input_ids", None)
    if text is None and subject.args:
        text = subject.args[0]
    others.pop("labels", None)
    mask = others.get("attention_mask")
    if isinstance(mask, torch.Tensor) and bool(mask.all()):
        del others["attention_mask"]  # it says nothing, and would have to grow with the text
    whole = isinstance(text, torch.Tensor) and text.dim() == 2 and not text.is_floating_point()
    if not whole or len(subject.args) > 1:
        raise UsageError(
            "cannot-generate",
            "--generate needs a model that takes tokens: a tensor of integers (batch, position) as its only positional "
            "input or as `input_ids`",
        )
    assert isinstance(text, torch.Tensor)
    return text, others


def named_tensors(value: Any, name: str) -> dict[str, torch.Tensor]:
    """Return the tensors of a nested result under names such as ``result.logits``; other values are left out."""
    found: dict[str, torch.Tensor] = {}

    def walk(item: Any, path: str) -> None:
        if isinstance(item, torch.Tensor):
            found[path] = item
        elif isinstance(item, Mapping):
            for key, inner in item.items():
                walk(inner, f"{path}.{key}")
        elif isinstance(item, (list, tuple)):
            for key, inner in enumerate(item):
                walk(inner, f"{path}[{key}]")
        elif dataclasses.is_dataclass(item) and not isinstance(item, type):
            for part in dataclasses.fields(item):
                walk(getattr(item, part.name), f"{path}.{part.name}")

    walk(value, name)
    return found


def on_device(subject: Subject, device: str, *, move: Callable[[Any, str], object] | None = None) -> Subject:
    """Move the module and its inputs; the module is the same object afterwards.

    ``move`` does it where ``Module.to`` cannot.
    """
    if move is None:
        subject.module.to(device)
    else:
        move(subject.module, device)
    return Subject(
        subject.module,
        _moved(subject.args, device),
        _moved(subject.kwargs, device),
        subject.description,
        subject.use_cache,
    )


def duplicate(subject: Subject) -> Subject:
    """Return a copy that can be trained without changing the original.

    Raises ``UsageError`` (``bad-model``) for a module that cannot be copied.
    """
    try:
        module = copy.deepcopy(subject.module)
    except Exception as error:
        raise UsageError(
            "bad-model", f"--train: the module cannot be copied ({type(error).__name__}: {error}); make it copyable"
        ) from error
    return Subject(module, subject.args, subject.kwargs, subject.description, subject.use_cache)


def _moved(value: Any, device: str) -> Any:
    return pytree.tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, value)


def _seed(seed: int, device: str) -> None:
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if device != "cpu":
        seed_device = getattr(getattr(torch, device, None), "manual_seed_all", None)
        if seed_device is not None:
            seed_device(seed)
