"""Turn a snapshot into the records of its files and back; docs/op_db.md describes the fields.

What is empty, or says nothing new, is left out of a record, and overloads of ATen stand without their namespace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from conformance.model.operator import ModuleInventory
from conformance.model.overload import (
    NAMESPACE,
    Measurement,
    OperatorRecord,
    Overload,
    Phase,
    Snapshot,
    Unmeasured,
)

SCHEMA = 1
FACTS, OPERATORS, OVERLOADS, MODULES = "snapshot.json", "operators.json", "overloads.json", "modules.json"

Record: TypeAlias = dict[str, Any]


def files_of(snapshot: Snapshot) -> dict[str, str]:
    """Return the text of each of a snapshot's files by its name; equal snapshots have equal texts."""
    measurement = snapshot.measurement
    facts = {
        "schema": SCHEMA,
        "torch": snapshot.torch,
        "build": snapshot.build,
        "operators": len(snapshot.operators),
        "overloads": len(snapshot.overloads),
        "modules": len(snapshot.modules),
        "measurement": {"samples": measurement.samples, "dtypes": measurement.dtypes, "seed": measurement.seed},
    }
    return {
        FACTS: json.dumps(facts, indent=1) + "\n",
        OPERATORS: _lines(map(_from_operator, snapshot.operators)),
        OVERLOADS: _lines(map(_from_overload, snapshot.overloads)),
        MODULES: _lines({"name": module.name, "dtypes": module.dtypes} for module in snapshot.modules),
    }


def _lines(records: Iterable[Record]) -> str:
    """Return a JSON list with one record a line, so that a change of one record is a change of one line."""
    lines = [json.dumps(record, separators=(",", ":")) for record in records]
    return "\n".join(["[", ",\n".join(lines), "]", ""]) if lines else "[\n]\n"


def _from_operator(operator: OperatorRecord) -> Record:
    record: Record = {
        "name": operator.name,
        "variant": operator.variant,
        "aten_name": operator.aten_name,
        "aliases": operator.aliases,
        "group": operator.group,
        "dtypes": operator.dtypes,
        "backward_dtypes": operator.backward_dtypes,
        "forms": operator.forms,
        "supports": operator.supports,
        "samples": dict(operator.samples),
        "more_samples": not operator.complete,
        **{phase.value: [_short(name) for name in operator.reached.get(phase, ())] for phase in Phase},
        "unmeasured": [
            {"dtype": item.dtype, "phase": item.phase, "samples": item.samples, "reason": item.reason}
            for item in operator.unmeasured
        ],
    }
    if operator.privateuse1_dtypes != operator.dtypes:
        record["privateuse1_dtypes"] = operator.privateuse1_dtypes
    if operator.privateuse1_backward_dtypes != operator.backward_dtypes:
        record["privateuse1_backward_dtypes"] = operator.privateuse1_backward_dtypes
    always = ("name", "aten_name", "group", "dtypes", "privateuse1_dtypes", "privateuse1_backward_dtypes")
    return {key: value for key, value in record.items() if value or key in always}


def to_operator(record: Record) -> OperatorRecord:
    """Return the operator of a record; raise KeyError, TypeError or ValueError for one that is damaged."""
    dtypes, backward_dtypes = _texts(record["dtypes"]), _texts(record.get("backward_dtypes", []))
    return OperatorRecord(
        name=_text(record["name"]),
        variant=_text(record.get("variant", "")),
        aten_name=_text(record["aten_name"]),
        aliases=_texts(record.get("aliases", [])),
        group=_text(record["group"]),
        dtypes=dtypes,
        backward_dtypes=backward_dtypes,
        privateuse1_dtypes=_texts(record.get("privateuse1_dtypes", dtypes)),
        privateuse1_backward_dtypes=_texts(record.get("privateuse1_backward_dtypes", backward_dtypes)),
        forms=_texts(record.get("forms", [])),
        supports=_texts(record.get("supports", [])),
        samples={_text(dtype): int(count) for dtype, count in record.get("samples", {}).items()},
        complete=not record.get("more_samples", False),
        reached={phase: tuple(map(_full, _texts(record.get(phase.value, [])))) for phase in Phase},
        unmeasured=tuple(
            Unmeasured(
                dtype=_text(item["dtype"]),
                phase=_text(item["phase"]),
                samples=int(item["samples"]),
                reason=_text(item["reason"]),
            )
            for item in record.get("unmeasured", [])
        ),
    )


def _from_overload(overload: Overload) -> Record:
    return {"schema": overload.schema, "tags": overload.tags, "kernels": overload.kernels}


def to_overload(record: Record) -> Overload:
    """Return the overload of a record; its name is the beginning of its schema."""
    schema = _text(record["schema"])
    name, bracket, _ = schema.partition("(")
    if not bracket or "::" not in name:
        raise ValueError(f"{schema[:60]!r} is no schema")
    return Overload(name=name, schema=schema, tags=_texts(record["tags"]), kernels=_texts(record["kernels"]))


def to_module(record: Record) -> ModuleInventory:
    """Return the module of a record."""
    return ModuleInventory(name=_text(record["name"]), dtypes=_texts(record["dtypes"]))


def to_measurement(record: Record) -> Measurement:
    """Return how a snapshot was measured."""
    return Measurement(samples=int(record["samples"]), dtypes=_text(record["dtypes"]), seed=int(record["seed"]))


def _short(name: str) -> str:
    return name.removeprefix(NAMESPACE)


def _full(name: str) -> str:
    return name if "::" in name else NAMESPACE + name


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _texts(value: Sequence[object]) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{value!r} is no list of texts")
    return tuple(map(_text, value))
