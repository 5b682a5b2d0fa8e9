"""``conformance run``: plan, run and record."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli.selecting import DB_OPTION, selecting


@click.command("run")
@selecting
@DB_OPTION
@click.option(
    "--workers", metavar="N|auto", default="auto", show_default=True, help="Worker processes; 0 runs in this process."
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    help="Time limit for one test; 0: none.",
)
@click.option(
    "--retries",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Further attempts after a failure, crash or time-out; a pass is then flaky.",
)
@click.option(
    "--resume", is_flag=True, help="Continue the newest run of the same tests if it was killed or interrupted."
)
@click.option("--shard", metavar="I/N", help="Run part I of N only; `conformance merge` joins the databases.")
@click.option(
    "--start",
    type=click.Choice(["auto", "fork", "spawn"]),
    default="auto",
    show_default=True,
    help="How workers start: by fork, or anew where the device is in use after collection.",
)
@click.option(
    "--health",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="Look at the device after each failure and replace the worker of a sick one; auto: where it is cheap.",
)
@click.option(
    "--top", metavar="N", type=click.IntRange(min=0), default=10, show_default=True, help="Rows of each table."
)
def command(
    sources: tuple[str, ...],
    device: str,
    ops: str | None,
    dtypes: str | None,
    templates: str | None,
    tests: tuple[str, ...],
    keyword: str | None,
    db: Path,
    workers: str,
    timeout: float,
    retries: int,
    resume: bool,
    shard: str | None,
    start: str,
    health: str,
    top: int,
) -> None:
    """Run suites (opinfo, modules: both by default) or test files on a device and record every outcome.

    Exit code 1 if a test failed, crashed, exceeded its time limit or was lost.
    """
    import shlex
    import sys

    from conformance.cli.hosting import host_pytest, real_stream
    from conformance.cli.run_reporter import RunReporter
    from conformance.cli.selecting import pytest_arguments
    from conformance.devices import adapter_for
    from conformance.engine.loop import worker_count
    from conformance.errors import UsageError

    adapter_for(device)
    count = worker_count(workers)
    arguments = pytest_arguments(
        sources, device=device, ops=ops, dtypes=dtypes, templates=templates, tests=tests, keyword=keyword
    )
    arguments += [f"--conformance-db={db}", f"--conformance-workers={count}", f"--conformance-retries={retries}"]
    arguments += [f"--conformance-start={start}", f"--conformance-health={health}"]
    if count:
        arguments.append(f"--conformance-timeout={timeout:g}")
    if resume:
        arguments.append("--conformance-resume")
    if shard is not None:
        arguments.append(f"--conformance-shard={shard}")
    with real_stream(2) as stream:
        reporter = RunReporter(shlex.join(["conformance", *sys.argv[1:]]), stream, database=db)
        try:
            host_pytest(arguments, reporter)
        except KeyboardInterrupt:
            if reporter.run_id is not None:
                _summary(db, reporter.run_id, top=top)
            raise
    if reporter.run_id is None:
        raise UsageError("nothing-to-run", "the selection matches no test; `conformance collect` shows what there is")
    _summary(db, reporter.run_id, top=top)
    sys.exit(1 if _is_bad(db, reporter.run_id) else 0)


def _is_bad(db: Path, run_id: int) -> bool:
    """Tell whether any test of the run failed, died or was lost, also before the run was resumed."""
    from conformance.store import Database, resolve_run

    with Database.open_existing(db) as database:
        counts = resolve_run(database, str(run_id)).counts
    return any(count for outcome, count in counts.items() if outcome.is_bad)


def _summary(db: Path, run_id: int, *, top: int) -> None:
    from conformance.report.findings import collect_findings
    from conformance.report.output import write_report
    from conformance.report.text import render_text
    from conformance.store import Database

    with Database.open_existing(db) as database:
        write_report(render_text(collect_findings(database, run_id, top=top)))
