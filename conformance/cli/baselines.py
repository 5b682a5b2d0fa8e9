"""What the commands that judge a run share: the run, and the earlier one that it is held against."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from conformance.report.verdicts import Earlier
    from conformance.store import Database, RunRow

NONE = "none"
PREVIOUS = "previous"

_F = TypeVar("_F", bound=Callable[..., Any])


def judging(function: _F) -> _F:
    """Add the options that name a run and what it is held against."""
    for decorate in (
        click.option("--strict", is_flag=True, help="Let a test fail the run too where the skiplist says otherwise."),
        click.option(
            "--baseline",
            metavar="RUN|FILE|none",
            default="none",
            show_default=True,
            help="Hold it against this run: previous (the last one alike), a selector, or FILE or FILE#RUN elsewhere.",
        ),
        click.option(
            "--run",
            "selector",
            metavar="SELECTOR",
            default="latest",
            show_default=True,
            help="Which run: latest, latest-complete, its number, or the first characters of its key.",
        ),
        click.option(
            "--db",
            metavar="FILE",
            type=click.Path(path_type=Path),
            envvar="CONFORMANCE_DB",
            default="conformance.sqlite",
            show_default=True,
            help="The database to read; the variable CONFORMANCE_DB sets another default.",
        ),
    ):
        function = decorate(function)
    return function


def file_and_run(source: str, db: Path) -> tuple[Path, str]:
    """Split FILE#RUN; a file whose name holds a # is taken as it is if it exists, #RUN is a run of ``db``."""
    if Path(source).exists():
        return Path(source), "latest"
    file, _, selector = source.rpartition("#") if "#" in source else (source, "", "latest")
    return (Path(file) if file else db), selector or "latest"


def find_baseline(stack: ExitStack, database: Database, run: RunRow, baseline: str) -> Earlier | None:
    """Return the run that ``--baseline`` means, None for ``none``, and where nothing is ``previous``.

    Raises what opening a database and naming a run may raise.
    """
    from conformance.report.verdicts import Earlier
    from conformance.store import Database, resolve_run

    if baseline not in (NONE, PREVIOUS) and ("#" in baseline or Path(baseline).is_file()):
        file, selector = file_and_run(baseline, database.path)
        other = stack.enter_context(Database.open_existing(file))
        return Earlier(other, resolve_run(other, selector), str(file))
    return earlier_run(database, run, baseline)


def earlier_run(database: Database, run: RunRow, baseline: str) -> Earlier | None:
    """Return the run of the same database that is meant, None for ``none``, and where nothing is ``previous``.

    Raises what naming a run may raise.
    """
    from conformance.analysis.gate import previous_run
    from conformance.report.verdicts import Earlier
    from conformance.store import resolve_run, runs

    if baseline == NONE:
        return None
    found = previous_run(runs(database), run) if baseline == PREVIOUS else resolve_run(database, baseline)
    return None if found is None else Earlier(database, found)
