"""``conformance skiplist stale``, ``prune``, ``add`` and ``update``: make lists fit what runs saw."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from conformance.cli.output_options import FORMAT, TOP
from conformance.cli.skiplist_options import DEVICE, PATHS, TODAY, day, list_paths

if TYPE_CHECKING:
    from datetime import datetime

    from conformance.skiplist.conditions import Context
    from conformance.skiplist.entry import Skiplist
    from conformance.skiplist.known import Known
    from conformance.skiplist.propose import Origin
    from conformance.skiplist.stale import EntryEvidence
    from conformance.store import RunRow

_F = TypeVar("_F", bound=Callable[..., Any])

_RUN = click.option(
    "--run",
    "selector",
    metavar="SELECTOR",
    default="latest",
    show_default=True,
    help="The run: latest, latest-complete, its number, or the start of its key.",
)
_DB = click.option(
    "--db",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar="CONFORMANCE_DB",
    default="conformance.sqlite",
    show_default=True,
    help="The database of runs; it is only read.",
)
_LAST = click.option(
    "--last",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Look at this run and those before it on the same device, N in all.",
)
_AT_LEAST = click.option(
    "--at-least",
    type=click.IntRange(min=1),
    metavar="K",
    default=1,
    show_default=True,
    help="A test passes only if K of these runs ran it, and it passed in each that did.",
)
_APPLY = click.option("--apply", is_flag=True, help="Write the files; without it the change is only shown.")
_TO = click.option(
    "--to",
    "target",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The list that new entries go to, at its end; it is made if it does not exist.",
)
_OWNER = click.option("--owner", metavar="TEXT", default="", help="Who looks after new entries.")
_FALLBACKS = click.option("--fallbacks", is_flag=True, help="New entries for tests that pass on the CPU, too.")


def _looking(function: _F) -> _F:
    """Add the options of the commands that look at the last runs."""
    for decorate in (FORMAT, TOP, TODAY, _AT_LEAST, _LAST, _RUN, _DB, DEVICE, PATHS):
        function = decorate(function)
    return function


@click.command(name="stale")
@_looking
def stale_command(
    paths: tuple[Path, ...],
    device: str | None,
    db: Path,
    selector: str,
    last: int,
    at_least: int,
    today: datetime | None,
    top: int,
    form: str,
) -> None:
    """Show the entries that no longer hold: their tests pass, all or some, or are gone.

    A test that a list skips is not run, and shows nothing: `conformance run --run-skipped` runs it.
    """
    from conformance.cli.skiplist_edit_pages import stale_document, stale_page
    from conformance.report.page import write_page

    found, runs, _ = _evidence(list_paths(paths, device), db, selector, last, at_least, today)
    write_page(stale_page(found, runs, top=top), stale_document(found, runs), form)


@click.command(name="prune")
@_looking
@_APPLY
def prune_command(
    paths: tuple[Path, ...],
    device: str | None,
    db: Path,
    selector: str,
    last: int,
    at_least: int,
    today: datetime | None,
    top: int,
    form: str,
    apply: bool,
) -> None:
    """Take out what `stale` shows: ids that pass or are gone, and entries that have nothing left.

    Comments, order and everything else stay. Patterns are only taken out as a whole.
    """
    from conformance.cli.skiplist_edit_pages import edit_document, edit_page
    from conformance.cli.skiplist_files import edited_files, unified_diff, write_whole
    from conformance.report.page import write_page
    from conformance.skiplist.update import prune_edits

    found, runs, _ = _evidence(list_paths(paths, device), db, selector, last, at_least, today)
    edits = prune_edits(found)
    changed = edited_files(edits)
    if apply:
        for file, (_, after) in changed.items():
            write_whole(file, after)
    diff = unified_diff(changed)
    page = edit_page(edits, diff, runs, written=apply, top=top)
    write_page(page, edit_document(edits, diff, runs, written=apply), form)


@click.command(name="add")
@PATHS
@DEVICE
@_RUN
@_DB
@_TO
@_OWNER
@_FALLBACKS
@TODAY
@TOP
@FORMAT
def add_command(
    paths: tuple[Path, ...],
    device: str | None,
    selector: str,
    db: Path,
    target: Path | None,
    owner: str,
    fallbacks: bool,
    today: datetime | None,
    top: int,
    form: str,
) -> None:
    """Make entries of the failures of a run that no entry of the lists expects, one for each signature.

    Cause and reason are guesses, and marked so by `guess = true`. Without --to the entries go to standard output, and
    the account to standard error. Without a list, everything that failed gets an entry.
    """
    from conformance.cli.skiplist_edit_pages import proposal_document, proposal_page
    from conformance.cli.skiplist_files import edited_files, write_target, write_whole
    from conformance.cli.skiplist_runs import told_observations_of
    from conformance.report.page import write_page
    from conformance.skiplist.edit import FileEdit
    from conformance.skiplist.matching import compile_skiplist
    from conformance.skiplist.propose import listed_expectations, propose
    from conformance.skiplist.write import render_list

    skiplist = _lists(paths, device, target)
    known, run, context = _run(db, selector, today)
    listed = listed_expectations(compile_skiplist(skiplist, context), known.tests)
    found = propose(
        told_observations_of(db, run),
        listed,
        _origin(run, today, owner),
        taken={entry.id for entry in skiplist},
        fallbacks=fallbacks,
    )
    if target is None:
        where = write_target(None, render_list(found.entries))
    else:
        where = str(target)
        if found.entries:
            for file, (_, after) in edited_files({str(target): FileEdit(add=found.entries)}).items():
                write_whole(file, after)
    page = proposal_page(found, run, target=where, top=top)
    write_page(page, proposal_document(found, run, target=where), form, to_stderr=target is None)


@click.command(name="update")
@PATHS
@DEVICE
@_RUN
@_DB
@_TO
@_OWNER
@_FALLBACKS
@_APPLY
@TODAY
@TOP
@FORMAT
def update_command(
    paths: tuple[Path, ...],
    device: str | None,
    selector: str,
    db: Path,
    target: Path | None,
    owner: str,
    fallbacks: bool,
    apply: bool,
    today: datetime | None,
    top: int,
    form: str,
) -> None:
    """Make lists fit a run: prune what passes, move what does something else, add what is new.

    New entries go to --to, or else to the end of the last file. They are guesses, and marked so.
    """
    from conformance.cli.skiplist_edit_pages import update_document, update_page
    from conformance.cli.skiplist_files import edited_files, unified_diff, write_whole
    from conformance.cli.skiplist_runs import told_observations_of
    from conformance.report.page import write_page
    from conformance.skiplist.load import load_skiplist
    from conformance.skiplist.update import update, with_added

    skiplist = load_skiplist(list_paths(paths, device))
    known, run, context = _run(db, selector, today)
    found = update(
        skiplist,
        known,
        told_observations_of(db, run),
        _origin(run, today, owner),
        context=context,
        fallbacks=fallbacks,
    )
    edits = with_added(found, str(target) if target is not None else skiplist.files[-1])
    changed = edited_files(edits)
    if apply:
        for file, (_, after) in changed.items():
            write_whole(file, after)
    diff = unified_diff(changed)
    page = update_page(found, edits, diff, run, written=apply, top=top)
    write_page(page, update_document(found, edits, diff, run, written=apply), form)


def _lists(paths: tuple[Path, ...], device: str | None, target: Path | None) -> Skiplist:
    """Return the lists that say what is expected already: those named, and the one that is added to."""
    from conformance.skiplist.entry import Skiplist
    from conformance.skiplist.load import load_skiplist

    named = list_paths(paths, device) if paths or device else []
    if target is not None and target.exists():
        named = [*named, target]
    return load_skiplist(named) if named else Skiplist()


def _run(db: Path, selector: str, today: datetime | None) -> tuple[Known, RunRow, Context]:
    from conformance.cli.skiplist_runs import context_of, known_of

    known, run = known_of(db, selector)
    return known, run, context_of(run, day(today))


def _origin(run: RunRow, today: datetime | None, owner: str) -> Origin:
    from conformance.skiplist.propose import Origin

    return Origin(f"run {run.id} ({run.key[:8]})", day(today), owner, run.emulated)


def _evidence(
    paths: list[Path], db: Path, selector: str, last: int, at_least: int, today: datetime | None
) -> tuple[tuple[EntryEvidence, ...], list[RunRow], Known]:
    from conformance.cli.skiplist_runs import last_runs, observations_of
    from conformance.skiplist.load import load_skiplist
    from conformance.skiplist.stale import find_stale

    skiplist = load_skiplist(paths)
    known, _, context = _run(db, selector, today)
    runs = last_runs(db, selector, last)
    observations = [observations_of(db, run) for run in runs]
    found = find_stale(skiplist, known, observations, context=context, at_least=at_least)
    return found, runs, known
