"""Write the tables of the site as CSV, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from conformance.publish.changes import subject_of
from conformance.publish.compiled import COUNTS, MEASURED, compiled_values
from conformance.publish.listed import entry_state
from conformance.publish.matrix import ABSENT, on_cpu, outcome_of
from conformance.publish.pages import TextFile
from conformance.publish.redaction import without_local_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.publish.context import Site
    from conformance.publish.findings import Subject
    from conformance.publish.registered import Measured

ABOUT: Mapping[str, str] = {
    "csv/operators.csv": "one row an operator and dtype; the row without a dtype is over all",
    "csv/modules.csv": "one row a module and dtype",
    "csv/compiled.csv": "one row an operator or module and a mode of torch.compile",
    "csv/overloads.csv": "one row an ATen overload",
    "csv/tests.csv": "one row a planned test",
    "csv/failures.csv": "one row a signature",
    "csv/skiplist.csv": "one row an entry of the skiplist",
    "csv/runs.csv": "one row a run",
}

_STANDING = ("status", "planned", "passed", "failed", "skipped", "xfailed", "crashed", "not_run", "flaky", "fallback")

# Spreadsheets take a text that starts so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def table_files(site: Site, measured: Sequence[Measured]) -> Iterator[TextFile]:
    """Yield every CSV file; each row says whether it is of an emulated device."""
    yield _table(
        site, "operators", ("operator", "group", "dtype", "declared", *_STANDING, "fallback_ops"), _operators(site)
    )
    yield _table(site, "modules", ("module", "dtype", "declared", *_STANDING, "fallback_ops"), _modules(site))
    yield _table(
        site, "compiled", ("noun", "name", "mode", *COUNTS, *MEASURED, "first_failure", "compiled_run"), _compiled(site)
    )
    yield _table(
        site,
        "overloads",
        ("overload", "core", "registered", "measured", "tests_on_cpu", "operators"),
        (
            (
                each.overload,
                "" if each.core is None else each.core,
                each.registered,
                each.measured.code,
                each.tests,
                " ".join(each.operators),
            )
            for each in measured
        ),
    )
    yield _table(
        site,
        "tests",
        ("test_id", "suite", "template", "operator", "module", "dtype", "outcome", "fell_back", "duration_s", "listed"),
        _tests(site),
    )
    yield _table(
        site,
        "failures",
        ("signature", "outcome", "tests", "operators", "modules", "first"),
        (
            (
                group.signature,
                str(group.outcome),
                group.tests,
                " ".join(group.operators),
                " ".join(group.modules),
                group.example,
            )
            for group in site.groups
        ),
    )
    yield _table(site, "skiplist", _ENTRY, _entries(site))
    yield _table(
        site,
        "runs",
        ("id", "key", "device_name", "torch_version", "started_at", "state", "planned", "passed"),
        (
            (
                run.id,
                run.key,
                run.device_name,
                run.torch_version,
                run.started_at or "",
                str(run.state),
                run.planned,
                sum(count for outcome, count in run.counts.items() if str(outcome) in ("passed", "xpassed")),
            )
            for run in site.findings.runs
        ),
        own=False,
    )


def _table(
    site: Site, name: str, head: tuple[str, ...], rows: Iterable[tuple[object, ...]], *, own: bool = True
) -> TextFile:
    """Write one table; ``own`` rows are of the run shown, others say by themselves what they are of."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if own:
        device = f"{site.run.device}{' EMULATED' if site.run.emulated else ''}"
        writer.writerow((*head, "device"))
        writer.writerows((*map(_cell, row), device) for row in rows)
    else:
        devices = [f"{run.device}{' EMULATED' if run.emulated else ''}" for run in site.findings.runs]
        writer.writerow((*head, "device"))
        writer.writerows((*map(_cell, row), device) for row, device in zip(rows, devices, strict=True))
    return TextFile(f"csv/{name}.csv", text.getvalue())


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.startswith(_FORMULA) else value


def _operators(site: Site) -> Iterator[tuple[object, ...]]:
    for operator in site.findings.operators:
        for dtype, declared, *standing in _standings(operator):
            yield (operator.name, operator.group, dtype, declared, *standing)


def _modules(site: Site) -> Iterator[tuple[object, ...]]:
    for module in site.findings.modules:
        for row in _standings(module):
            yield (module.name, *row)


def _compiled(site: Site) -> Iterator[tuple[object, ...]]:
    for noun, finding in site.findings.compiled.items():
        for name, by_mode in sorted(finding.rows.items()):
            for mode, row in by_mode.items():
                failure = finding.failures.get((name, mode))
                values = ("" if value is None else value for value in compiled_values(row))
                yield (noun, name, str(mode), *values, failure.test_id if failure else "", finding.run.key)


def _standings(subject: Subject) -> Iterator[tuple[object, ...]]:
    parts = [("", subject.overall), *sorted(subject.by_dtype.items())]
    for dtype, standing in parts:
        counts = tuple(getattr(standing, name) for name in _STANDING)
        yield (dtype, dtype in subject.dtypes if dtype else "", *counts, " ".join(standing.overloads))


def _tests(site: Site) -> Iterator[tuple[object, ...]]:
    findings = site.findings
    matrix = findings.history.matrix
    row = matrix.rows[site.run.id]
    for place, test in enumerate(matrix.tests):
        byte = row.codes[place]
        if byte == ABSENT:
            continue
        noun, name = subject_of(test) or ("", "")
        yield (
            test.test_id,
            test.suite,
            test.template,
            name if noun == "operator" else "",
            name if noun == "module" else "",
            test.dtype or "",
            outcome_of(byte),
            on_cpu(byte) if findings.fallback_observed else "",
            findings.durations_us[place] / 1e6,
            place in row.entries,
        )


_ENTRY = (
    "entry",
    "expect",
    "category",
    "reason",
    "owner",
    "added",
    "expires",
    "guess",
    "tests",
    "holding",
    "improved",
    "passing",
    "unseen",
    "state",
)


def _entries(site: Site) -> Iterator[tuple[object, ...]]:
    for each in site.findings.entries:
        entry, counts = each.entry, each.counts
        yield (
            entry.entry_id,
            entry.expect,
            entry.category,
            without_local_paths(entry.reason),
            entry.owner,
            entry.added,
            entry.expires,
            entry.guess,
            counts.tests,
            counts.holding,
            counts.improved,
            counts.passing,
            counts.unseen,
            entry_state(counts),
        )
