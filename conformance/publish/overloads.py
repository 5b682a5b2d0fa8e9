"""Build the table of all ATen overloads: what is registered for each beside what tests saw of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from conformance.model.registration import RegistrationKind
from conformance.publish.architectures import PAGE
from conformance.publish.charts import Tally, stacked_bar
from conformance.publish.findings import MODULE, OPERATOR
from conformance.publish.marks import NOT_RECORDED, REGISTRATION_MARKS, Mark, registration_mark
from conformance.publish.models import no_data
from conformance.publish.pages import Link
from conformance.publish.pages_subjects import CoreLine, OverloadRow, OverloadsPage, OverloadTable
from conformance.publish.registered import MEASURED_MARKS, UNWATCHED
from conformance.publish.slugs import named_anchor
from conformance.publish.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.publish.context import Site
    from conformance.publish.registered import Measured

_OPERATORS_SHOWN = 3


def overloads_page(site: Site, measured: Sequence[Measured]) -> OverloadsPage:
    """Return the table of all overloads, those that ran on the CPU in most tests first, then by name."""
    rows = sorted(measured, key=lambda each: (-each.tests, each.overload))
    return OverloadsPage(
        lead=_lead(site, measured),
        unknown=_unknown(site),
        tables=_tables(measured, registered=bool(site.findings.registered)),
        registered=bool(site.findings.registered),
        despite_kernel=sum(each.registered == RegistrationKind.KERNEL.value and each.tests > 0 for each in measured),
        architectures=site.findings.models is not None,
        measured=_tallies([each.measured for each in measured]),
        rows=tuple(_row(site, each) for each in rows),
    )


def _lead(site: Site, measured: Sequence[Measured]) -> str:
    core = sum(each.core is True for each in measured)
    some = f", {core:,} of them in Core ATen" if core else ""
    return (
        f"{counted(len(measured), 'ATen overload')} of torch {site.run.torch_version}{some}: what the backend has "
        "registered for each, and whether tests saw it run on the CPU."
    )


def _unknown(site: Site) -> tuple[str, ...]:
    found = []
    if not site.findings.registered:
        found.append("What the backend registered was not recorded in this run.")
    if site.findings.snapshot is None:
        found.append(
            f"No snapshot of torch {site.run.torch_version} comes with this harness: only overloads that were "
            "registered or seen are listed, and which operators reach them is not known."
        )
    if site.findings.models is None:
        found.append(no_data(site))
    return tuple(found)


def _tallies(marks: Sequence[Mark]) -> tuple[Tally, ...]:
    order = (*REGISTRATION_MARKS.values(), NOT_RECORDED, *MEASURED_MARKS, UNWATCHED)
    counts = Counter(mark.code for mark in marks)
    unknown = {mark.code: mark for mark in marks if mark.code not in {known.code for known in order}}
    return tuple(Tally(mark, counts[mark.code]) for mark in (*order, *unknown.values()) if counts[mark.code])


def _tables(measured: Sequence[Measured], *, registered: bool) -> tuple[OverloadTable, ...]:
    tables = []
    if registered:
        tables.append(_table("By what is registered.", measured, lambda each: registration_mark(each.registered)))
    tables.append(_table("By what tests saw.", measured, lambda each: each.measured))
    return tuple(table for table in tables if table.rows)


def _table(caption: str, measured: Sequence[Measured], mark_of: Callable[[Measured], Mark]) -> OverloadTable:
    marks = tuple(tally.mark for tally in _tallies([mark_of(each) for each in measured]))
    parts = [("all overloads", list(measured)), ("Core ATen", [each for each in measured if each.core])]
    rows = []
    for name, part in parts:
        if part:
            counts = Counter(mark_of(each).code for each in part)
            bar = stacked_bar([Tally(mark, counts[mark.code]) for mark in marks])
            rows.append(CoreLine(name, len(part), bar, tuple(counts[mark.code] for mark in marks)))
    return OverloadTable(caption, marks, tuple(rows))


def _row(site: Site, each: Measured) -> OverloadRow:
    links = site.findings.links
    operators = tuple(
        Link(name, links.get((OPERATOR, name)) or links.get((MODULE, name), "")) for name in each.operators
    )
    return OverloadRow(
        anchor=named_anchor("o", each.overload),
        name=each.overload,
        core=each.core,
        registered=registration_mark(each.registered),
        measured=each.measured,
        tests=each.tests,
        operators=operators[:_OPERATORS_SHOWN],
        rest=operators[_OPERATORS_SHOWN:],
        blocks=len(each.callers.blocked) if each.callers else 0,
        others=len(each.callers.others) if each.callers else 0,
        architectures=f"{PAGE}#q=calls:{each.callers.names[0]}" if each.callers else "",
    )
