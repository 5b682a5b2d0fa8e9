"""Build the coverage website, and serve it for a look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


@click.group(name="site")
def command() -> None:
    """Publish the coverage of a run as a static website."""


def _source_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what the site is made of."""
    database = click.option(
        "--db",
        "database",
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="CONFORMANCE_DB",
        default=Path("conformance.sqlite"),
        show_default=True,
        help="Database to read; it is never changed.",
    )
    run = click.option(
        "--run",
        "selector",
        default="best",
        show_default=True,
        help="Run to show: best (the latest complete one, the latest of all where none is), latest, latest-complete, "
        "its number, or the start of its key.",
    )
    return database(run(function))


@command.command(name="build")
@_source_options
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of the site: new, empty, or an earlier site, which is replaced as a whole.",
)
@click.option(
    "--base-url",
    "address",
    default="",
    help="Where the site will be on the web, such as https://example.org/neuron/: makes the addresses in its feed "
    "whole, and writes sitemap.xml.",
)
def build(database: Path, folder: Path, selector: str, address: str) -> None:
    """Write the site of one run to a folder.

    The pages need no server and no network: open index.html, or copy the folder to any web server.
    """
    from conformance.publish.site_build import build_site

    built = build_site(database, folder, selector=selector, address=address)
    run, written = built.run, built.written
    emulated = " (EMULATED)" if run.emulated else ""
    click.echo(
        f"{written.folder / 'index.html'}: run {run.id} on {run.device}{emulated}, {run.state}; "
        f"{written.files:,} files, {written.size / 1e6:.1f} MB"
    )


@command.command(name="serve")
@_source_options
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
def serve(database: Path, selector: str, port: int, host: str) -> None:
    """Serve the site of one run, and build it again when the database has changed.

    For a look while working; the site that others see is made by `site build`. Ctrl-C ends it.
    """
    from contextlib import suppress

    from conformance.publish.serve import Served

    with Served(database, selector=selector, host=host, port=port) as served, suppress(KeyboardInterrupt):
        click.echo(f"{served.address} shows {database}; Ctrl-C ends it")
        served.run()
