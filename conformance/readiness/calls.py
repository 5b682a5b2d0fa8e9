"""Record which overloads each architecture of the installed transformers calls on a device, without the device."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import torch

from conformance.analysis.opdb import public_version
from conformance.errors import InfrastructureError
from conformance.model.calls import ArchitectureCalls
from conformance.readiness import pretend
from conformance.readiness.crumb import Crumb
from conformance.readiness.watch import Watch
from conformance.suites import gradients
from conformance.suites.models import tiny
from conformance.suites.models.decode import decode, scores_of
from conformance.suites.models.suite import NEW_TOKENS
from conformance.suites.selection import SEED

# Any name does that PyTorch does not know: what is recorded holds for every backend from outside of PyTorch.
_DEVICE = "pretended"


def record_calls(
    *, names: Collection[str] | None = None, progress: Callable[[str], None] | None = None
) -> ArchitectureCalls:
    """Run the tests of the suite ``models`` on tensors that say they are on a device, and see what is called.

    ``names`` are the architectures to record, all without it; ``progress`` is called with each. This process can use no
    backend from outside of PyTorch before or afterwards. Raises ``InfrastructureError`` (``no-transformers``,
    ``unsupported-torch``).
    """
    tiny.require_transformers()
    reason = pretend.why_not(_DEVICE)
    if reason is not None:
        raise InfrastructureError("unsupported-torch", f"no device can be pretended: {reason}; record with torch 2.13")
    library = pretend.set_up(_DEVICE)
    torch.set_num_threads(1)
    overloads: dict[str, tuple[str, ...]] = {}
    unseen: dict[str, str] = {}
    with tempfile.NamedTemporaryFile() as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crumb = Crumb(Path(file.name))
        for name in tiny.architectures():
            if names is not None and name not in names:
                continue
            if progress is not None:
                progress(name)
            try:
                called, missing = _calls_of(name, crumb)
            except tiny.NotTinyError as error:
                unseen[name] = f"not made: {error}"
                continue
            overloads[name] = called
            if missing:
                unseen[name] = missing
    del library  # it had to live as long as the runs
    return ArchitectureCalls(
        public_version(str(torch.__version__)), tiny.transformers_version() or "", overloads, unseen
    )


def _calls_of(name: str, crumb: Crumb) -> tuple[tuple[str, ...], str]:
    """Return the overloads that an architecture calls, sorted, and what could not be seen of it."""
    model = tiny.tiny_model(name, seed=SEED)
    recipe = tiny.sheet().recipe(name)
    watch = Watch(probe=None, wait=None, crumb=crumb)
    tokens = torch.randint(3, 100, (1, recipe.tokens), generator=torch.Generator().manual_seed(SEED))
    missing = []
    # Devices that are not there have no threads of autograd's own.
    with pretend.Pretending(_DEVICE), torch.autograd.set_multithreading_enabled(False):
        pretend.move(model, _DEVICE)
        text = tokens.to(_DEVICE)

        def forward() -> Any:
            with torch.no_grad():
                return scores_of(model(text))

        def generate() -> Any:
            return decode(model, text[:, : recipe.tokens // 2], NEW_TOKENS, use_cache=recipe.cache)

        def backward() -> Any:
            model.train(recipe.training)
            weights = [weight for weight in model.parameters() if weight.requires_grad]
            return gradients.first_order(lambda: scores_of(model(text)), weights, device=_DEVICE, seed=SEED)

        for phase in (forward, generate, backward):
            try:
                # The watch is entered last, so that it is asked first and then hands on to the pretence.
                with watch.phase(phase.__name__):
                    phase()
            except Exception as error:
                missing.append(f"{phase.__name__}: {type(error).__name__}: {' '.join(str(error).split())[:160]}")
    return tuple(sorted(watch.seen)), "; ".join(missing)
