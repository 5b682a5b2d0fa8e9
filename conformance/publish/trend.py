"""Draw how the coverage and the skiplist moved over the runs of one scope."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from conformance.model.operator import OperatorStatus
from conformance.publish.curves import Chart, Table, Values, chart
from conformance.publish.marks import STATUS_ORDER, status_mark
from conformance.publish.wording import counted, instant, number, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.publish.findings import Findings, ListedRun
    from conformance.store import RunRow


def coverage_counts(findings: Findings, run_id: int) -> Counter[str]:
    """Return how many operators of the run's inventory, or tested beyond it, have which status."""
    statuses = findings.history.statuses[run_id]
    names = findings.history.operators[run_id] | statuses.keys()
    return Counter(statuses.get(name, OperatorStatus.UNTESTED.value) for name in names)


def run_name(run: RunRow) -> str:
    """Return the run's number and day, as axes and tables call it."""
    return f"{run.id} ({instant(run.started_at or run.created_at)[:10]})"


def coverage_chart(findings: Findings) -> Chart | None:
    """Return the share of native operators, and of those that work at all, over the runs; None without two of them."""
    runs = findings.history.series
    counts = [coverage_counts(findings, run.id) for run in runs]
    if len(runs) < 2 or not all(counted_.total() for counted_ in counts):
        return None
    native = [_percent(each, OperatorStatus.NATIVE) for each in counts]
    works = [_percent(each, OperatorStatus.NATIVE, OperatorStatus.FALLBACK) for each in counts]
    codes = [code for code in STATUS_ORDER if any(each[code] for each in counts)]
    table = Table(
        caption="Operators by status in each run of this scope, the newest first.",
        head=("Run", "torch", "Native", *(status_mark(code).word for code in codes), "All"),
        rows=tuple(
            (
                run_name(run),
                run.torch_version,
                share(each[OperatorStatus.NATIVE.value], each.total()),
                *(number(each[code]) for code in codes),
                number(each.total()),
            )
            for run, each in reversed(list(zip(runs, counts, strict=True)))
        ),
    )
    return chart(
        "trend",
        title="Coverage over runs",
        summary=_coverage_summary(findings, counts),
        names=[str(run.id) for run in runs],
        series=(
            Values("native or falling back", "fallback", "square", tuple(works), " %"),
            Values("native", "native", "round", tuple(native), " %"),
        ),
        table=table,
    )


def _percent(counts: Counter[str], *statuses: OperatorStatus) -> float:
    return round(100 * sum(counts[status.value] for status in statuses) / counts.total(), 1)


def _coverage_summary(findings: Findings, counts: list[Counter[str]]) -> str:
    runs = findings.history.series
    before, now = counts[-2][OperatorStatus.NATIVE.value], counts[-1][OperatorStatus.NATIVE.value]
    first = counts[0][OperatorStatus.NATIVE.value]
    return (
        f"{number(now)} of {counted(counts[-1].total(), 'operator')} are native in run {runs[-1].id}: "
        f"{_difference(now - before)} than in run {runs[-2].id}"
        + (f", {_difference(now - first)} than in run {runs[0].id}" if len(runs) > 2 else "")
        + "."
    )


def _difference(value: int) -> str:
    if not value:
        return "no more and no fewer"
    return f"{number(abs(value))} {'more' if value > 0 else 'fewer'}"


def burn_down_chart(findings: Findings) -> Chart | None:
    """Return how many tests the skiplist spoke of over the runs, and how many of them pass; None without two runs."""
    points = findings.history.listed
    if len(points) < 2:
        return None
    runs = {run.id: run for run in findings.history.series}
    table = Table(
        caption="Tests that the skiplist speaks of in each run of this scope, the newest first.",
        head=("Run", "Listed tests", "As expected", "Better", "Pass", "Not seen", "Entries"),
        rows=tuple(
            (
                run_name(runs[point.run_id]),
                number(point.counts.tests),
                number(point.counts.holding),
                number(point.counts.improved),
                number(point.counts.passing),
                number(point.counts.unseen),
                number(point.entries),
            )
            for point in reversed(points)
        ),
    )
    return chart(
        "burn-down",
        title="Burn-down of the skiplist",
        summary=burn_down_summary(points),
        names=[str(point.run_id) for point in points],
        series=(
            Values("listed", "failing", "square", tuple(float(point.counts.tests) for point in points)),
            Values("listed, but passing", "native", "round", tuple(float(point.counts.passing) for point in points)),
        ),
        table=table,
        from_zero=True,
    )


def burn_down_summary(points: Sequence[ListedRun]) -> str:
    """Say in one sentence how many tests are listed, and how that changed."""
    last, before, first = points[-1], points[-2] if len(points) > 1 else None, points[0]
    text = f"{counted(last.counts.tests, 'test')} listed in run {last.run_id}"
    if before is not None:
        text += f": {_difference(last.counts.tests - before.counts.tests)} than in run {before.run_id}"
        if len(points) > 2:
            text += f", {_difference(last.counts.tests - first.counts.tests)} than in run {first.run_id}"
    passing = last.counts.passing
    return f"{text}. {number(passing)} of them {'passes' if passing == 1 else 'pass'}."
