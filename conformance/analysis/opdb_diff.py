"""Compare two snapshots: what a newer torch adds, removes and changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from conformance.model.overload import OperatorRecord, Overload, Phase, Snapshot, Unmeasured

Fields: TypeAlias = Mapping[str, tuple[str, ...]]
_ELSEWHERE = "privateuse1_"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """What a field lost and gained; a field with one value has lost the old and gained the new one."""

    field: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """An entry that is in both snapshots, with the fields that differ."""

    name: str
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class KindDiff:
    """The difference of all entries of one kind: names are sorted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class SnapshotDiff:
    """The difference of two snapshots, from ``before`` to ``after``.

    ``sizes`` has for each denominator (``operators``, ``overloads``, ``core overloads``, ..., ``modules``) its size in
    both. ``comparable`` is False where the two were not measured in the same way, so that a difference in the overloads
    that operators reach may be one of the measurement.
    """

    before: Snapshot
    after: Snapshot
    sizes: Mapping[str, tuple[int, int]]
    comparable: bool
    operators: KindDiff
    overloads: KindDiff
    modules: KindDiff


def sizes_of(snapshot: Snapshot) -> dict[str, int]:
    """Return the size of each denominator, and of what operators reach of it."""
    exercised = {name for name, operators in snapshot.exercised().items() if operators}
    return {
        "operators": len(snapshot.operators),
        "overloads": len(snapshot.overloads),
        "overloads reached by operators": len(exercised),
        "core overloads": len(snapshot.core),
        "core overloads reached by operators": sum(overload.name in exercised for overload in snapshot.core),
        "modules": len(snapshot.modules),
    }


def compare(before: Snapshot, after: Snapshot) -> SnapshotDiff:
    """Return what changed from one snapshot to the other; how many samples were run is not compared."""
    old, new = sizes_of(before), sizes_of(after)
    return SnapshotDiff(
        before=before,
        after=after,
        sizes={name: (old[name], new[name]) for name in old},
        comparable=before.measurement == after.measurement,
        operators=_compare(_operators(before.operators), _operators(after.operators)),
        overloads=_compare(_overloads(before.overloads), _overloads(after.overloads)),
        modules=_compare(
            {module.name: {"dtypes": module.dtypes} for module in before.modules},
            {module.name: {"dtypes": module.dtypes} for module in after.modules},
        ),
    )


def _compare(before: Mapping[str, Fields], after: Mapping[str, Fields]) -> KindDiff:
    changed = []
    for name in sorted(before.keys() & after.keys()):
        fields = tuple(_field_changes(before[name], after[name]))
        if fields:
            changed.append(Change(name, fields))
    return KindDiff(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(changed),
    )


def _field_changes(before: Fields, after: Fields) -> list[FieldChange]:
    changes: list[FieldChange] = []
    for field in dict.fromkeys([*before, *after]):
        old, new = before.get(field, ()), after.get(field, ())
        change = FieldChange(
            field,
            removed=tuple(value for value in old if value not in new),
            added=tuple(value for value in new if value not in old),
        )
        # What a backend from outside is declared follows the CPU nearly everywhere: said once, it is said.
        said = FieldChange(field.removeprefix(_ELSEWHERE), change.removed, change.added)
        if (change.removed or change.added) and said not in changes:
            changes.append(change)
    return changes


def _operators(operators: Iterable[OperatorRecord]) -> dict[str, Fields]:
    return {operator.name: _operator_fields(operator) for operator in operators}


def _operator_fields(operator: OperatorRecord) -> Fields:
    return {
        "aten_name": (operator.aten_name,),
        "aliases": operator.aliases,
        "group": (operator.group,),
        "dtypes": operator.dtypes,
        "backward_dtypes": operator.backward_dtypes,
        f"{_ELSEWHERE}dtypes": operator.privateuse1_dtypes,
        f"{_ELSEWHERE}backward_dtypes": operator.privateuse1_backward_dtypes,
        "forms": operator.forms,
        "supports": operator.supports,
        **{phase.value: operator.reached.get(phase, ()) for phase in Phase},
        "unmeasured": tuple(_unmeasured(item) for item in operator.unmeasured),
    }


def _unmeasured(item: Unmeasured) -> str:
    return f"{item.dtype} {item.phase}: {item.reason}".strip()


def _overloads(overloads: Iterable[Overload]) -> dict[str, Fields]:
    return {
        overload.name: {
            "schema": (overload.schema,),
            "tags": overload.tags,
            "kernels": overload.kernels,
            "dispatch": (overload.dispatch.value,),
        }
        for overload in overloads
    }
