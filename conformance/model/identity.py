"""The device-neutral identity of a test."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Suite(str, Enum):
    """Where a test comes from."""

    OPINFO = "opinfo"
    MODULES = "modules"
    UPSTREAM = "upstream"
    LOCAL = "local"
    MODELS = "models"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """Name one test the same way on every device.

    ``file`` is a POSIX path relative to the suite's root (``test_ops.py``; ``opinfo`` and ``modules`` for the built-in
    suites), ``class_name`` the generic class, ``name`` the method without the device, ``template`` the method before
    operator and dtype were filled in. ``op`` and ``module`` are full names (``div.floor_rounding``,
    ``nn.Linear``), ``dtype`` is torch's name without ``torch.``, ``architecture`` that of a model (``llama``); each is
    None where the test has none.
    """

    file: str
    class_name: str
    name: str
    suite: Suite
    template: str
    op: str | None = None
    module: str | None = None
    dtype: str | None = None
    architecture: str | None = None

    @property
    def test_id(self) -> str:
        """Return the id that is equal on every device, such as ``test_ops.py::TestCommon::test_out_add_float32``."""
        parts = (self.file, self.class_name, self.name) if self.class_name else (self.file, self.name)
        return "::".join(parts)


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """A test that a run undertakes to report on.

    ``node_id`` is what pytest calls it here, ``entry_id`` names the entry of the skiplist that speaks of it.
    """

    node_id: str
    identity: Identity
    entry_id: str = ""
