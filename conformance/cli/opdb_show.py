"""Say what a snapshot knows of one operator, overload or module, or how much there is of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.analysis.opdb_diff import sizes_of
from conformance.analysis.opdb_find import find
from conformance.model.operator import ModuleInventory
from conformance.model.overload import Dispatch, OperatorRecord, Overload, Phase, Snapshot
from conformance.report.layout import WIDTH, printable, table, wrap
from conformance.report.markdown import code
from conformance.report.words import counted, number, share

SCHEMA = 1
_LABEL = 18
_NONE = "none"


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first column holds names, the others are short."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """What is to be said about one thing: facts, each with its label, and tables; ``data`` is the same for scripts."""

    head: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    data: Mapping[str, Any]


def render(page: Page, form: str) -> str:
    """Return the page as ``text``, ``json`` or ``md``."""
    match form:
        case "json":
            return json.dumps({"schema": SCHEMA, **page.data}, indent=2, sort_keys=True) + "\n"
        case "md":
            return "\n".join(_markdown(page)) + "\n"
        case _:
            return "\n".join(_text(page)) + "\n"


def _text(page: Page) -> Iterator[str]:
    yield printable(page.head)
    yield ""
    for label, value in page.facts:
        first, *rest = wrap(printable(value), WIDTH - _LABEL - 2) or [_NONE]
        yield f"  {label:<{_LABEL}}{first}"
        yield from (" " * (_LABEL + 2) + line for line in rest)
    for part in page.tables:
        yield from ("", part.title, *table(part.headings, part.rows))


def _markdown(page: Page) -> Iterator[str]:
    yield from (f"### {page.head}", "")
    yield from (f"- {label}: {code(value) or _NONE}" for label, value in page.facts)
    for part in page.tables:
        yield from ("", f"**{part.title}**", "")
        yield "| " + " | ".join(" ".join(heading.split()) for heading in part.headings) + " |"
        yield "| --- |" + " ---: |" * (len(part.headings) - 1)
        yield from ("| " + " | ".join([code(row[0]), *row[1:]]) + " |" for row in part.rows)


def overview(snapshot: Snapshot) -> Page:
    """Return how much there is: the denominators, operators by group, overloads by dispatch, what was not measured."""
    exercised = snapshot.exercised()
    sizes = sizes_of(snapshot)
    groups = sorted(
        Counter(operator.group for operator in snapshot.operators).items(), key=lambda item: (-item[1], item[0])
    )
    ways = {str(way): [overload for overload in snapshot.overloads if overload.dispatch is way] for way in Dispatch}
    silent = [operator for operator in snapshot.operators if not operator.overloads]
    unmeasured = [operator.name for operator in silent if operator.unmeasured]
    without = [operator.name for operator in silent if not operator.unmeasured]
    partly = [operator.name for operator in snapshot.operators if operator.overloads and operator.unmeasured]
    measurement = snapshot.measurement
    return Page(
        head=f"torch {snapshot.torch}, taken from {snapshot.build}",
        facts=(
            ("operators", number(sizes["operators"])),
            ("overloads", f"{number(sizes['overloads'])}, of which {number(sizes['core overloads'])} are Core ATen"),
            ("modules", number(sizes["modules"])),
            ("measured", f"at most {measurement.samples} samples of each of these dtypes: {measurement.dtypes}"),
            ("reach none", _counted_list(without)),
            ("not measured", _counted_list(unmeasured)),
            ("partly measured", _counted_list(partly)),
        ),
        tables=(
            Table("Operators by group", ("group", "operators"), tuple((name, number(count)) for name, count in groups)),
            Table(
                "Overloads by what answers on plain CPU tensors, and how many of them an operator reaches",
                ("dispatch", "overloads", "reached", "share", "core", "core\nreached"),
                tuple(
                    _way(name, overloads, exercised)
                    for name, overloads in {**ways, "all": list(snapshot.overloads)}.items()
                ),
            ),
        ),
        data={
            "kind": "snapshot",
            "torch": snapshot.torch,
            "build": snapshot.build,
            "sizes": sizes,
            "groups": dict(groups),
            "dispatch": {name: len(overloads) for name, overloads in ways.items()},
            "reach_none": without,
            "not_measured": unmeasured,
            "partly_measured": partly,
        },
    )


def _way(name: str, overloads: Sequence[Overload], exercised: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    reached = [overload for overload in overloads if exercised[overload.name]]
    return (
        name,
        number(len(overloads)),
        number(len(reached)),
        share(len(reached), len(overloads)),
        number(sum(overload.is_core for overload in overloads)),
        number(sum(overload.is_core for overload in reached)),
    )


def entry(snapshot: Snapshot, name: str) -> Page:
    """Return what is known of the operator, overload or module of that name.

    Raises ``UsageError`` (``unknown-name``) where there is none.
    """
    match find(snapshot, name):
        case OperatorRecord() as operator:
            return _operator(snapshot, operator)
        case Overload() as overload:
            return _overload(snapshot, overload)
        case ModuleInventory() as module:
            return Page(
                head=f"{module.name}, a module of torch {snapshot.torch}",
                facts=(("dtypes", _list(module.dtypes)),),
                tables=(),
                data={"kind": "module", "torch": snapshot.torch, "name": module.name, "dtypes": module.dtypes},
            )


def _operator(snapshot: Snapshot, operator: OperatorRecord) -> Page:
    overloads = {overload.name: overload for overload in snapshot.overloads}
    more = "" if operator.complete else f", at most {snapshot.measurement.samples}: there are more"
    return Page(
        head=f"{operator.name}, an operator of torch {snapshot.torch}",
        facts=(
            ("group", operator.group),
            ("ATen name", operator.aten_name),
            ("aliases", _list(operator.aliases)),
            ("dtypes", _list(operator.dtypes)),
            ("backward dtypes", _list(operator.backward_dtypes)),
            *_elsewhere(operator),
            ("other forms", _list(operator.forms)),
            ("supports", _list(operator.supports)),
            ("samples run", _list(f"{count} {dtype}" for dtype, count in operator.samples.items()) + more),
            *(
                ("not measured", f"{item.dtype} {item.phase}, {counted(item.samples, 'sample')}: {item.reason}".strip())
                for item in operator.unmeasured
            ),
        ),
        tables=(
            Table(
                "Overloads that its samples reach on the CPU",
                ("overload", "dispatch", "core", *map(str, Phase)),
                tuple(
                    (
                        name,
                        str(overloads[name].dispatch) if name in overloads else "not ATen",
                        "core" if name in overloads and overloads[name].is_core else "",
                        *("x" if name in operator.reached[phase] else "" for phase in Phase),
                    )
                    for name in operator.overloads
                ),
            ),
        )
        if operator.overloads
        else (),
        data={
            "kind": "operator",
            "torch": snapshot.torch,
            "name": operator.name,
            "variant": operator.variant,
            "aten_name": operator.aten_name,
            "aliases": operator.aliases,
            "group": operator.group,
            "dtypes": operator.dtypes,
            "backward_dtypes": operator.backward_dtypes,
            "privateuse1_dtypes": operator.privateuse1_dtypes,
            "privateuse1_backward_dtypes": operator.privateuse1_backward_dtypes,
            "forms": operator.forms,
            "supports": operator.supports,
            "samples": dict(operator.samples),
            "complete": operator.complete,
            "reached": {str(phase): operator.reached[phase] for phase in Phase},
            "unmeasured": [
                {"dtype": item.dtype, "phase": item.phase, "samples": item.samples, "reason": item.reason}
                for item in operator.unmeasured
            ],
        },
    )


def _elsewhere(operator: OperatorRecord) -> Iterator[tuple[str, str]]:
    here = (operator.dtypes, operator.backward_dtypes)
    there = (operator.privateuse1_dtypes, operator.privateuse1_backward_dtypes)
    if here == there:
        yield "on PrivateUse1", "the same dtypes as on the CPU"
    else:
        yield "on PrivateUse1", f"{_list(there[0])}; backward: {_list(there[1])}"


def _overload(snapshot: Snapshot, overload: Overload) -> Page:
    by_phase = {
        phase: tuple(operator.name for operator in snapshot.operators if overload.name in operator.reached[phase])
        for phase in Phase
    }
    every = snapshot.exercised()[overload.name]
    return Page(
        head=f"{overload.name}, an overload of torch {snapshot.torch}",
        facts=(
            ("schema", overload.schema),
            ("Core ATen", "yes" if overload.is_core else "no"),
            ("tags", _list(overload.tags)),
            ("dispatch", f"{overload.dispatch}: {overload.dispatch.definition}"),
            ("kernels", _list(overload.kernels)),
            (
                "reached by",
                counted(len(every), "operator") if every else "no operator, as far as it was measured",
            ),
            *((f"in {phase}", _list(names)) for phase, names in by_phase.items() if names),
        ),
        tables=(),
        data={
            "kind": "overload",
            "torch": snapshot.torch,
            "name": overload.name,
            "schema_text": overload.schema,
            "core": overload.is_core,
            "tags": overload.tags,
            "dispatch": str(overload.dispatch),
            "kernels": overload.kernels,
            "operators": every,
            "operators_by_phase": {str(phase): names for phase, names in by_phase.items()},
        },
    )


def _counted_list(names: Sequence[str]) -> str:
    return f"{counted(len(names), 'operator')}: {', '.join(names)}" if names else _NONE


def _list(values: Iterable[str]) -> str:
    return ", ".join(values) or _NONE
