"""Find an operator, overload or module of a snapshot by what a person calls it."""

from __future__ import annotations

import difflib

from conformance.errors import UsageError
from conformance.model.operator import ModuleInventory
from conformance.model.overload import NAMESPACE, OperatorRecord, Overload, Snapshot

_NEAR = 5


def find(snapshot: Snapshot, name: str) -> OperatorRecord | Overload | ModuleInventory:
    """Return the entry of that name; an operator comes before an overload, which ``aten::`` says without doubt.

    An overload may stand without its namespace, an operator may be called by an alias that no other has. Raises
    ``UsageError`` (``unknown-name``) with the nearest names.
    """
    operators = {operator.name: operator for operator in snapshot.operators}
    overloads = {overload.name: overload for overload in snapshot.overloads}
    modules = {module.name: module for module in snapshot.modules}
    found = operators.get(name) or modules.get(name)
    if found is not None:
        return found
    aliased = [operator for operator in snapshot.operators if name in operator.aliases]
    if len(aliased) == 1:
        return aliased[0]
    overload = overloads.get(name) or overloads.get(NAMESPACE + name)
    if overload is not None:
        return overload
    near = [operator.name for operator in aliased] or _near(name.strip(), [*operators, *modules], [*overloads])
    hint = f"near: {', '.join(near[:_NEAR])}" if near else "`conformance opdb show` has the groups of what there is"
    more = f" and {len(near) - _NEAR} more" if len(near) > _NEAR else ""
    raise UsageError(
        "unknown-name", f"torch {snapshot.torch} has no operator, overload or module '{name}'; {hint}{more}"
    )


def _near(name: str, subjects: list[str], overloads: list[str]) -> list[str]:
    """Return the names that may be meant: variants of it, other spellings, those that look alike; the best first."""
    plain = name.removeprefix("torch.").removeprefix(NAMESPACE)
    if not plain:
        return []
    inside = [overload for overload in overloads if overload.startswith(f"{NAMESPACE}{plain}.")]
    variants = [subject for subject in subjects if subject.startswith(f"{plain}.")]
    exact = [subject for subject in subjects if _folded(subject) == _folded(plain)]
    exact += [overload for overload in overloads if _folded(overload.removeprefix(NAMESPACE)) == _folded(plain)]
    alike = difflib.get_close_matches(plain, subjects, n=3, cutoff=0.75)
    ends = [subject for subject in subjects if subject.endswith((f".{plain}", f"_{plain}"))][:3]
    if name.startswith(NAMESPACE):
        alike = difflib.get_close_matches(name, overloads, n=3, cutoff=0.75)
        return list(dict.fromkeys([*inside, *exact, *alike, *variants]))
    return list(dict.fromkeys([*exact, *variants, *alike, *inside, *ends]))


def _folded(name: str) -> str:
    return name.replace(".", "_").lower()
