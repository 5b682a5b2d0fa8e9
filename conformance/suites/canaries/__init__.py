"""Tests that misbehave on purpose, each with what the harness must make of it beside it.

``conformance selftest`` runs them. The names of their files are none that pytest collects, and every test is skipped
where the variable CONFORMANCE_SELFTEST is not set: nobody who meets them by accident is harmed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from conformance.model.outcome import Outcome

VARIABLE = "CONFORMANCE_SELFTEST"  # the folder in which canaries note the processes they leave behind
PROCESSES = "processes"  # the file there
NOT_TRIED = "not tried: "
MODULES = ("outcomes", "deaths", "hangs", "remains", "names", "memory", "device")

_F = TypeVar("_F", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class Canary:
    """What must be recorded for one canary.

    Each text of ``says`` must be in the message or the reason, each of ``keeps`` in the details: the stack of a death,
    the last words on stderr. ``tests`` is how many tests it is collected as. ``falls_back`` must be in an overload that
    was seen on the CPU. A canary that may be ``untried`` asks for something that not every device or machine has, and
    says so itself where it is missing. ``does`` is what the test does: the first line of its docstring.
    """

    outcome: Outcome
    says: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    tests: int = 1
    falls_back: str = ""
    untried: bool = False
    does: str = ""


# A file that cannot be collected has no function to stand beside.
BROKEN_FILES = {
    "exits_when_imported.py": Canary(
        Outcome.ERROR, says=("SystemExit", "sys.exit(3)"), does="call sys.exit when the file is imported"
    )
}


def canary(
    outcome: Outcome,
    *,
    says: str | tuple[str, ...] = (),
    keeps: str | tuple[str, ...] = (),
    tests: int = 1,
    falls_back: str = "",
    untried: bool = False,
) -> Callable[[_F], _F]:
    """Declare what must be recorded for a test function."""

    def declare(function: _F) -> _F:
        line = (function.__doc__ or function.__name__).partition("\n")[0].rstrip(".")  # without docstrings under -OO
        expected = Canary(outcome, _texts(says), _texts(keeps), tests, falls_back, untried, line[:1].lower() + line[1:])
        function.canary = expected  # type: ignore[attr-defined]
        return function

    return declare


def declared() -> dict[tuple[str, str, str], Canary]:
    """Return every canary by its file, class ('' for a function) and name, in the order of the files."""
    found: dict[tuple[str, str, str], Canary] = {}
    for name in MODULES:
        module = import_module(f"{__name__}.{name}")
        for holder in (module, *(value for value in vars(module).values() if isinstance(value, type))):
            for attribute, value in vars(holder).items():
                if isinstance(getattr(value, "canary", None), Canary):
                    found[f"{name}.py", holder.__name__ if isinstance(holder, type) else "", attribute] = value.canary
    return found


def files() -> list[Path]:
    """Return the files to run, those that cannot be collected too."""
    folder = Path(__file__).parent
    return [folder / name for name in (*(f"{module}.py" for module in MODULES), *BROKEN_FILES)]


def is_armed() -> bool:
    """Tell whether the self-test runs, and not somebody who came upon the files."""
    return VARIABLE in os.environ


def note_process(pid: int, name: str) -> None:
    """Tell the self-test of a process that a canary leaves behind: it must be gone when the run is over."""
    folder = os.environ.get(VARIABLE)
    if folder:
        with (Path(folder) / PROCESSES).open("a", encoding="utf-8") as file:
            file.write(f"{pid} {start_of(pid)} {name}\n")


def start_of(pid: int) -> str:
    """Return when a process started, in clock ticks since boot; '' where it has ended or the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *fields = stat.rpartition(")")[2].split()
    return fields[18] if state not in "ZX" else ""


def _texts(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
