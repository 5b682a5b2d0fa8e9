"""``conformance selftest``: whether this machine, this device and the engine get along."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from conformance.suites.canaries.judging import Checked

_TIMEOUT_S = 120  # the first use of a device may compile; canaries that hang have limits of their own


@click.command("selftest")
@click.option("--device", metavar="DEVICE", default="neuron", show_default=True, help="Device type: neuron, cpu, ...")
@click.option(
    "--db",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Record into this SQLite file; without it, into one that is removed if all is well.",
)
@click.option(
    "--start",
    type=click.Choice(["auto", "fork", "spawn"]),
    default="auto",
    show_default=True,
    help="How workers start, as for `conformance run`.",
)
def command(device: str, db: Path | None, start: str) -> None:
    """Run tests that crash, hang, leak and print, and check that each is recorded as what it is.

    Run it first on a new machine or a new device. Exit code 1 if anything was recorded wrongly or left behind.
    """
    import shutil
    import sys
    import tempfile

    from conformance.devices import adapter_for

    adapter_for(device)
    folder = Path(tempfile.mkdtemp(prefix="conformance-selftest-")).resolve()
    keep = False
    try:
        lines = _run(device, db or folder / "selftest.sqlite", folder, start=start)
        sys.stdout.write("\n".join(_table(lines)) + "\n")
        keep = db is None and any(line.is_wrong for line in lines)
        if keep:
            click.echo(f"conformance: what was recorded is kept in {folder / 'selftest.sqlite'}", err=True)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if any(line.is_wrong for line in lines) else 0)


def _run(device: str, database: Path, folder: Path, *, start: str) -> list[Checked]:
    import os
    import resource
    import shlex
    import sys

    from conformance.cli.hosting import host_pytest, real_stream
    from conformance.cli.selecting import pytest_arguments
    from conformance.cli.selftest_reporter import SelftestReporter
    from conformance.engine.orphans import children_of
    from conformance.store import Database, results
    from conformance.suites import canaries
    from conformance.suites.canaries.judging import judge, judge_processes

    os.environ[canaries.VARIABLE] = str(folder)
    # Deaths on purpose leave no core files in the folder that the command is called in.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    declared = canaries.declared()
    arguments = pytest_arguments(
        [str(file) for file in canaries.files()],
        device=device,
        ops=None,
        dtypes=None,
        templates=None,
        tests=(),
        keyword=None,
    )
    arguments += [f"--conformance-db={database}", "--conformance-workers=2", f"--conformance-timeout={_TIMEOUT_S}"]
    arguments.append(f"--conformance-start={start}")
    before = children_of(os.getpid())
    with real_stream(2) as stream:
        reporter = SelftestReporter(shlex.join(["conformance", *sys.argv[1:]]), stream)
        try:
            host_pytest(arguments, reporter)
        finally:
            processes = judge_processes(folder, children_of(os.getpid()) - before)
            del os.environ[canaries.VARIABLE]
    run_id = reporter.run_id or 0
    with Database.open_existing(database) as opened:
        lines = judge(declared, canaries.BROKEN_FILES, results(opened, run_id))
    return [*lines, processes, _judge_database(database, run_id)]


def _judge_database(database: Path, run_id: int) -> Checked:
    """Check that the run is closed and that its counts agree."""
    from conformance.model.run import RunState
    from conformance.store import Database, resolve_run
    from conformance.store.doctor import examine
    from conformance.suites.canaries.judging import OK, WRONG, Checked

    problems = [finding.text for finding in examine(database).findings if finding.run_id in (None, run_id)]
    with Database.open_existing(database) as opened:
        state = resolve_run(opened, str(run_id)).state
    if state is not RunState.COMPLETE:
        problems.append(f"the run is {state}")
    return Checked(
        "leave a sound database",
        "sound",
        "damaged" if problems else "sound",
        WRONG if problems else OK,
        "; ".join(problems),
    )


def _table(lines: list[Checked]) -> list[str]:
    from conformance.suites.canaries.judging import OK, UNTRIED, WRONG

    heads = ("canary", "expected", "observed")
    widths = [
        max(len(text) for text in column)
        for column in zip(heads, *((line.does, line.expected, line.observed) for line in lines), strict=True)
    ]

    def row(*cells: str) -> str:
        return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))

    table = [row(*heads)]
    for line in lines:
        table.append(f"{row(line.does, line.expected, line.observed)}  {line.verdict}")
        if line.why:
            why = line.why if line.why.isprintable() else line.why.encode("unicode_escape").decode("ascii")
            table.append(f"    {why}")
    counts = {verdict: sum(line.verdict == verdict for line in lines) for verdict in (OK, UNTRIED, WRONG)}
    table.append("")
    table.append(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return table
