"""``conformance gate``: whether a run that is in a database is to fail."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli.baselines import judging
from conformance.cli.output_options import FORMAT


@click.command("gate")
@judging
@click.option(
    "--top",
    type=click.IntRange(min=0),
    metavar="N",
    default=20,
    show_default=True,
    help="Name N tests of each verdict; 0: all. Totals count everything.",
)
@FORMAT
def command(db: Path, selector: str, baseline: str, strict: bool, top: int, form: str) -> None:
    """Judge a run again: by the skiplist that was in force, and by an earlier run. Needs no device.

    It is what `conformance run` does at its end, for runs that were merged from shards or imported. Exit code 1 for a
    regression, a new failure or crash, a new fallback, a new skip, or a lost test; docs/verdicts.md has the rules.
    """
    import sys
    from contextlib import ExitStack

    from conformance.cli.baselines import find_baseline
    from conformance.report.page import write_fitted
    from conformance.report.verdicts import judge_run, verdict_document, verdict_page
    from conformance.store import Database, resolve_run

    with ExitStack() as stack:
        database = stack.enter_context(Database.open_existing(db))
        run = resolve_run(database, selector)
        earlier = find_baseline(stack, database, run, baseline)
        judged = judge_run(database, run, baseline=earlier, wanted=baseline, strict=strict)
    write_fitted(lambda rows: verdict_page(judged, top=rows), lambda: verdict_document(judged), form, top=top)
    sys.exit(judged.gate.exit_code)
