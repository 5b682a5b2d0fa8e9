"""Say what torch.compile made of an operator or module: a status for static and one for dynamic shapes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance.analysis.beside import is_whole
from conformance.model.compilation import CompileMode
from conformance.model.operator import OperatorStatus
from conformance.publish.failures import clipped
from conformance.publish.marks import NO_DATA, Mark, status_mark
from conformance.publish.pages_subjects import CompiledCell, CompiledFailure, CompiledPart, CompiledRow
from conformance.publish.redaction import without_local_paths
from conformance.publish.slugs import anchor
from conformance.publish.trend import run_name
from conformance.publish.wording import counted, duration, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.publish.context import Site
    from conformance.publish.findings import Subject
    from conformance.publish.pages import Json
    from conformance.store import CompileStatusRow, ResultRow, RunRow

NO_COMPILED = replace(NO_DATA, definition="The run has no test of it that compiles so.")
UNKNOWN = "\u2014"

_SUITES = {"operator": "opinfo", "module": "modules"}
_WORKS = frozenset({OperatorStatus.NATIVE.value, OperatorStatus.FALLBACK.value})
_SHAPES = {CompileMode.STATIC: "static", CompileMode.DYNAMIC: "dynamic"}

COUNTS = ("status", "planned", "passed", "failed", "skipped", "xfailed", "crashed", "not_run", "flaky", "fallback")
MEASURED = ("compile_s", "graphs", "breaks", "recompilations", "peak_bytes")


@dataclass(frozen=True, slots=True)
class Failure:
    """The first failure of an operator or module in one mode, by test id."""

    test_id: str
    message: str


@dataclass(frozen=True, slots=True)
class CompiledFinding:
    """What one run says of all operators, or all modules, under torch.compile.

    ``run`` is the run shown, or the newest one beside it that has such results. Names are the keys.
    """

    run: RunRow
    rows: Mapping[str, Mapping[CompileMode, CompileStatusRow]]
    failures: Mapping[tuple[str, CompileMode], Failure]

    @property
    def modes(self) -> tuple[CompileMode, ...]:
        """Return the modes that the run has tests of."""
        return tuple(mode for mode in CompileMode if any(mode in by_mode for by_mode in self.rows.values()))


def compiled_finding(
    run: RunRow, statuses: Iterable[CompileStatusRow], failed: Iterable[tuple[CompileMode | None, ResultRow]]
) -> CompiledFinding:
    """Put together what a run says; ``failed`` are its compiling tests that failed, with the mode of each."""
    rows: dict[str, dict[CompileMode, CompileStatusRow]] = {}
    for row in statuses:
        rows.setdefault(row.op or row.module or "", {})[row.mode] = row
    failures: dict[tuple[str, CompileMode], Failure] = {}
    for mode, result in failed:
        if mode is not None:
            failures.setdefault((result.op or result.module or "", mode), Failure(result.test_id, result.message))
    return CompiledFinding(run, rows, failures)


def no_compiled(site: Site, noun: str) -> str:
    """Say why nothing is known of torch.compile; empty where something is."""
    if noun in site.findings.compiled:
        return ""
    emulated = "emulated " if site.run.emulated else ""
    return (
        f"No data on torch.compile: no run on the {emulated}device \u2018{site.run.device}\u2019 in this database has "
        f"a result of a compiled {noun}."
    )


def compile_command(site: Site, noun: str) -> str:
    """Return the command that would give the results which are missing."""
    return f"conformance run {_SUITES[noun]} --device {site.run.device} --templates compile,compile_dynamic"


def other_run(site: Site, noun: str) -> str:
    """Say which run the results are of, where it is not the one that the site shows; empty where it is."""
    finding = site.findings.compiled.get(noun)
    if finding is None:
        return ""
    run = finding.run
    if run.id == site.run.id:
        return ""
    unseen = "" if run.probe else " Whether the CPU did the work was not observed."
    parts = [f"torch {run.torch_version}", "complete" if is_whole(run) else str(run.state)]
    if run.shard is not None:
        parts[-1] = f"shard {run.shard} of {run.shards}"
    parts += [f"limited to {without_local_paths(run.selection)}"] if run.selection else []
    return (
        f"Run {site.run.id}, which this site shows, has no result of a compiled {noun}. What is said of torch.compile "
        f"is of run {run_name(run)} on the same device: {', '.join(parts)}.{unseen}"
    )


def mode_names(site: Site, noun: str) -> tuple[str, ...]:
    """Return the columns of a table: the modes that there are tests of."""
    finding = site.findings.compiled.get(noun)
    return tuple(map(str, finding.modes)) if finding else ()


def compiled_cells(site: Site, subject: Subject) -> tuple[CompiledCell, ...]:
    """Return the cells of these columns for one operator or module."""
    finding = site.findings.compiled.get(subject.noun)
    if finding is None:
        return ()
    by_mode = finding.rows.get(subject.name, {})
    return tuple(
        CompiledCell(_mark(subject, by_mode.get(mode)), "no graph" if _without_graph(by_mode.get(mode)) else "")
        for mode in finding.modes
    )


def compiled_part(site: Site, subject: Subject) -> CompiledPart:
    """Return the part of the page of one operator or module that speaks of torch.compile."""
    noun = subject.noun
    finding = site.findings.compiled.get(noun)
    if finding is None:
        return CompiledPart(no_compiled(site, noun), compile_command(site, noun), "", ())
    by_mode = finding.rows.get(subject.name, {})
    note = other_run(site, noun)
    if not by_mode:
        planned = f"No data: run {run_name(finding.run)} has no test of this {noun} that compiles."
        return CompiledPart(planned, "", note, ())
    return CompiledPart("", "", note, tuple(_row(site, subject, finding, mode) for mode in CompileMode))


def _row(site: Site, subject: Subject, finding: CompiledFinding, mode: CompileMode) -> CompiledRow:
    row = finding.rows.get(subject.name, {}).get(mode)
    mark = _mark(subject, row)
    if row is None:
        return CompiledRow(
            shapes=_SHAPES[mode],
            mark=mark,
            aside="",
            tests="no such test",
            graphs=UNKNOWN,
            breaks=UNKNOWN,
            recompilations=UNKNOWN,
            time=UNKNOWN,
            memory=UNKNOWN,
            failure=None,
        )
    return CompiledRow(
        shapes=_SHAPES[mode],
        mark=mark,
        aside="no graph was compiled: all of it ran in eager mode" if _without_graph(row) else "",
        tests=f"{number(row.passed)} of {counted(row.planned, 'test')} passed",
        graphs=_shown(row.graphs),
        breaks=_shown(row.breaks),
        recompilations=_shown(row.recompilations),
        time=UNKNOWN if row.compile_s is None else duration(row.compile_s),
        memory=UNKNOWN if row.peak_bytes is None else size(row.peak_bytes),
        failure=_failure(site, subject, finding, mode),
    )


def _failure(site: Site, subject: Subject, finding: CompiledFinding, mode: CompileMode) -> CompiledFailure | None:
    failure = finding.failures.get((subject.name, mode))
    if failure is None:
        return None
    # Only tests of the run shown stand on a page of this site.
    here = finding.run.id == site.run.id
    return CompiledFailure(
        test_id=failure.test_id,
        anchor=anchor(failure.test_id) if here else "",
        message=clipped(without_local_paths(failure.message)),
    )


def _mark(subject: Subject, row: CompileStatusRow | None) -> Mark:
    return NO_COMPILED if row is None else status_mark(str(row.status), subject.noun)


def _without_graph(row: CompileStatusRow | None) -> bool:
    """Tell whether it works, but nothing of it was ever compiled."""
    return row is not None and str(row.status) in _WORKS and row.graphs == 0


def _shown(value: int | None) -> str:
    return UNKNOWN if value is None else number(value)


def size(count: int) -> str:
    """Write a number of bytes with a unit that suits it."""
    if count < 1024:
        return counted(count, "byte")
    value = float(count)
    for unit in ("KiB", "MiB"):
        value /= 1024
        if value < 1023.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} GiB"


def compiled_run_fields(site: Site, noun: str) -> Json:
    """Return which run the compiled results are of, null where there are none."""
    finding = site.findings.compiled.get(noun)
    if finding is None:
        return None
    run = finding.run
    return {
        "key": run.key,
        "complete": is_whole(run),
        "selection": without_local_paths(run.selection),
        "torch_version": run.torch_version,
        "probe": run.probe,
    }


def compiled_fields(site: Site, subject: Subject) -> dict[str, Json]:
    """Return what is known of one operator or module in each mode, null where it has no such test."""
    finding = site.findings.compiled.get(subject.noun)
    if finding is None:
        return dict.fromkeys(map(str, CompileMode))
    by_mode = finding.rows.get(subject.name, {})
    return {
        str(mode): _fields(by_mode[mode], finding.failures.get((subject.name, mode))) if mode in by_mode else None
        for mode in CompileMode
    }


def _fields(row: CompileStatusRow, failure: Failure | None) -> Json:
    first: Json = None
    if failure is not None:
        first = {"test_id": failure.test_id, "message": without_local_paths(failure.message)}
    return {**dict(zip((*COUNTS, *MEASURED), compiled_values(row), strict=True)), "first_failure": first}


def compiled_values(row: CompileStatusRow) -> Sequence[str | int | float | None]:
    """Return the status and the numbers of a row, in the order of ``COUNTS`` and ``MEASURED``."""
    return [str(row.status), *(getattr(row, name) for name in (*COUNTS[1:], *MEASURED))]
