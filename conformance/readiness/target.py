"""Read what the user names as the model: a function of a module or file, or an architecture of transformers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from conformance.errors import UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_ARCHITECTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_FORMS = "give package.module:function, file.py:function, file.py, or an architecture of transformers such as llama"


class TargetKind(str, Enum):
    """How the model is found."""

    MODULE = "module"
    FILE = "file"
    ARCHITECTURE = "architecture"


@dataclass(frozen=True, slots=True)
class Target:
    """What was named; ``function`` is empty for a file whose one obvious function is meant."""

    text: str
    kind: TargetKind
    place: str
    function: str = ""


def parse_target(text: str) -> Target:
    """Return what the text names; raise ``UsageError`` (``bad-target``, ``unknown-model``) where it names nothing."""
    place, colon, function = text.rpartition(":")
    if not colon:
        place, function = text, ""
    elif not _NAME.fullmatch(function) or not place:
        raise UsageError("bad-target", f"'{text}' is no model: {_FORMS}")
    if place.endswith(".py") or "/" in place:
        path = Path(place).expanduser()
        if not path.is_file():
            raise UsageError("unknown-model", f"there is no file {place}; {_FORMS}")
        return Target(text, TargetKind.FILE, str(path.resolve()), function)
    if colon:
        if not _NAME.fullmatch(place):
            raise UsageError("bad-target", f"'{text}' is no model: {_FORMS}")
        return Target(text, TargetKind.MODULE, place, function)
    if not _ARCHITECTURE.fullmatch(place):
        raise UsageError("bad-target", f"'{text}' is no model: {_FORMS}")
    return Target(text, TargetKind.ARCHITECTURE, place)
