"""``conformance compare``: what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from conformance.cli.output_options import FORMAT, TOP

if TYPE_CHECKING:
    from contextlib import ExitStack

    from conformance.report.compare import Side
    from conformance.store import Database


@click.command("compare")
@click.argument("sources", metavar="[BEFORE AFTER]", nargs=-1)
@click.option(
    "--db",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar="CONFORMANCE_DB",
    default="conformance.sqlite",
    show_default=True,
    help="The database of runs that are given without one; the variable CONFORMANCE_DB sets another default.",
)
@click.option(
    "--run",
    "selectors",
    metavar="SELECTOR",
    multiple=True,
    help="Given twice, in place of BEFORE and AFTER: the two runs of --db.",
)
@click.option(
    "--fail-on-regression",
    is_flag=True,
    help="Exit code 1 where a test got worse: regressed, lost, skipped, newly on the CPU, or missing without cause.",
)
@TOP
@FORMAT
def command(
    sources: tuple[str, ...], db: Path, selectors: tuple[str, ...], fail_on_regression: bool, top: int, form: str
) -> None:
    """Compare two runs test by test: two days, two versions of torch, two devices.

    BEFORE and AFTER are each FILE (its latest run), FILE#RUN, or #RUN for a run of --db. RUN is latest,
    latest-complete, a number, or the start of a key. The exit code is 0 whatever changed, unless --fail-on-regression
    is given.
    """
    import sys
    from contextlib import ExitStack

    from conformance.report.compare import collect_comparison, compare_document, compare_page
    from conformance.report.page import write_fitted

    with ExitStack() as stack:
        before, after = (_open(stack, file, selector) for file, selector in _two(sources, selectors, db))
        found = collect_comparison(before, after)
    write_fitted(lambda rows: compare_page(found, top=rows), lambda: compare_document(found), form, top=top)
    sys.exit(1 if fail_on_regression and found.worse else 0)


def _two(sources: tuple[str, ...], selectors: tuple[str, ...], db: Path) -> list[tuple[Path, str]]:
    """Return the file and the run of each side; raises UsageError (``compare-what``) where there are not two."""
    from conformance.cli.baselines import file_and_run
    from conformance.errors import UsageError

    if selectors and sources:
        raise UsageError("compare-what", "give the two runs either as BEFORE and AFTER or by --run, not both")
    if selectors:
        given = [(db, selector) for selector in selectors]
    else:
        given = [file_and_run(source, db) for source in sources]
    if len(given) != 2:
        raise UsageError(
            "compare-what",
            f"two runs can be compared, not {len(given)}; give BEFORE AFTER, each FILE or FILE#RUN, or --run twice",
        )
    return given


def _open(stack: ExitStack, file: Path, selector: str) -> tuple[Database, Side]:
    from conformance.report.compare import Side
    from conformance.store import Database, resolve_run

    database = stack.enter_context(Database.open_existing(file))
    return database, Side(str(file), resolve_run(database, selector))
