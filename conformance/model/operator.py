"""Operators and modules: the denominators of every coverage figure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class OperatorStatus(str, Enum):
    """The state of one operator in one run, over all its tests or those of one dtype: in eager mode, or compiled."""

    NATIVE = "native"
    PARTIAL = "partial"
    FALLBACK = "fallback"
    FAILING = "failing"
    CRASHING = "crashing"
    SKIPPED = "skipped"
    UNTESTED = "untested"

    def __str__(self) -> str:
        return self.value

    @property
    def definition(self) -> str:
        """Return one sentence that says when an operator has this status."""
        return _DEFINITIONS[self]


_DEFINITIONS = {
    OperatorStatus.NATIVE: "At least one test passed, none failed, and no test saw the operator fall back to the CPU.",
    OperatorStatus.PARTIAL: "Some tests passed and some failed, or a test passed only after an attempt that failed.",
    OperatorStatus.FALLBACK: "At least one test passed and none failed; in one or more the operator ran on the CPU.",
    OperatorStatus.FAILING: "Tests failed and none passed.",
    OperatorStatus.CRASHING: "At least one test crashed, exceeded its time limit or ran out of memory.",
    OperatorStatus.SKIPPED: "Tests were run, and every one was skipped or failed as PyTorch itself expects.",
    OperatorStatus.UNTESTED: "No test of the operator has a result in this run.",
}


@dataclass(frozen=True, slots=True)
class OperatorInfo:
    """One OpInfo of one torch version.

    ``name`` is the full name with variant (``div.floor_rounding``); ``dtypes`` are those it declares for the device
    that was under test; ``group`` is the family shown in reports (``pointwise``, ``reduction``, ...).
    """

    name: str
    aten_name: str
    group: str
    dtypes: tuple[str, ...]
    supports_autograd: bool = True
    supports_out: bool = True


@dataclass(frozen=True, slots=True)
class ModuleInventory:
    """One module of PyTorch's module_db, by its full name (``nn.Linear``), with the dtypes it declares."""

    name: str
    dtypes: tuple[str, ...]
