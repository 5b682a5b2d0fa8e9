"""Tell how an operator or module came to its status: only the runs in which something changed."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.publish.changes import CHANGES, subject_of
from conformance.publish.findings import MODULE, OPERATOR
from conformance.publish.marks import status_mark
from conformance.publish.matrix import subject_statuses
from conformance.publish.pages_subjects import HistoryRow
from conformance.publish.trend import run_name
from conformance.publish.wording import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.analysis.compare import Change
    from conformance.publish.context import Site
    from conformance.publish.findings import Findings, Subject


@dataclass(slots=True)
class SubjectHistory:
    """One subject over the runs of the series: its status in each that tested it, and its tests that changed."""

    statuses: dict[int, str] = field(default_factory=dict)
    changes: dict[int, Counter[Change]] = field(default_factory=dict)


def subject_histories(findings: Findings) -> Mapping[tuple[str, str], SubjectHistory]:
    """Return the history of every operator and module that some run of the series tested."""
    found: defaultdict[tuple[str, str], SubjectHistory] = defaultdict(SubjectHistory)
    history = findings.history
    for run in history.series:
        for name, status in history.statuses[run.id].items():
            found[OPERATOR, name].statuses[run.id] = status
        for name, module_status in subject_statuses(history.matrix, run.id, MODULE).items():
            found[MODULE, name].statuses[run.id] = str(module_status)
    for step in history.steps:
        for each in step.changes:
            named = subject_of(history.matrix.tests[each.place])
            if named is not None:
                found[named].changes.setdefault(step.after, Counter())[each.change] += 1
    return found


def history_rows(site: Site, subject: Subject, history: SubjectHistory) -> tuple[HistoryRow, ...]:
    """Return the runs in which the status or tests changed, the newest first; nothing without a run before."""
    series = site.findings.history.series
    rows = []
    for before, run in itertools.pairwise(series):
        was, became = history.statuses.get(before.id, "untested"), history.statuses.get(run.id, "untested")
        changed = history.changes.get(run.id, Counter())
        if was == became and not changed:
            continue
        text = ", ".join(f"{number(changed[change])} {change.words}" for change in CHANGES if changed[change])
        rows.append(
            HistoryRow(
                run=run_name(run),
                before=status_mark(was, subject.noun) if was != became else None,
                after=status_mark(became, subject.noun) if was != became else None,
                text=f"tests: {text}" if text else "",
            )
        )
    return tuple(reversed(rows))


def since(site: Site, history: SubjectHistory) -> str:
    """Say since which run the status is what it is; empty where only one run is known."""
    series = site.findings.history.series
    if len(series) < 2 or series[-1].id != site.run.id:
        return ""
    now = history.statuses.get(series[-1].id, "untested")
    first = series[-1]
    for run in reversed(series):
        if history.statuses.get(run.id, "untested") != now:
            break
        first = run
    if first is series[0]:
        return f"So in all {len(series)} runs since {run_name(first)}."
    return f"So since run {run_name(first)}." if first is not series[-1] else "New in this run."
