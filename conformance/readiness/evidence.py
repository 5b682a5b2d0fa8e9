"""Read what was recorded about a device: from a results database, or from the files of a published site."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import UsageError
from conformance.model.operator import OperatorStatus
from conformance.readiness.findings import Place


@dataclass(frozen=True, slots=True)
class OperatorEvidence:
    """What one run found out about one operator, for one dtype or over all of them.

    ``fallbacks`` are the overloads that ran on the CPU while it was tested; None where that is recorded over all dtypes
    only.
    """

    status: OperatorStatus
    fallbacks: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one run found out: ``operators`` by name and dtype, the dtype None for all of them together.

    ``source`` names where it was read. ``saw_fallbacks`` is False where no probe looked: then "native" means "passed".
    ``fell_back`` has every overload that ran on the CPU in any test, with the operators and modules under test.
    """

    source: str
    place: Place
    operators: Mapping[tuple[str, str | None], OperatorEvidence]
    saw_fallbacks: bool
    fell_back: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()


def read_evidence(path: Path, selector: str) -> Evidence:
    """Read a database file, or a folder with ``api/run.json`` and ``api/operators.json`` (or those two).

    Raises ``UsageError`` (``no-evidence``, ``unknown-run``, ``not-a-database``, ...).
    """
    if path.is_dir():
        return _site(path)
    if not path.exists():
        raise UsageError("no-evidence", f"--against {path}: there is no such file or folder")
    return _database(path, selector)


def _database(path: Path, selector: str) -> Evidence:
    from conformance.store import Database, fallback_operators, operator_statuses, resolve_run

    with Database.open_existing(path) as database:
        run = resolve_run(database, selector)
        rows = operator_statuses(database, run.id)
        fallen = fallback_operators(database, run.id)
    if not any(row.status is not OperatorStatus.UNTESTED for row in rows):
        raise UsageError(
            "no-evidence",
            f"run {run.id} of {path} tested no operator; choose another with --run, or run the suite opinfo",
        )
    notes = []
    if run.state.value != "complete":
        notes.append(f"The run is {run.state}: some of its tests have no result.")
    if run.selection:
        notes.append(f"The run tested a part of the suites only: {run.selection}.")
    return Evidence(
        source=f"run {run.id} ({run.key[:8]}) of {path}",
        place=Place(
            run.device,
            run.device_name,
            run.emulated,
            run.backend,
            run.backend_version,
            run.torch_version,
            run.probe,
        ),
        operators={(row.op, row.dtype): OperatorEvidence(row.status, row.fallback_ops) for row in rows},
        saw_fallbacks=bool(run.probe) or run.device == "cpu",
        fell_back={row.overload: row.operators for row in fallen},
        notes=tuple(notes),
    )


def _site(folder: Path) -> Evidence:
    api = folder / "api" if (folder / "api").is_dir() else folder
    run, operators = _json(api / "run.json"), _json(api / "operators.json")
    try:
        about = run["run"]
        found: dict[tuple[str, str | None], OperatorEvidence] = {}
        fallen: dict[str, tuple[str, ...]] = {}
        for item in operators["operators"]:
            fallbacks = tuple(item["fallback_ops"])
            found[item["name"], None] = OperatorEvidence(OperatorStatus(item["status"]), fallbacks)
            for overload in fallbacks:
                fallen[overload] = (*fallen.get(overload, ()), item["name"])
            for dtype, standing in item["dtypes"].items():
                # A page says over all dtypes which overloads fell back; a dtype without any has none.
                own = () if not standing["fallback"] else None
                found[item["name"], dtype] = OperatorEvidence(OperatorStatus(standing["status"]), own)
        return Evidence(
            source=f"run {about['id']} ({about['key'][:8]}) of the site {folder}",
            place=Place(
                about["device"],
                about["device_name"],
                bool(about["emulated"]),
                about["backend"],
                about["backend_version"],
                about["torch_version"],
                about["probe"],
            ),
            operators=found,
            saw_fallbacks=bool(operators["fallback_observed"]),
            fell_back=fallen,
            notes=() if about["state"] == "complete" else (f"The run is {about['state']}: some tests have no result.",),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            "no-evidence",
            f"{api}: run.json and operators.json are not those of a site that this harness published "
            f"({type(error).__name__}: {error})",
        ) from error


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            "no-evidence",
            f"cannot read {path}: {error.strerror or error}; give a results database or the folder of a site",
        ) from error
    except ValueError as error:
        raise UsageError("no-evidence", f"{path} is no JSON: {error}") from error
