"""Find and load the snapshots of operators that come with the harness.

A snapshot is a folder named after a torch version, with four JSON files: ``snapshot.json`` says what it is, the others
are lists with one record a line.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from packaging.version import InvalidVersion, Version

from conformance import resources
from conformance.analysis import opdb_format as form
from conformance.errors import InfrastructureError, UsageError
from conformance.model.overload import Snapshot

_T = TypeVar("_T")
_AGAIN = "take the snapshot again"


def public_version(text: str) -> str:
    """Return a torch version without its build: ``2.13.0+cpu`` -> ``2.13.0``; snapshots are named after it."""
    return text.partition("+")[0]


def versions() -> list[str]:
    """Return the torch versions of which snapshots come with the harness, oldest first."""
    return sorted((path.parent.name for path in resources.op_db().glob(f"*/{form.FACTS}")), key=_age)


def _age(text: str) -> tuple[Version, str]:
    try:
        return Version(text), text
    except InvalidVersion:
        return Version("0"), text  # no version, but a folder that somebody put there


def load(source: str | Path) -> Snapshot:
    """Load the snapshot of a torch version (``2.13.0``, ``2.13.0+cpu``), or the one in a folder.

    A text that is a version with a snapshot means that one, whatever folders there are. Raises ``UsageError``
    (``unknown-snapshot``) where there is none, ``InfrastructureError`` (``bad-snapshot``) where its files are damaged,
    do not belong together, or were written by a newer harness.
    """
    folder = _folder(source)
    path = folder / form.FACTS
    facts = _read(path)
    if not isinstance(facts, dict) or facts.get("schema") != form.SCHEMA:
        found = facts.get("schema") if isinstance(facts, dict) else None
        raise InfrastructureError(
            "bad-snapshot",
            f"{path} has schema {found!r}, and this harness reads {form.SCHEMA}; {_AGAIN}, or use a newer harness",
        )
    snapshot = Snapshot(
        torch=_decode(path, facts, lambda record: str(record["torch"])),
        build=_decode(path, facts, lambda record: str(record["build"])),
        measurement=_decode(path, facts, lambda record: form.to_measurement(record["measurement"])),
        operators=_records(folder / form.OPERATORS, form.to_operator),
        overloads=_records(folder / form.OVERLOADS, form.to_overload),
        modules=_records(folder / form.MODULES, form.to_module),
    )
    for kind, names in (
        ("operators", [operator.name for operator in snapshot.operators]),
        ("overloads", [overload.name for overload in snapshot.overloads]),
        ("modules", [module.name for module in snapshot.modules]),
    ):
        if facts.get(kind) != len(names):
            raise InfrastructureError(
                "bad-snapshot",
                f"{path} counts {facts.get(kind)} {kind} where {kind}.json has {len(names)}; the files are not of "
                f"one snapshot: {_AGAIN}",
            )
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InfrastructureError("bad-snapshot", f"{folder}: {kind}.json has {twice!r} twice; {_AGAIN}")
    return snapshot


def _folder(source: str | Path) -> Path:
    text, path = str(source), Path(source)
    known, version = versions(), public_version(text)
    if isinstance(source, str) and version in known:
        return resources.op_db() / version
    if text and (path / form.FACTS).is_file():
        return path
    if text and path.exists():
        raise UsageError(
            "unknown-snapshot", f"'{text}' is no snapshot: it holds no {form.FACTS}; name the folder of one version"
        )
    near = difflib.get_close_matches(version, known, n=2)
    hint = f"near: {', '.join(near)}" if near else f"there are {', '.join(known) or 'none'}"
    raise UsageError("unknown-snapshot", f"there is no snapshot of torch '{text}', and no folder of that name; {hint}")


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InfrastructureError("bad-snapshot", f"cannot read {path}: {error.strerror or error}; {_AGAIN}") from error
    except (ValueError, RecursionError) as error:  # neither JSON nor UTF-8
        raise InfrastructureError("bad-snapshot", f"{path} is damaged: {error}; {_AGAIN}") from error


def _records(path: Path, decode: Callable[[form.Record], _T]) -> tuple[_T, ...]:
    content = _read(path)
    if not isinstance(content, list):
        raise InfrastructureError("bad-snapshot", f"{path} is damaged: it is no list; {_AGAIN}")
    return tuple(_decode(path, record, decode) for record in content)


def _decode(path: Path, record: form.Record, decode: Callable[[form.Record], _T]) -> _T:
    try:
        return decode(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"a record lacks {error}" if isinstance(error, KeyError) else f"a record does not fit: {error}"
        raise InfrastructureError("bad-snapshot", f"{path} is damaged: {what}; {_AGAIN}") from error
