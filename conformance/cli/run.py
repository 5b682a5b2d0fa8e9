"""``conformance run``: plan, run and record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    type=click.IntRange(min=0, max=1000),
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
    "--skiplist",
    metavar="auto|none|PATH",
    multiple=True,
    default=("auto",),
    show_default=True,
    help="Skiplists in force: those that come for the device, none, or files and folders; may be repeated.",
)
@click.option("--run-skipped", is_flag=True, help="Run the tests too that a skiplist says to skip.")
@click.option("--listed-only", is_flag=True, help="Run only tests that an entry of a skiplist speaks of.")
@click.option(
    "--fallback",
    type=click.Choice(["allow", "record", "fail"]),
    default="record",
    show_default=True,
    help="CPU fallbacks of the operator under test: not looked for, recorded, or a failure of the test.",
)
@click.option(
    "--baseline",
    metavar="RUN|none",
    default="none",
    show_default=True,
    help="Compare with this earlier run in --db: previous (the last one alike), latest, latest-complete, its number, "
    "or the start of its key.",
)
@click.option(
    "--probe",
    type=click.Choice(["auto", "backend", "observer", "profiler", "none"]),
    default="auto",
    show_default=True,
    help="How fallbacks are seen; docs/fallbacks.md.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit code 1 also for flaky tests and passes that were not expected; refuse test files of another torch.",
)
@click.option(
    "--top", metavar="N", type=click.IntRange(min=0), default=10, show_default=True, help="Rows of each table."
)
def command(
    device: str,
    db: Path,
    workers: str,
    timeout: float,
    retries: int,
    resume: bool,
    shard: str | None,
    start: str,
    health: str,
    skiplist: tuple[str, ...],
    run_skipped: bool,
    listed_only: bool,
    fallback: str,
    probe: str,
    baseline: str,
    strict: bool,
    top: int,
    **choice: Any,
) -> None:
    """Run suites (opinfo, modules: both by default) or test files on a device and record every outcome.

    Exit code 1 if a test failed, crashed, exceeded its time limit or was lost, unless an entry of a skiplist expects it
    or the baseline did no better; with a baseline also if an operator runs on the CPU that did not before.
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
    earlier = _baseline(db, baseline)
    count = worker_count(workers)
    arguments = pytest_arguments(device=device, strict=strict, **choice)
    arguments += [f"--conformance-db={db}", f"--conformance-workers={count}", f"--conformance-retries={retries}"]
    arguments += [f"--conformance-start={start}", f"--conformance-health={health}"]
    if count:
        arguments.append(f"--conformance-timeout={timeout:g}")
    arguments += [f"--conformance-skiplist={source}" for source in skiplist]
    arguments += [f"--conformance-fallback={fallback}", f"--conformance-probe={probe}"]
    if run_skipped:
        arguments.append("--conformance-run-skipped")
    if listed_only:
        arguments.append("--conformance-listed-only")
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
    sys.exit(_judge(db, reporter.run_id, baseline=earlier, strict=strict, top=top))


def _baseline(db: Path, selector: str) -> str:
    """Return the number of the run to compare with, before there is a newer one; ``none`` for none."""
    from conformance.cli.baselines import NONE, PREVIOUS

    if selector in (NONE, PREVIOUS):  # which run is alike is known when this one is there
        return selector
    from conformance.store import Database, resolve_run

    with Database.open_existing(db) as database:
        return str(resolve_run(database, selector).id)


def _judge(db: Path, run_id: int, *, baseline: str, strict: bool, top: int) -> int:
    """Print what is not as expected, also of tests that ran before the run was resumed, and return the exit code."""
    from conformance.cli.baselines import earlier_run
    from conformance.report.judged import render_judged
    from conformance.report.verdicts import judge_run
    from conformance.store import Database, resolve_run

    with Database.open_existing(db) as database:
        run = resolve_run(database, str(run_id))
        earlier = earlier_run(database, run, baseline)
        judged = judge_run(database, run, baseline=earlier, wanted=baseline, strict=strict)
    click.echo(render_judged(judged.gate, baseline=earlier.run if earlier is not None else None, limit=top))
    return judged.gate.exit_code


def _summary(db: Path, run_id: int, *, top: int) -> None:
    from conformance.report.findings import collect_findings
    from conformance.report.output import write_report
    from conformance.report.text import render_text
    from conformance.store import Database

    with Database.open_existing(db) as database:
        write_report(render_text(collect_findings(database, run_id, top=top)))
