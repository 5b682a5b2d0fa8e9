"""``conformance report``: what one run found."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli.output_options import FORMAT


@click.command("report")
@click.option(
    "--db",
    type=click.Path(path_type=Path),
    envvar="CONFORMANCE_DB",
    default="conformance.sqlite",
    show_default=True,
    help="The database to read; the variable CONFORMANCE_DB sets another default.",
)
@click.option(
    "--run",
    "selector",
    metavar="SELECTOR",
    default="latest",
    show_default=True,
    help="Which run: latest, latest-complete, its number, or the first characters of its key.",
)
@FORMAT
@click.option(
    "--top",
    type=click.IntRange(min=0),
    metavar="N",
    default=20,
    show_default=True,
    help="Show N rows of each table and list (one more rather than hide one row); 0: all. Totals count everything.",
)
def command(db: Path, selector: str, form: str, top: int) -> None:
    """Report what one run found: outcomes, operator statuses, fallbacks, failures.

    The exit code is 0 whatever the run found; `conformance run` is what judges.
    """
    from conformance.report.findings import collect_findings, narrowed
    from conformance.report.output import write_report
    from conformance.store import Database, resolve_run

    with Database.open_existing(db) as database:
        findings = collect_findings(database, resolve_run(database, selector).id, top=top)
    match form:
        case "json":
            from conformance.report.json_format import render_json

            write_report(render_json(findings))
        case "md":
            from conformance.report.fitting import SUMMARY_LIMIT, fitted
            from conformance.report.markdown import render_markdown

            write_report(fitted(lambda rows: render_markdown(narrowed(findings, rows)), top, SUMMARY_LIMIT))
        case _:
            from conformance.report.text import render_text

            write_report(render_text(findings))
