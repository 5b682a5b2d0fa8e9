"""``conformance opdb``: what PyTorch has to offer, version by version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from conformance.cli.output_options import FORMAT

if TYPE_CHECKING:
    from conformance.model.overload import Snapshot


@click.group("opdb")
def command() -> None:
    """List, compare and record PyTorch's operators, overloads and modules."""


@command.command("show", short_help="Show one operator, overload or module, or how much there is.")
@click.argument("name", required=False)
@click.option(
    "--snapshot",
    "source",
    metavar="VERSION|DIR",
    help="Which torch. Default: the installed one, or else the newest.",
)
@FORMAT
def show(name: str | None, source: str | None, form: str) -> None:
    """Show an operator, an overload (aten::add.Tensor) or a module; without NAME what there is of each.

    For an operator: group, dtypes, what it supports, and the overloads that it reaches. For an overload: signature,
    tags, dispatch, and the operators that reach it.
    """
    from conformance.analysis.opdb import load
    from conformance.cli import opdb_show
    from conformance.report.output import write_report

    snapshot = load(source) if source is not None else _default()
    page = opdb_show.overview(snapshot) if name is None else opdb_show.entry(snapshot, name)
    write_report(opdb_show.render(page, form))


@command.command("diff", short_help="Show what differs between two torch versions.")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@FORMAT
@click.option(
    "--top",
    type=click.IntRange(min=0),
    metavar="N",
    default=20,
    show_default=True,
    help="Show N entries of each list (one more rather than hide one); 0: all. JSON has all.",
)
def diff(before: str, after: str, form: str, top: int) -> None:
    """Show what is added, removed and changed from snapshot A to B; each is a torch version or a folder.

    The exit code is 0 whether or not they differ.
    """
    from conformance.analysis.opdb import load
    from conformance.analysis.opdb_diff import compare
    from conformance.cli import opdb_diff
    from conformance.report.output import write_report

    write_report(opdb_diff.render(compare(load(before), load(after)), form, top=top or None))


@command.command("snapshot", short_help="Record the installed torch.")
@click.option(
    "--out",
    "parent",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default="op_db",
    show_default=True,
    help="Gets a folder named after the torch version; an earlier snapshot in it is replaced.",
)
def snapshot(parent: Path) -> None:
    """Record the installed torch's operators, overloads and modules, for `show` and `diff`.

    Runs samples of every operator on the CPU to see which overloads each reaches; takes about a minute.
    """
    import os
    import sys

    # What an installed backend registers is its own, not PyTorch's.
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    from conformance.analysis.opdb import public_version
    from conformance.analysis.opdb_diff import sizes_of
    from conformance.engine.facts import check_torch
    from conformance.suites.snapshot import operator_count, prepare_folder, take_snapshot, write_snapshot

    folder = prepare_folder(parent, public_version(check_torch()))
    with click.progressbar(length=operator_count(), label="measuring operators", file=sys.stderr) as bar:
        taken = take_snapshot(progress=lambda _: bar.update(1))
    size = write_snapshot(taken, folder)
    sizes = sizes_of(taken)
    click.echo(
        f"{folder}: torch {taken.torch}, {sizes['operators']:,} operators, {sizes['overloads']:,} overloads "
        f"({sizes['overloads reached by operators']:,} reached by operators), {sizes['modules']:,} modules; "
        f"{size / 1e3:,.0f} kB"
    )


@command.command("architectures", short_help="Record which overloads architectures call.")
@click.option(
    "--out",
    "parent",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default="op_db",
    show_default=True,
    help="Its folder named after the torch version gets the record.",
)
def architectures(parent: Path) -> None:
    """Record which overloads each architecture of the installed transformers calls, for the website.

    Runs tiny models on tensors that say they are on a device and compute on the CPU; takes about a minute.
    """
    import os
    import sys

    # The device that is pretended takes the place of an installed backend.
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    from conformance.analysis.calls import FILE, text_of
    from conformance.analysis.opdb import public_version
    from conformance.engine.facts import check_torch
    from conformance.errors import InfrastructureError
    from conformance.readiness.calls import record_calls
    from conformance.report.words import counted
    from conformance.suites.models.tiny import architectures as every
    from conformance.suites.snapshot import prepare_folder

    folder = prepare_folder(parent, public_version(check_torch()))
    with click.progressbar(length=len(every()), label="recording architectures", file=sys.stderr) as bar:
        calls = record_calls(progress=lambda _: bar.update(1))
    try:
        (folder / FILE).write_text(text_of(calls), encoding="utf-8", newline="\n")
    except OSError as error:
        raise InfrastructureError(
            "snapshot-unwritable", f"cannot write {folder / FILE}: {error.strerror or error}; give --out another folder"
        ) from error
    click.echo(
        f"{folder / FILE}: torch {calls.torch}, transformers {calls.transformers}, "
        f"{counted(len(calls.overloads), 'architecture')} recorded, {len(calls.unseen):,} not or in part"
    )


def _default() -> Snapshot:
    """Load the installed torch's snapshot, or the newest with a note on stderr."""
    from importlib.metadata import PackageNotFoundError, version

    from conformance.analysis.opdb import load, public_version, versions
    from conformance.errors import UsageError

    known = versions()
    try:
        installed = public_version(version("torch"))
    except PackageNotFoundError:
        installed = ""
    if installed in known:
        return load(installed)
    if not known:
        raise UsageError("unknown-snapshot", "there is no snapshot; `conformance opdb snapshot` takes one")
    why = f"there is no snapshot of torch {installed}, which is installed" if installed else "torch is not installed"
    click.echo(
        f"conformance: {why}: this is torch {known[-1]}; `conformance opdb snapshot` takes one for --snapshot",
        err=True,
    )
    return load(known[-1])


@command.command("registrations", short_help="Show what a backend has registered for every ATen overload.")
@click.option("--device", metavar="DEVICE", help="Ask the backend of this device, here and now.")
@click.option(
    "--run", "selectors", metavar="SELECTOR", multiple=True, help="As recorded by a run; two: how they differ."
)
@click.option(
    "--db",
    type=click.Path(path_type=Path),
    envvar="CONFORMANCE_DB",
    default="conformance.sqlite",
    show_default=True,
    help="The database that --run is in.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(["kernel", "composite", "fallback", "missing"]),
    help="List the overloads of this kind; may be repeated.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def registrations(device: str | None, selectors: tuple[str, ...], db: Path, kinds: tuple[str, ...], form: str) -> None:
    """Show for how many overloads the backend has a kernel, a composite, a fallback to the CPU, or nothing."""
    from conformance.cli import opdb_registrations as pages
    from conformance.errors import UsageError
    from conformance.report.output import write_report

    if bool(device) == bool(selectors) or len(selectors) > 2:
        raise UsageError("one-source", "give --device DEVICE, or --run RUN once, or twice for the difference")
    if device:
        from conformance.devices import adapter_for
        from conformance.probes.registrations import registrations as ask

        adapter = adapter_for(device)
        adapter.prepare()
        adapter.load()
        name = adapter.describe().device_name
        write_report(pages.render(ask(adapter.device), form, title=f"{device} ({name})", kinds=kinds))
        return
    from conformance.store import Database, registrations, resolve_run

    with Database.open_existing(db) as database:
        found = [(run := resolve_run(database, selector), registrations(database, run.id)) for selector in selectors]
    for run, rows in found:
        if not rows:
            raise UsageError(
                "no-registrations", f"run {run.id} of {db} recorded no registrations: it ran on {run.device}"
            )
    titles = [f"run {run.id} on {run.device}, torch {run.torch_version}" for run, _ in found]
    if len(found) == 1:
        write_report(pages.render(found[0][1], form, title=titles[0], kinds=kinds))
        return
    before, after = ({each.overload: each.kind for each in rows} for _, rows in found)
    write_report(pages.render_difference(before, after, form, title=" and ".join(titles)))
