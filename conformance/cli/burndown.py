"""``conformance burndown``: how many tests are still listed, how fast it falls, what to fix next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from conformance.cli.output_options import TOP

if TYPE_CHECKING:
    from datetime import date, datetime

    from conformance.report.burndown import Burndown, By
    from conformance.store import Database


@click.command("burndown")
@click.option(
    "--db",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar="CONFORMANCE_DB",
    default="conformance.sqlite",
    show_default=True,
    help="The database of runs; the variable CONFORMANCE_DB sets another default.",
)
@click.option(
    "--run",
    "selector",
    metavar="SELECTOR",
    help="The newest run to look at: latest, latest-complete, its number, or the start of its key.",
)
@click.option("--device", metavar="DEVICE", help="Only runs on this device; the default is that of the newest run.")
@click.option(
    "--lists",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Also follow this skiplist (a TOML file or a folder of them) through its history in git.",
)
@click.option(
    "--repo",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="The git repository that --lists is in, if it is not the current folder's.",
)
@click.option("--since", metavar="DATE|RUN", help="Leave out what is older than this day or run.")
@click.option(
    "--by",
    type=click.Choice(["category", "owner", "op", "file"]),
    default="category",
    show_default=True,
    help="Show the parts of the listed tests by this.",
)
@click.option(
    "--rank",
    type=click.Choice(["tests", "operators", "core", "architectures"]),
    default="tests",
    show_default=True,
    help="Rank causes by what they free: listed tests, operators, overloads of Core ATen; or by the architectures "
    "that do not run natively because of them.",
)
@click.option(
    "--today",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Judge ages as of this day; the default is the day of the newest run.",
)
@TOP
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "md", "svg"]),
    default="text",
    show_default=True,
    help="For people, for scripts, for a GitHub job summary, or the curve as a picture.",
)
def command(
    db: Path,
    selector: str | None,
    device: str | None,
    lists: Path | None,
    repo: Path | None,
    since: str | None,
    by: By,
    rank: str,
    today: datetime | None,
    top: int,
    form: str,
) -> None:
    """Show how a skiplist burns down: tests still listed at each run, and at each change of the list.

    The runs are those of the same device, suites and selection as the newest one that had a skiplist; with --lists the
    database may be missing. Nothing is counted that was not planned, and what is left out is said.
    """
    from conformance.report.burndown_page import burndown_document, burndown_page
    from conformance.report.output import write_report
    from conformance.report.page import write_fitted

    found = _collect(db, selector, device, lists, repo, since, by, rank, today)
    if form == "svg":
        from conformance.report.burndown_svg import render_svg

        write_report(render_svg(found))
        return
    write_fitted(lambda rows: burndown_page(found, top=rows), lambda: burndown_document(found), form, top=top)


def _collect(
    db: Path,
    selector: str | None,
    device: str | None,
    lists: Path | None,
    repo: Path | None,
    since: str | None,
    by: By,
    rank: str,
    today: datetime | None,
) -> Burndown:
    from contextlib import ExitStack
    from datetime import date

    from conformance.analysis.causes import Rank
    from conformance.errors import UsageError
    from conformance.report.burndown import burndown_of, present_of, run_series
    from conformance.report.burndown_lists import list_series
    from conformance.skiplist.past import past_of
    from conformance.store import Database

    if repo is not None and lists is None:
        raise UsageError("burndown-what", "--repo says where --lists is; give --lists too")
    with ExitStack() as stack:
        # A list has a history before its first run.
        without_db = lists is not None and selector is None and not db.exists()
        database = None if without_db else stack.enter_context(Database.open_existing(db))
        start = _start(database, since)
        run_points, newest = None, None
        left_out: list[str] = []
        if database is not None:
            run_points, newest, left_out = run_series(database, selector, device, start, by)
        list_points = None
        if lists is not None:
            past = past_of(lists, repo=repo)
            list_points, more = list_series(past, by, start, db=database, run=newest)
            left_out = left_out + more
        present = None
        if database is not None and newest is not None:
            day = today.date() if today is not None else date.fromisoformat(newest.created_at[:10])
            present = present_of(database, newest, Rank(rank), day)
        if run_points is None and list_points is None:
            why = f": {' '.join(left_out)}" if left_out else ""
            raise UsageError(
                "nothing-listed",
                f"no run of {db} had a skiplist{why or '; run with one'}; or give --lists for a list's own history",
            )
    name = device or (newest.device if newest is not None else lists.name.removesuffix(".toml") if lists else "")
    return burndown_of(
        name,
        newest.emulated if newest is not None else False,
        run_points=run_points,
        list_points=list_points,
        present=present,
        left_out=left_out,
        by=by,
    )


def _start(database: Database | None, since: str | None) -> date | None:
    """Return the first day to look at: a day, or that of a run."""
    from datetime import date, datetime

    from conformance.errors import UsageError
    from conformance.store import resolve_run

    if since is None:
        return None
    try:
        return datetime.strptime(since, "%Y-%m-%d").date()  # noqa: DTZ007 - a day in UTC, as all days here
    except ValueError:
        if database is not None:
            return date.fromisoformat(resolve_run(database, since).created_at[:10])
    raise UsageError(
        "burndown-what", f"--since '{since}' is no day such as 2026-11-01, and there is no database of runs"
    )
