"""Build the coverage website."""

from __future__ import annotations

from pathlib import Path

import click


@click.group(name="site")
def command() -> None:
    """Publish the coverage of a run as a static website."""


@command.command(name="build")
@click.option(
    "--db",
    "database",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="CONFORMANCE_DB",
    default=Path("conformance.sqlite"),
    show_default=True,
    help="Database to read; it is never changed.",
)
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of the site: new, empty, or an earlier site, which is replaced as a whole.",
)
@click.option(
    "--run",
    "selector",
    default="latest",
    show_default=True,
    help="Run to show: latest, latest-complete, its number, or the start of its key.",
)
def build(database: Path, folder: Path, selector: str) -> None:
    """Write the site of one run to a folder.

    The pages need no server and no network: open index.html, or copy the folder to any web server.
    """
    from conformance.publish.site_build import build_site

    built = build_site(database, folder, selector=selector)
    run, written = built.run, built.written
    emulated = " (EMULATED)" if run.emulated else ""
    click.echo(
        f"{written.folder / 'index.html'}: run {run.id} on {run.device}{emulated}, {run.state}; "
        f"{written.files:,} files, {written.size / 1e6:.1f} MB"
    )
