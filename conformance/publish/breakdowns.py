"""Build the tables that split operators or tests by a key, each row with its bar."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from conformance.model.outcome import Outcome
from conformance.publish.charts import Tally, stacked_bar
from conformance.publish.dtypes import in_dtype_order
from conformance.publish.marks import OUTCOME_SUMMARY_ORDER, STATUS_ORDER, Mark, in_order, outcome_mark, status_mark
from conformance.publish.pages import Breakdown, BreakdownTable
from conformance.publish.wording import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.publish.findings import FileFinding, Subject
    from conformance.store import CountRow

_BAD = frozenset(outcome.value for outcome in Outcome if outcome.is_bad)


def present(*tables: BreakdownTable) -> tuple[BreakdownTable, ...]:
    """Leave out the tables without a row."""
    return tuple(table for table in tables if table.rows)


def by_dtype(operators: Sequence[Subject]) -> BreakdownTable:
    """Return the statuses of the operators in each dtype."""
    split: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for operator in operators:
        for dtype, standing in operator.by_dtype.items():
            split[dtype][standing.status] += 1
    return _by_status(
        "by-dtype",
        title="Operators by dtype",
        caption="Each operator counts once for every dtype that PyTorch declares for it, or that was tested.",
        key_name="dtype",
        split={dtype: split[dtype] for dtype in in_dtype_order(split)},
    )


def by_group(operators: Sequence[Subject]) -> BreakdownTable:
    """Return the statuses of the operators of each group."""
    split: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for operator in operators:
        split[operator.group][operator.overall.status] += 1
    return _by_status(
        "by-group",
        title="Operators by group",
        caption="Each operator of the inventory counts once, over all its dtypes.",
        key_name="group",
        split={group: split[group] for group in sorted(split)},
    )


def _by_status(
    id_: str, *, title: str, caption: str, key_name: str, split: Mapping[str, Counter[str]]
) -> BreakdownTable:
    codes = in_order((code for counts in split.values() for code in counts), STATUS_ORDER)
    marks = tuple(status_mark(code) for code in codes)
    rows = tuple(
        Breakdown(
            key=key or "(none)",
            href=f"operators.html#{urlencode({'q': word(key_name, key)})}" if key else "",
            total=counts.total(),
            counts=tuple(counts[code] for code in codes),
            fallback=None,
            bar=stacked_bar([Tally(mark, counts[mark.code]) for mark in marks]),
        )
        for key, counts in split.items()
    )
    return BreakdownTable(
        id=id_, title=title, caption=caption, key_name=key_name, total_name="operators", marks=marks, rows=rows
    )


def word(field: str, value: str) -> str:
    """Return the word of a search that asks for a value."""
    return f'{field}:"{value}"' if " " in value else f"{field}:{value}"


def by_outcome(id_: str, key_name: str, counted_rows: Sequence[CountRow]) -> BreakdownTable:
    """Return the outcomes of the tests that share a key, the largest share first."""
    split: dict[str, tuple[int, Counter[str], int]] = {}
    for row in counted_rows:
        counts = Counter({str(outcome): count for outcome, count in row.counts.items()})
        split[row.key or ""] = (row.planned, +counts, row.fallback)
    codes = in_order((code for _, counts, _ in split.values() for code in counts), OUTCOME_SUMMARY_ORDER)
    marks: tuple[Mark, ...] = tuple(outcome_mark(code) for code in codes)
    rows = tuple(
        Breakdown(
            key=key or "(none)",
            href="",
            total=planned,
            counts=tuple(counts[code] for code in codes),
            fallback=fallback,
            bar=stacked_bar([Tally(mark, counts[mark.code]) for mark in marks]),
        )
        for key, (planned, counts, fallback) in sorted(split.items(), key=lambda item: (-item[1][0], item[0]))
    )
    return BreakdownTable(
        id=id_,
        title=f"Tests by {key_name}",
        caption="Every planned test counts once, by its last outcome; the largest first.",
        key_name=key_name,
        total_name="planned",
        marks=marks,
        rows=rows,
        fallback_name="tests that fell back",
    )


def by_file(files: Sequence[FileFinding], *, limit: int | None = None) -> BreakdownTable:
    """Return the tests with neither operator nor module by file, the files with most of what is bad first."""
    ordered = sorted(files, key=lambda file: (-_bad(file.counts), file.file))
    codes = in_order((code for file in files for code in file.counts), OUTCOME_SUMMARY_ORDER)
    marks = tuple(outcome_mark(code) for code in codes)
    more = len(files) - (len(files) if limit is None else limit)
    left_out = f" {number(more)} more stand on the page of tests." if more > 0 else ""
    return BreakdownTable(
        id="by-file",
        title="Tests by file",
        caption=f"Every planned test that has no operator or module counts once; most failures first.{left_out}",
        key_name="file",
        total_name="planned",
        marks=marks,
        rows=tuple(
            Breakdown(
                key=file.file,
                href=file.href,
                total=sum(file.counts.values()),
                counts=tuple(file.counts.get(code, 0) for code in codes),
                fallback=None,
                bar=stacked_bar([Tally(mark, file.counts.get(mark.code, 0)) for mark in marks]),
            )
            for file in ordered[:limit]
        ),
    )


def _bad(counts: Mapping[str, int]) -> int:
    return sum(count for code, count in counts.items() if code in _BAD)
