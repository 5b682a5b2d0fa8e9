"""Run a model on a device and say what came of it; this runs in a process of its own."""

from __future__ import annotations

import gc
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from conformance.devices.loading import function_of
from conformance.errors import ConformanceError, InfrastructureError, UsageError
from conformance.probes import probe_for
from conformance.readiness import frames, steps
from conformance.readiness.compare import compared
from conformance.readiness.crumb import Crumb
from conformance.readiness.findings import (
    Comparison,
    Compilation,
    Frame,
    OverloadUse,
    Place,
    Readiness,
    Standing,
    Trouble,
    Verdict,
)
from conformance.readiness.subject import Subject, explained, is_memory, load
from conformance.readiness.suspect import Suspect
from conformance.readiness.target import Target
from conformance.readiness.verdict import sentence_of, verdict_of
from conformance.readiness.watch import Watch

if TYPE_CHECKING:
    from conformance.devices import DeviceAdapter

MAKING, ON_CPU, MOVING = "making the model", "on the CPU", "moving to the device"


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be found out; ``tolerance`` None means that of the dtype."""

    target: Target
    plan: steps.Plan
    probe: str = "auto"
    tolerance: float | None = None
    compiles: bool = False


def on_cpu(request: Request, crumb: Crumb) -> tuple[Subject, dict[str, steps.Outcome]]:
    """Make the model and run it on the CPU.

    Raises ``UsageError`` (``model-fails-on-cpu``) where the CPU itself cannot run it.
    """
    crumb.enter(MAKING)
    subject = load(request.target, seed=request.plan.seed)
    outcomes: dict[str, steps.Outcome] = {}
    for phase in request.plan.phases:
        crumb.enter(f"{phase} {ON_CPU}")
        mine = steps.duplicate(subject) if phase == steps.TRAIN else subject
        try:
            outcomes[phase] = steps.run(phase, mine, request.plan, device="cpu")
        except ConformanceError:
            raise
        except Exception as error:
            raise _cannot(error, phase, subject) from error
    return subject, outcomes


def _cannot(error: Exception, phase: str, subject: Subject) -> ConformanceError:
    if is_memory(error):
        return explained(error, f"{phase} of {subject.description} on the CPU")
    inner = frames.of_traceback(error.__traceback__)
    where = f" at {inner[-1]}" if inner else ""
    return UsageError(
        "model-fails-on-cpu",
        f"{phase} of {subject.description} fails on the CPU too, so nothing can be said about the device: "
        f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{where}",
    )


def examine(
    request: Request, adapter: DeviceAdapter, crumb: Crumb, *, announce: Callable[[Readiness], None]
) -> Readiness:
    """Run the model on the CPU, then on the device that ``adapter`` has loaded, and compare.

    ``announce`` is given what is known before the device has a part, for the case that it brings the process down.
    """
    device = adapter.device
    probe = None if device == "cpu" else probe_for(adapter, request.probe)
    subject, wanted = on_cpu(request, crumb)
    known = _known(request, adapter, subject, probe=probe.name if probe is not None and probe.sees else "")
    announce(known)
    module = getattr(torch, device, None)
    wait = function_of(module, "synchronize") if device != "cpu" else None
    sees = probe is not None and probe.sees
    watch = Watch(probe=probe if sees else None, wait=wait, crumb=crumb)
    found = _Found()
    _reset_peak(module)
    moved: Subject | None = None
    try:
        crumb.enter(MOVING)
        moved = steps.on_device(subject, device)
        for phase in request.plan.phases:
            found.phase = phase
            mine = steps.run(
                phase,
                moved,
                request.plan,
                device=device,
                around=watch.phase if phase != steps.TRAIN else lambda name: _traced(watch, name, found),
                wait=wait,
                forced=wanted[phase].tokens,
            )
            found.notes.extend(mine.notes)
            found.comparisons.append(_held(phase, mine, wanted[phase], request.tolerance))
    except ConformanceError:
        raise
    except Exception as error:
        found.trouble = _trouble(error, watch, found)
        found.too_big = is_memory(error)
    peak = _peak(module)
    uses = watch.uses(timed=True)
    if device == "cpu":  # it cannot fall back to itself
        uses = tuple(replace(use, standing=Standing.NATIVE) if use.standing is Standing.UNSEEN else use for use in uses)
    if moved is not None and found.trouble is None:
        with suppress(Exception):  # it has run before: its time is not worth another verdict
            found.plain_seconds = _plain(moved, request, device, wait, wanted, crumb)
        if request.compiles:
            found.compilations = _compilations(moved, request, adapter, wanted[steps.FORWARD], wait, crumb)
        if any(item.difference for item in found.comparisons):
            found.trouble = _suspect(moved, request, device, found, wanted, crumb)
    return _report(known, found, uses, peak)


@dataclass(slots=True)
class _Found:
    phase: str = MOVING
    comparisons: list[Comparison] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    trouble: Trouble | None = None
    too_big: bool = False
    forward_frames: tuple[Frame, ...] = ()
    plain_seconds: dict[str, float] = field(default_factory=dict)
    compilations: tuple[Compilation, ...] = ()


def _held(phase: str, mine: steps.Outcome, theirs: steps.Outcome, tolerance: float | None) -> Comparison:
    # AdamW's first step is about the learning rate in the direction of a gradient's sign, however small it is.
    slack = {"new ": 2 * steps.LEARNING_RATE} if phase == steps.TRAIN else {}
    return compared(phase, mine.results, theirs.results, random=theirs.random, tolerance=tolerance, slack=slack)


@contextmanager
def _traced(watch: Watch, phase: str, found: _Found) -> Iterator[None]:
    """Let a failing backward name the forward call that it belongs to: autograd runs it without the user's stack."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with torch.autograd.set_detect_anomaly(True, check_nan=False), watch.phase(phase):
                yield
        except Exception:
            for warning in said:
                if "Traceback of forward call" in str(warning.message):
                    found.forward_frames = frames.of_text(str(warning.message))
            raise


def _trouble(error: Exception, watch: Watch, found: _Found) -> Trouble:
    raised = watch.raised
    message = f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
    if raised is not None and raised.error is error:
        own = raised.frames or found.forward_frames or frames.of_traceback(error.__traceback__)
        return Trouble(found.phase, raised.overload, message, raised.inputs, own)
    own = frames.of_traceback(error.__traceback__) or found.forward_frames
    return Trouble(found.phase, "", message, "", own)


def _plain(
    moved: Subject,
    request: Request,
    device: str,
    wait: Callable[[], object] | None,
    wanted: Mapping[str, steps.Outcome],
    crumb: Crumb,
) -> dict[str, float]:
    """Return the time of each phase when nobody watches, after a first run."""
    seconds = {}
    for phase in request.plan.phases:
        crumb.enter(f"{phase}, timed")
        outcome = steps.run(phase, moved, request.plan, device=device, wait=wait, forced=wanted[phase].tokens)
        seconds[phase] = outcome.seconds
    return seconds


def _compilations(
    moved: Subject,
    request: Request,
    adapter: DeviceAdapter,
    wanted: steps.Outcome,
    wait: Callable[[], object] | None,
    crumb: Crumb,
) -> tuple[Compilation, ...]:
    from conformance.readiness.compiled import compilations  # imports dynamo

    crumb.enter("compiling the forward")
    return compilations(moved, request.plan, adapter, wanted, tolerance=request.tolerance, wait=wait)


def _suspect(
    moved: Subject,
    request: Request,
    device: str,
    found: _Found,
    wanted: Mapping[str, steps.Outcome],
    crumb: Crumb,
) -> Trouble | None:
    """Run the first phase that differs again, each operator beside the CPU."""
    phase = next(item.phase for item in found.comparisons if item.difference)
    crumb.enter(f"{phase}, each operator beside the CPU")
    suspect = Suspect(phase, tolerance=request.tolerance)
    try:
        steps.run(phase, moved, request.plan, device=device, around=lambda _: suspect, forced=wanted[phase].tokens)
    except Exception:
        return suspect.found
    return suspect.found


def _known(request: Request, adapter: DeviceAdapter, subject: Subject, *, probe: str) -> Readiness:
    described = adapter.describe()
    return Readiness(
        model=subject.description,
        parameters=subject.parameters,
        parameter_bytes=subject.parameter_bytes,
        phases=request.plan.phases,
        place=Place(
            device=adapter.device,
            device_name=described.device_name,
            emulated=described.emulated,
            backend=described.backend,
            backend_version=described.backend_version,
            torch_version=str(torch.__version__),
            probe=probe,
        ),
        verdict=Verdict.UNKNOWN,
        sentence="",
    )


def _report(known: Readiness, found: _Found, uses: tuple[OverloadUse, ...], peak: int | None) -> Readiness:
    registered = _registered(known.place.device)
    uses = tuple(replace(use, registered=registered.get(use.name, "")) for use in uses)
    verdict = verdict_of(uses, comparisons=found.comparisons, trouble=found.trouble, too_big=found.too_big)
    notes = list(dict.fromkeys(found.notes))
    notes += [
        f"The CPU draws random numbers in phase {item.phase}: only shapes and dtypes of its results were compared."
        for item in found.comparisons
        if item.random
    ]
    return replace(
        known,
        verdict=verdict,
        sentence=sentence_of(verdict, uses, comparisons=found.comparisons, trouble=found.trouble),
        overloads=uses,
        trouble=found.trouble,
        comparisons=tuple(found.comparisons),
        seconds=found.plain_seconds,
        peak_bytes=peak,
        notes=tuple(notes),
        compilations=found.compilations,
    )


def _registered(device: str) -> dict[str, str]:
    """Return overload -> what the dispatcher finds for it; empty where this torch cannot tell."""
    if device == "cpu":
        return {}
    from conformance.probes.registrations import registrations

    try:
        return {item.overload: str(item.kind) for item in registrations(device)}
    except (UsageError, InfrastructureError):
        return {}


def _reset_peak(module: Any) -> None:
    gc.collect()
    reset = function_of(module, "reset_peak_memory_stats") if module is not None else None
    if reset is not None and not _needs_arguments(reset):
        reset()


def _peak(module: Any) -> int | None:
    peak = function_of(module, "max_memory_allocated") if module is not None else None
    try:
        return int(peak()) if peak is not None else None
    except (RuntimeError, TypeError):
        return None


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(item.default is item.empty and item.kind is item.POSITIONAL_OR_KEYWORD for item in parameters)
