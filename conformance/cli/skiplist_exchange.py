"""``conformance skiplist import`` and ``export``: the lists of other projects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from conformance.cli.output_options import FORMAT, TOP
from conformance.cli.skiplist_options import (
    CATEGORIES,
    EXPECTATIONS,
    EXPORTS,
    IMPORTS,
    PATHS,
    TODAY,
    checked_device,
    day,
    held_against,
    list_paths,
    run_options,
)

if TYPE_CHECKING:
    from datetime import datetime


@click.command(name="import")
@click.argument("format_name", metavar="FORMAT", type=click.Choice(IMPORTS))
@click.argument("source", metavar="FILE")
@click.option(
    "--device", metavar="DEVICE", required=True, help="The device that the list is for: npu, xpu, neuron, ..."
)
@click.option("--out", "target", metavar="FILE", type=click.Path(path_type=Path), help="The TOML file to write.")
@click.option("--force", is_flag=True, help="Replace that file if it exists.")
@click.option("--prefix", metavar="TEXT", help="What the ids of entries begin with; the default is the device.")
@click.option("--expect", type=click.Choice(EXPECTATIONS), help="What all entries expect, whatever the list says.")
@click.option("--category", type=click.Choice(CATEGORIES), default="unknown", show_default=True, help="Their cause.")
@click.option("--owner", metavar="TEXT", default="", help="Who looks after them.")
@TODAY
@TOP
@FORMAT
def import_command(
    format_name: str,
    source: str,
    device: str,
    target: Path | None,
    force: bool,
    prefix: str | None,
    expect: str | None,
    category: str,
    owner: str,
    today: datetime | None,
    top: int,
    form: str,
) -> None:
    """Turn a list of another project into a skiplist; what cannot be mapped is listed.

    \b
    FORMAT  disabled-tests  PyTorch's and Ascend's JSON of disabled tests
            neuron-spec     TorchNeuron's JSON specs (unconfirmed)
            xpu-dict        torch-xpu-ops' Python dictionaries, never executed
            array-api       skips and xfails files as of the Array API test suite
            spyre-yaml      torch-spyre's YAML configurations
            deselect        pytest's --deselect arguments

    FILE may be - for standard input. Without --out the list goes to standard output, and the account of the import to
    standard error.
    """  # noqa: D301 - a backspace tells click to keep the lines as they are
    from conformance.cli.skiplist_files import read_source, refuse_existing, write_target
    from conformance.cli.skiplist_pages import import_document, import_page
    from conformance.report.page import write_page
    from conformance.skiplist.formats import import_list
    from conformance.skiplist.formats.imported import ImportOptions
    from conformance.skiplist.vocabulary import Category, Expectation
    from conformance.skiplist.write import render_list

    refuse_existing(target, force=force)
    options = ImportOptions(
        device=checked_device(device),
        added=day(today),
        prefix=device if prefix is None else prefix,
        category=Category(category),
        owner=owner,
        expect=Expectation(expect) if expect else None,
    )
    found = import_list(format_name, read_source(source), source, options)
    comment = f"Imported from {Path(source).name} ({format_name}) by conformance skiplist import."
    where = write_target(target, render_list(found.entries, comment=comment))
    page = import_page(found, source=source, target=where, top=top)
    write_page(page, import_document(found, source=source, target=where), form, to_stderr=target is None)


@click.command(name="export")
@click.argument("format_name", metavar="FORMAT", type=click.Choice(EXPORTS))
@PATHS
@click.option(
    "--device", metavar="DEVICE", required=True, help="The device, as test names have it; without a PATH, its lists."
)
@run_options
@click.option(
    "--expect",
    "expects",
    type=click.Choice(EXPECTATIONS),
    multiple=True,
    help="Export entries that expect this; may be repeated.  [default: skip, fail, crash, timeout]",
)
@click.option("--out", "target", metavar="FILE", type=click.Path(path_type=Path), help="The file to write.")
@click.option("--force", is_flag=True, help="Replace that file if it exists.")
@TODAY
@TOP
@FORMAT
def export_command(
    format_name: str,
    paths: tuple[Path, ...],
    device: str,
    selector: str | None,
    db: Path,
    expects: tuple[str, ...],
    target: Path | None,
    force: bool,
    today: datetime | None,
    top: int,
    form: str,
) -> None:
    """Write a skiplist in the form of PyTorch; what cannot be said there is listed.

    \b
    FORMAT  disabled-tests   JSON for the variable DISABLED_TESTS_FILE
            test-exclusions  the dictionary test_exclusions of a device test base

    With --run, patterns become the tests of that run. Without --out the file goes to standard output, and the account
    to standard error.
    """  # noqa: D301 - as above
    from conformance.cli.skiplist_files import refuse_existing, write_target
    from conformance.cli.skiplist_pages import export_document, export_page
    from conformance.cli.skiplist_runs import node_ids_of
    from conformance.report.page import write_page
    from conformance.skiplist.formats import export_list
    from conformance.skiplist.formats.exported import NOT_PASSING
    from conformance.skiplist.load import load_skiplist
    from conformance.skiplist.vocabulary import Expectation

    refuse_existing(target, force=force)
    skiplist = load_skiplist(list_paths(paths, None if paths else device))
    known, context = held_against(db, selector, today)
    found = export_list(
        format_name,
        skiplist,
        checked_device(device),
        expects=[Expectation(name) for name in expects] or NOT_PASSING,
        context=context,
        known=known,
        node_ids=node_ids_of(db, selector) if selector is not None else None,
    )
    where = write_target(target, found.text)
    page = export_page(found, target=where, top=top)
    write_page(page, export_document(found, target=where), form, to_stderr=target is None)
