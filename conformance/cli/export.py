"""``conformance export``: a run in the formats that CI systems and other tools read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from conformance.cli.baselines import judging

if TYPE_CHECKING:
    from conformance.report.exporting import Export
    from conformance.report.verdicts import JudgedRun

_F = TypeVar("_F", bound=Callable[..., Any])

_BY = click.option(
    "--by",
    type=click.Choice(["outcome", "verdict"]),
    default="outcome",
    show_default=True,
    help="What makes a test count as failed: that it failed, or that it makes the run fail.",
)


def _of_a_run(function: _F) -> _F:
    """Add the options that name a run, what it is held against, and where the export goes."""
    out = click.option(
        "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write to this file, not to stdout."
    )
    return judging(out(function))


@click.group("export")
def command() -> None:
    """Write a run in a format that a CI system or another tool reads.

    Tests are judged as `conformance run` judges them: by the skiplist that was in force, and by --baseline. docs/ci.md
    has a workflow that uses these.
    """


@command.command("junit")
@_of_a_run
@_BY
def junit_command(db: Path, selector: str, baseline: str, strict: bool, out: Path | None, by: str) -> None:
    """Write JUnit XML, in the form of pytest's.

    With --by verdict what fails as expected is skipped, with the entry of the skiplist as the reason.
    """
    from conformance.report.junit import render_junit

    _write_export(out, db, selector, baseline, strict, by, render_junit)


@command.command("ctrf")
@_of_a_run
@_BY
def ctrf_command(db: Path, selector: str, baseline: str, strict: bool, out: Path | None, by: str) -> None:
    """Write the Common Test Report Format, JSON of https://ctrf.io.

    What fails as expected, by PyTorch's mark or with --by verdict by the skiplist, has the status `other`.
    """
    from conformance.report.ctrf import render_ctrf

    _write_export(out, db, selector, baseline, strict, by, render_ctrf)


@command.command("crcr")
@_of_a_run
@_BY
@click.option("--artifact-url", metavar="URL", default="", help="Where the database, the site or a log can be fetched.")
@click.option(
    "--as",
    "form",
    type=click.Choice(["json", "outputs"]),
    default="json",
    show_default=True,
    help="The fields of the callback, or lines for $GITHUB_OUTPUT named as the inputs of PyTorch's callback action.",
)
def crcr_command(
    db: Path, selector: str, baseline: str, strict: bool, out: Path | None, by: str, artifact_url: str, form: str
) -> None:
    """Write what PyTorch's Cross-Repository CI Relay takes (RFC-0050): counts, failed tests, the conclusion.

    The conclusion is failure where the run fails by its verdicts, whatever --by counts as failed.
    """
    from conformance.report.crcr import relay_document, relay_outputs, relayed

    def render(export: Export, judged: JudgedRun) -> Iterable[str]:
        conclusion = "failure" if judged.gate.exit_code else "success"
        found = relayed(export, conclusion=conclusion, artifact_url=artifact_url)
        yield relay_outputs(found) if form == "outputs" else relay_document(found)

    _write_judged(out, db, selector, baseline, strict, by, render)


@command.command("github")
@_of_a_run
@click.option(
    "--lists",
    "lists",
    metavar="PATH",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The skiplist's files or folders: annotations about an entry then stand at its line. May be repeated.",
)
def github_command(
    db: Path, selector: str, baseline: str, strict: bool, out: Path | None, lists: tuple[Path, ...]
) -> None:
    """Write annotations for GitHub Actions: an error for each cause that fails the run, at most ten of a level."""
    from conformance.report.github import render_github
    from conformance.skiplist.load import read_skiplist
    from conformance.store import history

    places = {entry.id: (entry.place.file, entry.place.line) for entry in read_skiplist(lists)[0]} if lists else {}

    def render(export: Export, judged: JudgedRun) -> Iterable[str]:
        ids = [one.result.test_id for one in judged.gate.judged]
        suites = {name: str(known.suite) for name, known in history.known_identities(export.db, ids).items()}
        yield render_github(judged, places, suites)

    _write_judged(out, db, selector, baseline, strict, "outcome", render)


@command.command("pull-request")
@_of_a_run
@click.option(
    "--top",
    type=click.IntRange(min=0),
    metavar="N",
    default=20,
    show_default=True,
    help="Name N tests of each verdict; 0: as many as a comment holds. Totals count everything.",
)
def pull_request_command(db: Path, selector: str, baseline: str, strict: bool, out: Path | None, top: int) -> None:
    """Write Markdown for a comment on a pull request: verdicts, the worst first, under 64 KiB.

    Its first line is a comment that names the device, by which a workflow finds the one that it wrote before.
    """
    from conformance.report.pull_request import render_pull_request

    def render(export: Export, judged: JudgedRun) -> Iterable[str]:  # noqa: ARG001
        yield render_pull_request(judged, top=top)

    _write_judged(out, db, selector, baseline, strict, "outcome", render)


def _write_export(
    out: Path | None,
    db: Path,
    selector: str,
    baseline: str,
    strict: bool,
    by: str,
    render: Callable[[Export], Iterable[str]],
) -> None:
    from contextlib import ExitStack

    from conformance.cli.baselines import find_baseline
    from conformance.report.exporting import By, export_of
    from conformance.store import Database, resolve_run

    with ExitStack() as stack:
        database = stack.enter_context(Database.open_existing(db))
        run = resolve_run(database, selector)
        earlier = find_baseline(stack, database, run, baseline)
        _write(out, render(export_of(database, run, baseline=earlier, by=By(by), strict=strict)))


def _write_judged(
    out: Path | None,
    db: Path,
    selector: str,
    baseline: str,
    strict: bool,
    by: str,
    render: Callable[[Export, JudgedRun], Iterable[str]],
) -> None:
    from contextlib import ExitStack

    from conformance.cli.baselines import find_baseline
    from conformance.report.verdicts import judge_run
    from conformance.store import Database, resolve_run

    with ExitStack() as stack:
        database = stack.enter_context(Database.open_existing(db))
        run = resolve_run(database, selector)
        earlier = find_baseline(stack, database, run, baseline)
        judged = judge_run(database, run, baseline=earlier, wanted=baseline, strict=strict)
    _write_export(out, db, str(judged.run.id), baseline, strict, by, lambda export: render(export, judged))


def _write(out: Path | None, parts: Iterable[str]) -> None:
    """Write the parts to a file, as a whole or not at all, or to standard output."""
    from conformance.errors import InfrastructureError
    from conformance.report.output import replacing, write_report

    if out is None:
        for part in parts:
            write_report(part)
        return
    if out.is_dir():
        raise InfrastructureError("output-unwritable", f"cannot write {out}: it is a folder; name a file")
    try:
        with replacing(out) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(parts)
    except OSError as error:
        raise InfrastructureError("output-unwritable", f"cannot write {out}: {error.strerror or error}") from None
