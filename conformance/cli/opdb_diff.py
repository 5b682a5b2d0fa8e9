"""Say how two snapshots differ, as text, Markdown or JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from conformance.analysis.opdb_diff import Change, FieldChange, KindDiff, SnapshotDiff
from conformance.model.overload import NAMESPACE, Snapshot
from conformance.report.layout import WIDTH, printable, table, wrap
from conformance.report.markdown import code
from conformance.report.rows import shown
from conformance.report.words import number

SCHEMA = 1
KINDS = ("operators", "overloads", "modules")
INCOMPARABLE = (
    "the two were not measured in the same way: the overloads that operators reach may differ for that reason alone"
)


def render(diff: SnapshotDiff, form: str, *, top: int | None) -> str:
    """Return the difference as ``text``, ``json`` or ``md``; ``top`` limits the lists of ``text`` and ``md``."""
    match form:
        case "json":
            return json.dumps(document(diff), indent=2, sort_keys=True) + "\n"
        case "md":
            return "\n".join(_markdown(diff, top)) + "\n"
        case _:
            return "\n".join(_text(diff, top)) + "\n"


def document(diff: SnapshotDiff) -> dict[str, Any]:
    """Return the whole difference for scripts; docs/op_db.md describes the keys."""
    return {
        "schema": SCHEMA,
        "before": {"torch": diff.before.torch, "build": diff.before.build},
        "after": {"torch": diff.after.torch, "build": diff.after.build},
        "comparable": diff.comparable,
        "sizes": {name: {"before": before, "after": after} for name, (before, after) in diff.sizes.items()},
        **{kind: _kind(getattr(diff, kind)) for kind in KINDS},
    }


def _kind(diff: KindDiff) -> dict[str, Any]:
    return {
        "added": diff.added,
        "removed": diff.removed,
        "changed": [
            {
                "name": change.name,
                "fields": [
                    {"field": field.field, "removed": field.removed, "added": field.added} for field in change.fields
                ],
            }
            for change in diff.changed
        ],
    }


def _title(diff: SnapshotDiff) -> str:
    return f"torch {_name(diff.before, diff.after)} -> {_name(diff.after, diff.before)}"


def _name(snapshot: Snapshot, other: Snapshot) -> str:
    """Return the version, or the build where the versions do not tell the two apart."""
    return snapshot.build if snapshot.torch == other.torch else snapshot.torch


def _size_rows(diff: SnapshotDiff) -> list[tuple[str, ...]]:
    return [
        (name, number(before), number(after), f"{after - before:+,}" if after != before else "")
        for name, (before, after) in diff.sizes.items()
    ]


def _summary(kind: str, diff: KindDiff) -> str:
    counts = (
        f"{number(len(diff.added))} added, {number(len(diff.removed))} removed, {number(len(diff.changed))} changed"
    )
    fields = Counter(field.field for change in diff.changed for field in change.fields)
    where = ", ".join(f"{field} {number(count)}" for field, count in fields.most_common())
    return f"{kind.capitalize()}: {counts}" + (f" ({where})" if where else "")


def _ordered(changes: Sequence[Change]) -> list[Change]:
    """Return the changes, those of nothing but tags last: a new tag can be on a thousand overloads."""
    return sorted(changes, key=lambda change: {field.field for field in change.fields} == {"tags"})


def _text(diff: SnapshotDiff, top: int | None) -> Iterator[str]:
    yield _title(diff)
    if not diff.comparable:
        yield from ("", *wrap(f"Note: {INCOMPARABLE}.", WIDTH))
    yield ""
    yield from table(("", _name(diff.before, diff.after), _name(diff.after, diff.before), "change"), _size_rows(diff))
    for kind in KINDS:
        part: KindDiff = getattr(diff, kind)
        yield from ("", *wrap(_summary(kind, part), WIDTH))
        yield from _text_names("+", part.added, top)
        yield from _text_names("-", part.removed, top)
        changes = _ordered(part.changed)
        for change in shown(changes, top):
            yield f"  ~ {printable(change.name)}"
            for field in change.fields:
                yield from _text_field(field)
        yield from _more(len(changes) - len(shown(changes, top)), "changed")


def _text_names(sign: str, names: Sequence[str], top: int | None) -> Iterator[str]:
    yield from (f"  {sign} {printable(name)}" for name in shown(names, top))
    yield from _more(len(names) - len(shown(names, top)), "added" if sign == "+" else "removed")


def _more(hidden: int, word: str) -> Iterator[str]:
    if hidden:
        yield f"  ... and {number(hidden)} more {word}; --top 0 shows all"


def _text_field(change: FieldChange) -> Iterator[str]:
    if change.field == "schema":
        sides = [("-", text) for text in change.removed] + [("+", text) for text in change.added]
        for sign, text in sides:
            first, *rest = wrap(printable(text), WIDTH - 10)
            yield f"      {sign} {first}"
            yield from (f"          {line}" for line in rest)
        return
    lines = wrap(f"{change.field}: {_signed(change)}", WIDTH - 8)
    yield f"      {lines[0]}"
    yield from (f"        {line}" for line in lines[1:])


def _signed(change: FieldChange) -> str:
    values = [f"-{value}" for value in change.removed] + [f"+{value}" for value in change.added]
    return printable(", ".join(value.replace(NAMESPACE, "", 1) for value in values))


def _markdown(diff: SnapshotDiff, top: int | None) -> Iterator[str]:
    yield f"### {_title(diff)}"
    if not diff.comparable:
        yield from ("", f"> {INCOMPARABLE}")
    yield from ("", f"| | {_name(diff.before, diff.after)} | {_name(diff.after, diff.before)} | change |")
    yield "| --- | ---: | ---: | ---: |"
    yield from ("| " + " | ".join(row) + " |" for row in _size_rows(diff))
    for kind in KINDS:
        part: KindDiff = getattr(diff, kind)
        yield from ("", f"#### {_summary(kind, part)}", "")
        for word, names in (("added", part.added), ("removed", part.removed)):
            yield from (f"- {word} {code(name)}" for name in shown(names, top))
            yield from _markdown_more(len(names) - len(shown(names, top)), word)
        changes = _ordered(part.changed)
        for change in shown(changes, top):
            yield f"- changed {code(change.name)}"
            for field in change.fields:
                yield f"  - {field.field}: {_markdown_values(field)}"
        yield from _markdown_more(len(changes) - len(shown(changes, top)), "changed")


def _markdown_values(change: FieldChange) -> str:
    parts = []
    for word, values in (("lost", change.removed), ("gained", change.added)):
        if values:
            parts.append(f"{word} " + ", ".join(map(code, values)))
    return "; ".join(parts)


def _markdown_more(hidden: int, word: str) -> Iterator[str]:
    if hidden:
        yield f"- ... and {number(hidden)} more {word}"
