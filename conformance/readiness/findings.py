"""What is known about one model on one device: frozen values without torch, and their form as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

SCHEMA = 1


class Verdict(str, Enum):
    """The one word on a model and a device."""

    NATIVE = "native"
    FALLBACK = "with fallback"
    UNSEEN = "runs, fallbacks unknown"
    WRONG = "wrong results"
    FAILS = "fails"
    TOO_BIG = "does not fit"
    CRASHES = "crashes"
    HANGS = "hangs"
    UNKNOWN = "cannot be said"

    def __str__(self) -> str:
        return self.value

    @property
    def definition(self) -> str:
        """Return one sentence that says when a model has this verdict."""
        return _DEFINITIONS[self]

    @property
    def runs(self) -> bool:
        """Tell whether the model works, be it slowly."""
        return self in (Verdict.NATIVE, Verdict.FALLBACK, Verdict.UNSEEN)


_DEFINITIONS = {
    Verdict.NATIVE: "It ran, its results equal those of the CPU, and nothing was seen to run on the CPU instead.",
    Verdict.FALLBACK: "It ran, its results equal those of the CPU, and some overloads ran on the CPU instead.",
    Verdict.UNSEEN: "It ran, its results equal those of the CPU, and there is no probe that sees fallbacks.",
    Verdict.WRONG: "It ran, and its results differ from those of the CPU by more than the tolerance.",
    Verdict.FAILS: "It raised an error on the device, and none on the CPU.",
    Verdict.TOO_BIG: "There was not enough memory.",
    Verdict.CRASHES: "The process that ran it died.",
    Verdict.HANGS: "It did not end within the time limit.",
    Verdict.UNKNOWN: "Recorded results do not cover all that it calls, or it gives nothing to be compared.",
}


class Standing(str, Enum):
    """What is known about one overload on the device; the later in this order, the worse."""

    NATIVE = "native"
    UNSEEN = "ran"
    UNMEASURED = "never measured"
    UNCLEAR = "unclear"
    FALLBACK = "fallback"
    FAILS = "fails"

    def __str__(self) -> str:
        return self.value

    @property
    def severity(self) -> int:
        """Return how bad it is, 0 for native."""
        return list(Standing).index(self)


@dataclass(frozen=True, slots=True)
class OverloadUse:
    """One ATen overload that a model calls, in the order of its first call.

    ``seconds`` is the time of all its calls, None where no time was taken. ``fallbacks`` are the overloads that ran on
    the CPU during them, ``fallback_calls`` in how many calls. ``moved_bytes`` is the size of what goes into those
    calls and comes out of them. ``registered`` is what the dispatcher finds for it, empty where nobody asked.
    ``why`` says what a standing that was not measured here rests on.
    """

    name: str
    calls: int
    phases: tuple[str, ...]
    dtypes: tuple[str, ...]
    standing: Standing
    seconds: float | None = None
    fallback_calls: int = 0
    fallbacks: tuple[str, ...] = ()
    moved_bytes: int = 0
    registered: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a stack; ``path`` is as short as it can be without losing the file."""

    path: str
    line: int
    function: str
    code: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line} in {self.function}"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Where it went wrong: ``overload`` is empty where no operator had a part in it, the last frame is the innermost.

    ``inputs`` describes the tensors that the operator was given.
    """

    phase: str
    overload: str
    message: str
    inputs: str = ""
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Results of one phase held against those of the CPU.

    ``tensors`` were compared; ``largest`` is the largest difference, ``difference`` says what differs beyond the
    tolerance, and is empty where nothing does. ``random`` says that the CPU drew random numbers, so that only shapes
    and dtypes could be compared.
    """

    phase: str
    tensors: int
    largest: float | None
    difference: str = ""
    random: bool = False


@dataclass(frozen=True, slots=True)
class OtherSize:
    """What a call of the compiled model with inputs of another size did.

    ``recompilations`` is how often it was compiled again for it, None where this torch does not tell or it failed.
    """

    size: str
    recompilations: int | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Compilation:
    """The forward of a model, compiled with static or with dynamic shapes (``mode``: ``compile`` or ``dynamic``).

    The counts are those of all calls, with the model's own inputs and with ``sizes``. ``problem`` is the error that
    kept it from running, ``difference`` that to the CPU's results; both are empty where it worked.
    """

    mode: str
    backend: str
    compile_s: float | None = None
    graphs: int = 0
    breaks: int = 0
    recompilations: int | None = None
    peak_bytes: int | None = None
    difference: str = ""
    problem: str = ""
    sizes: tuple[OtherSize, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where the model was run, or for which device it was judged."""

    device: str
    device_name: str
    emulated: bool
    backend: str
    backend_version: str
    torch_version: str
    probe: str = ""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Everything about one model on one device.

    ``phases`` were asked for; ``seconds`` has those that were timed, in a second run that nobody watched.
    ``evidence`` says which recorded results were asked, and is empty where the model was run on the device itself.
    Sizes are in bytes, None where the device does not tell. ``compilations`` are there if they were asked for.
    """

    model: str
    parameters: int
    parameter_bytes: int
    phases: tuple[str, ...]
    place: Place
    verdict: Verdict
    sentence: str
    overloads: tuple[OverloadUse, ...] = ()
    trouble: Trouble | None = None
    comparisons: tuple[Comparison, ...] = ()
    seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    peak_bytes: int | None = None
    evidence: str = ""
    notes: tuple[str, ...] = ()
    compilations: tuple[Compilation, ...] = ()

    @property
    def total_seconds(self) -> float | None:
        """Return the time of all calls together; None where none was taken."""
        times = [use.seconds for use in self.overloads if use.seconds is not None]
        return sum(times) if times else None

    def count(self, standing: Standing) -> int:
        """Return how many overloads have a standing."""
        return sum(use.standing is standing for use in self.overloads)


def as_json(readiness: Readiness) -> dict[str, Any]:
    """Return plain values for programs; fields are only ever added."""
    document: dict[str, Any] = {"schema": SCHEMA}
    for field in dataclasses.fields(readiness):
        document[field.name] = plain(getattr(readiness, field.name))
    return document


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def from_json(document: Mapping[str, Any]) -> Readiness:
    """Return what ``as_json`` was given."""
    values = {key: value for key, value in document.items() if key != "schema"}
    values["place"] = Place(**values["place"])
    values["verdict"] = Verdict(values["verdict"])
    values["overloads"] = tuple(_use(item) for item in values["overloads"])
    values["comparisons"] = tuple(Comparison(**item) for item in values["comparisons"])
    if values["trouble"] is not None:
        values["trouble"] = trouble_from(values["trouble"])
    values["compilations"] = tuple(
        Compilation(**{**item, "sizes": tuple(OtherSize(**size) for size in item["sizes"])})
        for item in values.get("compilations", ())
    )
    for name in ("phases", "notes"):
        values[name] = tuple(values[name])
    return Readiness(**values)


def trouble_from(item: Mapping[str, Any]) -> Trouble:
    """Return the trouble of its JSON."""
    return Trouble(**{**item, "frames": tuple(Frame(**frame) for frame in item["frames"])})


def _use(item: Mapping[str, Any]) -> OverloadUse:
    lists = {name: tuple(item[name]) for name in ("phases", "dtypes", "fallbacks")}
    return OverloadUse(**{**item, **lists, "standing": Standing(item["standing"])})
