"""Faults that are injected into the emulated device's operators: their grammar and their kinds."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import Enum

from conformance.emulator.profile import suggestion
from conformance.errors import UsageError

VARIABLE = "CONFORMANCE_NEURON_FAULTS"


class FaultKind(str, Enum):
    """What an operator does in place of its work, or to its results."""

    NOT_IMPLEMENTED = "not_implemented"
    ERROR = "error"
    ALLOC_ERROR = "alloc_error"
    WRONG = "wrong"
    NAN = "nan"
    HANG = "hang"
    SEGFAULT = "segfault"
    ABORT = "abort"
    EXIT = "exit"
    SLOW = "slow"
    POISON = "poison"

    def __str__(self) -> str:
        return self.value

    @property
    def number(self) -> int:
        """Return the kind's number in the C++ enum of the same name, where 0 means no fault."""
        return list(FaultKind).index(self) + 1


_DEFAULT_ARGUMENTS = {FaultKind.EXIT: 1.0, FaultKind.SLOW: 1.0}
_SPOILING = (FaultKind.WRONG, FaultKind.NAN)
_PART = re.compile(
    r"(?P<operator>(?:aten::)?[A-Za-z_]\w*(?:\.\w+)?)"
    r"=(?P<kind>[^:@=]*)(?P<colon>:(?P<argument>[^@]*))?(?P<at>@(?P<from_call>.*))?"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One injected fault.

    ``operator`` is ``aten::add`` (all overloads, with ``add_`` and the out variants) or ``aten::add.Tensor``.
    ``argument`` is the exit code of ``exit``, the seconds of ``slow``. ``from_call`` counts calls from 1; the fault
    acts on this one and all later ones.
    """

    operator: str
    kind: FaultKind
    argument: float = 0.0
    from_call: int = 1


def parse_faults(text: str, *, source: str = VARIABLE) -> list[Fault]:
    """Parse ``aten::add=wrong;aten::sin=slow:0.5;aten::exp=exit:3;aten::cos=error@2``.

    Empty parts are allowed. Raises UsageError("bad-fault") that names the part.
    """
    return [_parse(part.strip(), source) for part in text.split(";") if part.strip()]


def faults_from_environment() -> list[Fault]:
    """Return the faults that CONFORMANCE_NEURON_FAULTS asks for."""
    return parse_faults(os.environ.get(VARIABLE, ""))


def _parse(part: str, source: str) -> Fault:
    found = _PART.fullmatch(part)
    if found is None:
        raise _bad(source, part, "write OPERATOR=KIND, OPERATOR=KIND:NUMBER or OPERATOR=KIND@CALL")
    argument: float | None = None
    if found["colon"]:
        try:
            argument = float(found["argument"])
        except ValueError:
            raise _bad(source, part, f"'{found['argument']}' is not a number") from None
    from_call = 1
    if found["at"]:
        if not found["from_call"].isdecimal():
            raise _bad(source, part, f"'{found['from_call']}' after '@' is not a call's number, which counts from 1")
        from_call = int(found["from_call"])
        if from_call >= 2**63:
            raise _bad(source, part, f"'{found['from_call']}' after '@' is more calls than can be counted")
    return make_fault(found["operator"], found["kind"], argument, from_call, shown=part, source=source)


def make_fault(
    operator: str,
    kind: str | FaultKind,
    argument: float | None,
    from_call: int,
    *,
    shown: str | None = None,
    source: str = "inject",
) -> Fault:
    """Return a checked fault; raise UsageError("bad-fault") for a kind, number or call that makes no sense."""
    part = shown if shown is not None else f"{operator}={kind}"
    kinds = [str(known) for known in FaultKind]
    if str(kind) not in kinds:
        raise _bad(source, part, f"unknown kind '{kind}'{suggestion(str(kind), kinds)}; use one of {', '.join(kinds)}")
    known_kind = FaultKind(str(kind))
    if argument is not None and known_kind not in _DEFAULT_ARGUMENTS:
        raise _bad(source, part, f"'{known_kind}' takes no number; only exit (a code) and slow (seconds) do")
    number = argument if argument is not None else _DEFAULT_ARGUMENTS.get(known_kind, 0.0)
    if known_kind is FaultKind.EXIT and number not in range(256):
        raise _bad(source, part, f"an exit code is a whole number from 0 to 255, not {number:g}")
    if known_kind is FaultKind.SLOW and not 0 <= number <= 86400:
        raise _bad(source, part, f"slow takes 0 to 86400 seconds, not {number:g}")
    if from_call < 1:
        raise _bad(source, part, "calls are counted from 1")
    name = operator if operator.startswith("aten::") else f"aten::{operator}"
    return Fault(name, known_kind, number, from_call)


def overloads_of(fault: Fault, *, source: str = VARIABLE) -> list[str]:
    """Return the overloads a fault acts on; raise UsageError("bad-fault") where it could never act."""
    from conformance.emulator import operators

    named = operators.select(fault.operator)
    if not named:
        close = suggestion(fault.operator, [o for all_of in operators.overloads_by_operator().values() for o in all_of])
        raise _bad(source, f"{fault.operator}={fault.kind}", f"torch has no operator '{fault.operator}'{close}")
    reached = sorted({reached for overload in named for reached in operators.reached_overloads(overload)})
    if not reached:
        raise _bad(
            source,
            f"{fault.operator}={fault.kind}",
            f"'{fault.operator}' has no kernel on the device, it is made of other operators: name one of those",
        )
    if fault.kind in _SPOILING and all(operators.returns_view(overload) for overload in reached):
        raise _bad(
            source, f"{fault.operator}={fault.kind}", "a view has no numbers of its own to spoil: use another kind"
        )
    return reached


def _bad(source: str, part: str, why: str) -> UsageError:
    return UsageError("bad-fault", f"{source}: in '{part}': {why}")
