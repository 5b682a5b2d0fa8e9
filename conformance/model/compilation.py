"""What torch.compile did in one test, and which tests use it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from conformance.model.identity import Suite


class CompileMode(str, Enum):
    """The ways in which the built-in suites compile."""

    STATIC = "compile"
    DYNAMIC = "dynamic"

    def __str__(self) -> str:
        return self.value


COMPILE_TEMPLATES = {"test_compile": CompileMode.STATIC, "test_compile_dynamic": CompileMode.DYNAMIC}
COMPILING_SUITES = (Suite.OPINFO, Suite.MODULES, Suite.MODELS)


@dataclass(frozen=True, slots=True)
class CompileAccount:
    """What torch.compile did during one attempt at one test.

    ``compile_s`` is the wall time spent compiling, ``graphs`` how many graphs the backend was given, ``breaks`` how
    often a graph had to end before the function did, ``recompilations`` how often code that had been compiled was
    compiled again for other inputs. ``peak_bytes`` is the most memory that was allocated on the device during the test.
    What this torch or this device does not tell is None.
    """

    backend: str
    compile_s: float | None = None
    graphs: int = 0
    breaks: int = 0
    recompilations: int | None = None
    peak_bytes: int | None = None


def compile_mode(suite: str, template: str) -> CompileMode | None:
    """Return how a test of that template compiles, None for one that runs in eager mode."""
    return COMPILE_TEMPLATES.get(template) if suite in COMPILING_SUITES else None
