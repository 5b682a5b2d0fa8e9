"""Read and write the record of which overloads architectures call: a file beside a snapshot of operators.

``architectures.jsonl`` has one object a line: first the versions and the names of all overloads, then for each
architecture the places of those it calls.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance import resources
from conformance.analysis.opdb import public_version
from conformance.errors import InfrastructureError
from conformance.model.calls import ArchitectureCalls

FILE = "architectures.jsonl"
SCHEMA = 1


def text_of(calls: ArchitectureCalls) -> str:
    """Return the content of the file; the same record gives the same text."""
    names = sorted({name for overloads in calls.overloads.values() for name in overloads})
    places = {name: place for place, name in enumerate(names)}
    head = {"schema": SCHEMA, "torch": calls.torch, "transformers": calls.transformers, "overloads": names}
    lines: list[dict[str, Any]] = [head]
    for name in sorted({*calls.overloads, *calls.unseen}):
        line: dict[str, Any] = {"name": name}
        if name in calls.overloads:
            line["calls"] = [places[overload] for overload in sorted(calls.overloads[name])]
        if name in calls.unseen:
            line["unseen"] = calls.unseen[name]
        lines.append(line)
    return "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)


def recorded_calls(torch_version: str) -> ArchitectureCalls | None:
    """Return the record that comes with the harness for a torch version, None where there is none."""
    path = resources.op_db() / public_version(torch_version) / FILE
    return load_calls(path) if "/" not in torch_version and path.is_file() else None


def load_calls(path: Path) -> ArchitectureCalls:
    """Read a record; raises ``InfrastructureError`` (``bad-snapshot``) for one that is damaged or newer."""
    try:
        head, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if head["schema"] != SCHEMA:
            raise ValueError(f"schema {head['schema']!r}, and this harness reads {SCHEMA}")
        names = [str(name) for name in head["overloads"]]
        return ArchitectureCalls(
            torch=str(head["torch"]),
            transformers=str(head["transformers"]),
            overloads={
                str(line["name"]): tuple(names[place] for place in line["calls"]) for line in lines if "calls" in line
            },
            unseen={str(line["name"]): str(line["unseen"]) for line in lines if "unseen" in line},
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise InfrastructureError(
            "bad-snapshot", f"{path} is damaged: {error}; record it again with `conformance opdb architectures`"
        ) from error
