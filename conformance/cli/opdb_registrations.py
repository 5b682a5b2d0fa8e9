"""What a backend has registered for every ATen overload, or how two runs differ in that."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.model.registration import Registration, RegistrationKind
from conformance.report.layout import printable
from conformance.report.words import counted, number

SCHEMA = 1


def render(found: Sequence[Registration], form: str, *, title: str, kinds: Sequence[str]) -> str:
    """Return the overloads with what is registered for them, those of ``kinds`` only where any are given."""
    counts = Counter(each.kind for each in found)
    listed = [each for each in found if not kinds or each.kind.value in kinds]
    if form == "json":
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "title": title,
            "counts": {kind.value: counts[kind] for kind in RegistrationKind},
            "registrations": {each.overload: each.kind.value for each in listed},
        }
        return json.dumps(document, indent=1, sort_keys=True) + "\n"
    lines = [title]
    lines += [f"  {kind.value:<10} {number(counts[kind]):>6}  {kind.definition}" for kind in RegistrationKind]
    lines += [f"{each.kind.value:<10} {printable(each.overload)}" for each in (listed if kinds else ())]
    return "\n".join(lines) + "\n"


def render_difference(
    before: Mapping[str, RegistrationKind], after: Mapping[str, RegistrationKind], form: str, *, title: str
) -> str:
    """Return the overloads that are registered otherwise in two runs."""
    changed = {
        name: (before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) is not after.get(name)
    }
    if form == "json":
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "title": title,
            "changed": {name: [_word(one), _word(other)] for name, (one, other) in changed.items()},
        }
        return json.dumps(document, indent=1, sort_keys=True) + "\n"
    lines = [f"{title}: {counted(len(changed), 'overload')} registered otherwise"]
    lines += [f"  {_word(one):>9} -> {_word(other):<9} {printable(name)}" for name, (one, other) in changed.items()]
    return "\n".join(lines) + "\n"


def _word(kind: RegistrationKind | None) -> str:
    return kind.value if kind is not None else "absent"
