"""What a snapshot records of one torch version: its operators, its ATen overloads, and which reaches which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from conformance.model.operator import ModuleInventory, OperatorInfo

NAMESPACE = "aten::"
CORE_TAG = "core"


class Dispatch(str, Enum):
    """What answers a call of an overload on plain CPU tensors, below autograd."""

    CPU = "CPU"
    NON_FUNCTIONAL = "CompositeExplicitAutogradNonFunctional"
    EXPLICIT = "CompositeExplicitAutograd"
    IMPLICIT = "CompositeImplicitAutograd"
    NONE = "none"

    def __str__(self) -> str:
        return self.value

    @property
    def definition(self) -> str:
        """Return one sentence that says when an overload is dispatched in this way."""
        return _DEFINITIONS[self]


_DEFINITIONS = {
    Dispatch.CPU: "It has a kernel of its own for the CPU.",
    Dispatch.NON_FUNCTIONAL: "It is made of another overload, most often its own `out` variant, for any backend.",
    Dispatch.EXPLICIT: "It is made of other overloads, for any backend that has no kernel of its own for it.",
    Dispatch.IMPLICIT: "It is made of other overloads, before autograd: a backend sees only those.",
    Dispatch.NONE: "It has none of these: on plain CPU tensors it raises.",
}


@dataclass(frozen=True, slots=True)
class Overload:
    """One ATen overload of one torch version.

    ``schema`` is its signature as PyTorch prints it, ``tags`` are PyTorch's own, and ``kernels`` the dispatch keys, of
    the CPU's backends and of the composites, that have a kernel for it; both are sorted.
    """

    name: str
    schema: str
    tags: tuple[str, ...]
    kernels: tuple[str, ...]

    @property
    def is_core(self) -> bool:
        """Tell whether it belongs to Core ATen."""
        return CORE_TAG in self.tags

    @property
    def dispatch(self) -> Dispatch:
        """Return which of its kernels a call on plain CPU tensors takes.

        The order is that of aten/src/ATen/core/dispatch/OperatorEntry.cpp:computeDispatchTableEntryWithDebug.
        """
        return next((way for way in Dispatch if way.value in self.kernels), Dispatch.NONE)


class Phase(str, Enum):
    """In which part of using an operator an overload is reached."""

    FORWARD = "forward"
    BACKWARD = "backward"
    VARIANTS = "variants"
    OUT = "out"

    def __str__(self) -> str:
        return self.value

    @property
    def definition(self) -> str:
        """Return what is run in this phase."""
        return _PHASES[self]


_PHASES = {
    Phase.FORWARD: "the OpInfo's function, without and with gradients",
    Phase.BACKWARD: "the backward of its result, without what the test puts around the operator",
    Phase.VARIANTS: "the method, the Python operator, and the in-place forms of both",
    Phase.OUT: "the function with `out=` tensors of the right shape",
}


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """Samples of an OpInfo that could not be measured.

    ``phase`` is ``samples`` where PyTorch could not make them, else a Phase; ``samples`` is how many raised for the
    same ``reason`` (0: there was nothing to run). ``dtype`` is empty where the reason is not one of a dtype.
    """

    dtype: str
    phase: str
    samples: int
    reason: str


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """One OpInfo of one torch version, and the overloads that its samples were seen to reach on the CPU.

    ``name`` is the full name with ``variant``. ``dtypes`` are those it declares for the CPU, the ``privateuse1_``
    fields what it declares for a backend from outside of PyTorch. ``forms`` says how else it can be called
    (``method``, ``inplace``, ``operator``, ``inplace_operator``), ``supports`` is what it declares to support.

    ``samples`` has how many samples of which dtype were run; ``complete`` is False where there were more.
    ``reached`` has full overload names, sorted, for each phase; empty for one that does not apply.
    """

    name: str
    variant: str
    aten_name: str
    aliases: tuple[str, ...]
    group: str
    dtypes: tuple[str, ...]
    backward_dtypes: tuple[str, ...]
    privateuse1_dtypes: tuple[str, ...]
    privateuse1_backward_dtypes: tuple[str, ...]
    forms: tuple[str, ...]
    supports: tuple[str, ...]
    samples: Mapping[str, int]
    complete: bool
    reached: Mapping[Phase, tuple[str, ...]]
    unmeasured: tuple[Unmeasured, ...]

    @property
    def overloads(self) -> tuple[str, ...]:
        """Return every overload that it reached in any phase, sorted."""
        return tuple(sorted({overload for overloads in self.reached.values() for overload in overloads}))


@dataclass(frozen=True, slots=True)
class Measurement:
    """How the overloads that operators reach were measured.

    At most ``samples`` samples of each of the dtypes that the rule ``dtypes`` chooses were run, from ``seed``.
    """

    samples: int
    dtypes: str
    seed: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The operators, overloads and modules of one torch version, each sorted by name: the denominators of coverage.

    ``torch`` is the public version (``2.13.0``), ``build`` what the torch that it was taken from calls itself.
    """

    torch: str
    build: str
    measurement: Measurement
    operators: tuple[OperatorRecord, ...]
    overloads: tuple[Overload, ...]
    modules: tuple[ModuleInventory, ...]

    @property
    def core(self) -> tuple[Overload, ...]:
        """Return the overloads of Core ATen."""
        return tuple(overload for overload in self.overloads if overload.is_core)

    def exercised(self) -> dict[str, tuple[str, ...]]:
        """Return for every ATen overload the names of the operators that reach it, sorted; empty if none does."""
        found: dict[str, list[str]] = {overload.name: [] for overload in self.overloads}
        for operator in self.operators:
            for name in operator.overloads:
                if name in found:
                    found[name].append(operator.name)
        return {name: tuple(operators) for name, operators in found.items()}

    def inventory(self, device: str) -> list[OperatorInfo]:
        """Return the operators as a run stores them: the denominator where a database brings none of its own.

        Every device but the CPU is taken for a backend from outside of PyTorch.
        """
        return [
            OperatorInfo(
                name=operator.name,
                aten_name=operator.aten_name,
                group=operator.group,
                dtypes=operator.dtypes if device == "cpu" else operator.privateuse1_dtypes,
                supports_autograd="autograd" in operator.supports,
                supports_out="out" in operator.supports,
            )
            for operator in self.operators
        ]
