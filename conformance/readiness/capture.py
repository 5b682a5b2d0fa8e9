"""Find out what a model would call on a device that is not here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from conformance.errors import ConformanceError
from conformance.readiness import pretend, steps
from conformance.readiness.crumb import Crumb
from conformance.readiness.examine import Request, on_cpu
from conformance.readiness.findings import OverloadUse
from conformance.readiness.subject import Subject
from conformance.readiness.watch import Watch


@dataclass(frozen=True, slots=True)
class Captured:
    """The overloads that a model calls, and how they were captured; the standings are not known yet."""

    model: str
    parameters: int
    parameter_bytes: int
    overloads: tuple[OverloadUse, ...]
    notes: tuple[str, ...]


def capture(request: Request, device: str, crumb: Crumb) -> Captured:
    """Run the model on the CPU, under the pretence of the device where this torch allows it."""
    reason = pretend.why_not(device)
    subject, wanted = on_cpu(request, crumb)
    sizes = (subject.parameters, subject.parameter_bytes)
    uses: tuple[OverloadUse, ...] | None = None
    library = None
    if reason is None:
        library = pretend.set_up(device)
        mine = steps.duplicate(subject)
        try:
            uses = _uses(request, mine, device, wanted, crumb)
        except ConformanceError:
            raise
        except Exception as error:
            reason = f"the model does not run that way ({type(error).__name__}: {' '.join(str(error).split())[:200]})"
    del library  # it had to live as long as the run
    notes = ["Captured on tensors that say they are on the device and compute on the CPU."]
    if uses is None:
        uses = _uses(request, subject, "cpu", wanted, crumb)
        said = "Captured on CPU tensors: what PyTorch calls by the type of the device (attention, dropout, LSTM,"
        notes = [f"{said} optimisers) may be something else there. The device could not be pretended: {reason}."]
    return Captured(subject.description, *sizes, uses, tuple(notes))


def _uses(
    request: Request, subject: Subject, device: str, wanted: dict[str, steps.Outcome], crumb: Crumb
) -> tuple[OverloadUse, ...]:
    watch = Watch(probe=None, wait=None, crumb=crumb)
    if device == "cpu":
        for phase in request.plan.phases:
            steps.run(phase, subject, request.plan, device=device, around=watch.phase, forced=wanted[phase].tokens)
        return watch.uses(timed=False)

    @contextmanager
    def around(phase: str) -> Iterator[None]:
        # The watch is entered last, so that it is asked first and then hands on to the pretence.
        with watch.phase(phase):
            yield

    # Devices that are not there have no threads of autograd's own.
    with pretend.Pretending(device), torch.autograd.set_multithreading_enabled(False):
        moved = steps.on_device(subject, device, move=pretend.move)
        for phase in request.plan.phases:
            steps.run(phase, moved, request.plan, device=device, around=around, forced=wanted[phase].tokens)
    return watch.uses(timed=False)
