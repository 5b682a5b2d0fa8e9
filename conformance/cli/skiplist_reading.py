"""``conformance skiplist lint``, ``stats``, ``explain`` and ``diff``: look at lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from conformance.cli.output_options import FORMAT, TOP
from conformance.cli.skiplist_options import (
    BY,
    DEVICE,
    PATHS,
    TODAY,
    held_against,
    list_paths,
    run_options,
)

if TYPE_CHECKING:
    from datetime import datetime


@click.command(name="lint")
@PATHS
@DEVICE
@run_options
@click.option("--strict", is_flag=True, help="Exit code 1 for warnings too.")
@TODAY
@TOP
@FORMAT
def lint_command(
    paths: tuple[Path, ...],
    device: str | None,
    selector: str | None,
    db: Path,
    strict: bool,
    today: datetime | None,
    top: int,
    form: str,
) -> None:
    """Check lists: format, reasons, links, names, overlaps, entries that expired or match nothing.

    Exit code 1 if there is an error.
    """
    import sys

    from conformance.cli.skiplist_pages import lint_document, lint_page
    from conformance.report.page import write_page
    from conformance.skiplist.lint import Level, lint
    from conformance.skiplist.load import read_skiplist

    skiplist, problems = read_skiplist(list_paths(paths, device))
    known, context = held_against(db, selector, today)
    report = lint(skiplist, problems, context=context, known=known)
    write_page(lint_page(report, top=top), lint_document(report), form)
    bad = report.count(Level.ERROR) + (report.count(Level.WARNING) if strict else 0)
    sys.exit(1 if bad else 0)


@click.command(name="stats")
@PATHS
@DEVICE
@run_options
@click.option(
    "--by",
    "properties",
    type=click.Choice(BY),
    multiple=True,
    help="Count by this; may be repeated. The default is all of them.",
)
@TODAY
@TOP
@FORMAT
def stats_command(
    paths: tuple[Path, ...],
    device: str | None,
    selector: str | None,
    db: Path,
    properties: tuple[str, ...],
    today: datetime | None,
    top: int,
    form: str,
) -> None:
    """Count lists: by category, owner, age, operator, dtype, file, and how much has no reason."""
    from conformance.cli.skiplist_pages import stats_page
    from conformance.report.page import write_page
    from conformance.skiplist.load import load_skiplist
    from conformance.skiplist.stats import By, stats

    skiplist = load_skiplist(list_paths(paths, device))
    known, context = held_against(db, selector, today)
    found = stats(skiplist, by=[By(name) for name in properties or BY], context=context, known=known)
    write_page(stats_page(found, top=top), found, form)


@click.command(name="explain")
@click.argument("test_id", metavar="TEST_ID")
@PATHS
@DEVICE
@run_options
@click.option("--op", metavar="NAME", help="The operator of the test, where no run is given.")
@click.option("--module", metavar="NAME", help="The module of the test.")
@click.option("--dtype", metavar="NAME", help="The dtype of the test.")
@click.option("--template", metavar="NAME", help="The method before operator and dtype are filled in.")
@TODAY
@FORMAT
def explain_command(
    test_id: str,
    paths: tuple[Path, ...],
    device: str | None,
    selector: str | None,
    db: Path,
    op: str | None,
    module: str | None,
    dtype: str | None,
    template: str | None,
    today: datetime | None,
    form: str,
) -> None:
    """Say which entry counts for a test, and why the others do not.

    Conditions on versions and devices are judged as in the run; without one only last days are.
    """
    from conformance.cli.skiplist_pages import explain_document, explain_page
    from conformance.errors import UsageError
    from conformance.report.page import write_page
    from conformance.skiplist.explain import explain, read_identity
    from conformance.skiplist.load import load_skiplist

    skiplist = load_skiplist(list_paths(paths, device))
    known, context = held_against(db, selector, today)
    if known is not None:
        test = known.find(test_id)
        if test is None:
            raise UsageError("unknown-test", f"{known.source} of {db} has no test '{test_id}'; copy it from a report")
        unknown: tuple[str, ...] = ()
    else:
        test, unknown = read_identity(test_id, op=op, module=module, dtype=dtype, template=template)
    found = explain(skiplist.entries, test, context=context, unknown=unknown)
    write_page(explain_page(found), explain_document(found), form)


@click.command(name="diff")
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@TOP
@FORMAT
def diff_command(before: str, after: str, top: int, form: str) -> None:
    """Compare two states of a list: entries added, removed, renamed and changed.

    BEFORE and AFTER are each a file, a folder, or REVISION:PATH as git writes it, with the path relative to the current
    folder: conformance skiplist diff main:skiplists/neuron skiplists/neuron
    """
    from conformance.cli.skiplist_pages import diff_document, diff_page
    from conformance.report.page import write_page
    from conformance.skiplist.diff import difference
    from conformance.skiplist.revisions import load_source

    found = difference(load_source(before), load_source(after))
    page = diff_page(found, before=before, after=after, top=top)
    write_page(page, diff_document(found, before=before, after=after), form)
