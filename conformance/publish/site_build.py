"""Build the website of one run of a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.publish.build import site_files
from conformance.publish.source import read_findings
from conformance.publish.write import WrittenSite, check_folder, write_site
from conformance.store import Database, RunRow

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class BuiltSite:
    """A written site and the run it shows."""

    run: RunRow
    written: WrittenSite


def build_site(database: Path, folder: Path, *, selector: str = "latest") -> BuiltSite:
    """Write the site of the selected run to the folder.

    Raises UsageError (``database-missing``, ``unknown-run``, ``not-a-site``, ...) or InfrastructureError
    (``site-unwritable``).
    """
    check_folder(folder)
    with Database.open_existing(database) as opened:
        # One snapshot: a run that is still being written must not change between two pages.
        with opened.translated():
            opened.connection.execute("BEGIN")
        findings = read_findings(opened, selector)
        written = write_site(site_files(findings), folder)
    return BuiltSite(findings.run, written)
