"""Keep this machine out of the pages: local paths lose all but their end, a dead process's stack its other frames."""

from __future__ import annotations

import re
from collections.abc import Mapping

STACK_SHOWN = 2000
_COMPONENTS_KEPT = 2

_COMPONENT = r"[^\s\"'<>|:*?()\[\],;\\/]+"
_START = r"(?:[A-Za-z]:[\\/]|[\\/]|~[\\/])"
_QUOTED = re.compile(rf"(?<=[\"']){_START}[^\"'\n<>|*?]+(?=[\"'])")
_BARE = re.compile(rf"(?<![\w.:/\\~<]){_START}{_COMPONENT}(?:[\\/]{_COMPONENT})+[\\/]?")
_SEPARATOR = re.compile(r"[\\/]+")

# Lines of CPython's faulthandler (Python/traceback.c, Modules/faulthandler.c).
_NEWEST_FIRST = "(most recent call first)"
_CURRENT = "Current thread "
_EXTENSIONS = "Extension modules: "
_RUNNER = re.compile(r'^\s*File "(?:_pytest|pluggy)/')


def without_local_paths(text: str) -> str:
    """Return the text with every absolute path reduced to its last two components, and no home folder at all."""
    return _BARE.sub(_reduced, _QUOTED.sub(_reduced, text))


def _reduced(match: re.Match[str]) -> str:
    parts = [part for part in _SEPARATOR.split(match.group()) if part]
    if parts and (parts[0] == "~" or parts[0].endswith(":")):
        parts = parts[1:]
    if parts and parts[0] in ("home", "Users"):
        parts = parts[2:]
    elif parts and parts[0] == "root":
        parts = parts[1:]
    return "/".join(parts[-_COMPONENTS_KEPT:]) or "~"


def death_stack(details: str) -> str:
    """Return what is worth reading of a dead process's stack, at most 2,000 characters of it.

    Python's own account has the newest call first: it starts with the thread that died and ends where the test runner
    begins. Of any other text the last lines are kept.
    """
    text = without_local_paths(details).strip()
    lines = [line for line in text.splitlines() if not line.startswith(_EXTENSIONS)]
    if _NEWEST_FIRST not in text:
        return _last(lines)
    dying = next((place for place, line in enumerate(lines) if line.startswith(_CURRENT)), 0)
    lines = lines[: 1 if dying else 0] + lines[dying:]
    runner = next((place for place, line in enumerate(lines) if _RUNNER.match(line)), len(lines))
    return _first(lines[:runner] if any("File " in line for line in lines[:runner]) else lines)


def _first(lines: list[str]) -> str:
    text = "\n".join(lines).strip()
    return text if len(text) <= STACK_SHOWN else text[: STACK_SHOWN - 2].rpartition("\n")[0] + "\n\u2026"


def _last(lines: list[str]) -> str:
    text = "\n".join(lines).strip()
    if len(text) <= STACK_SHOWN:
        return text
    kept = text[2 - STACK_SHOWN :]
    return "\u2026\n" + (kept.partition("\n")[2] or kept)


def published_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return a run's variables with local paths reduced: a profile's own folder is nobody's business."""
    return {name: without_local_paths(value) for name, value in environment.items()}
