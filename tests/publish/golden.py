"""Write the data of pages as text that people can read, and hold it against files.

``EXPECTTEST_ACCEPT=1`` writes the files anew.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.publish.charts import Bar, Tally
from conformance.publish.marks import Mark
from conformance.publish.pages import Link

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FOLDER = Path(__file__).resolve().parent / "golden"


def check(name: str, value: object) -> None:
    """Hold a page's data against its file."""
    text = "\n".join(_lines(value, 0)) + "\n"
    path = FOLDER / f"{name}.txt"
    if os.environ.get("EXPECTTEST_ACCEPT"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; EXPECTTEST_ACCEPT=1 writes it anew"


def _lines(value: object, depth: int) -> Iterator[str]:
    pad = "  " * depth
    short = _short(value)
    if short is not None:
        yield f"{pad}{short}"
    elif isinstance(value, (tuple, list)):
        for item in value:
            first, *rest = _lines(item, depth + 1)
            yield f"{pad}- {first.strip()}"
            yield from rest
    elif isinstance(value, Mapping):
        for key in value:
            yield f"{pad}{key}: {_short(value[key])}"
    else:
        yield from _fields(value, depth)


def _fields(value: Any, depth: int) -> Iterator[str]:
    instance: DataclassInstance = value
    pad = "  " * depth
    for field in dataclasses.fields(instance):
        content = getattr(instance, field.name)
        if content in ((), "", None) or content is False:
            continue  # what is empty says nothing here
        short = _short(content)
        if short is not None:
            yield f"{pad}{field.name}: {short}"
        else:
            yield f"{pad}{field.name}:"
            yield from _lines(content, depth + 1)


def _short(value: object) -> str | None:
    """Return what fits on a line."""
    match value:
        case Mark():
            return f"<{value.code}>"
        case Link():
            return f"{value.text} -> {value.href}" if value.href else value.text
        case Tally():
            return f"{value.count} <{value.mark.code}>"
        case Bar():
            return value.summary
        case str():
            return value.replace("\n", "\\n")
        case int() | float() | bool() | None:
            return str(value)
        case frozenset():
            return ", ".join(sorted(map(str, value)))
        case tuple() if all(isinstance(item, (str, int)) for item in value):
            return " | ".join(map(str, value))
    return None
