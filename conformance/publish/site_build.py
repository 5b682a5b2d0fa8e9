"""Build the website of one run of a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from conformance.errors import UsageError
from conformance.publish.build import site_files
from conformance.publish.source import BEST, read_findings
from conformance.publish.write import WrittenSite, check_folder, write_site
from conformance.store import Database, RunRow

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class BuiltSite:
    """A written site and the run it shows."""

    run: RunRow
    written: WrittenSite


def build_site(database: Path, folder: Path, *, selector: str = BEST, address: str = "") -> BuiltSite:
    """Write the site of the selected run to the folder; ``address`` is where it will be on the web, if that is known.

    Raises UsageError (``database-missing``, ``unknown-run``, ``not-a-site``, ``not-an-address``, ...) or
    InfrastructureError (``site-unwritable``).
    """
    address = whole_address(address)
    check_folder(folder)
    with Database.open_existing(database) as opened:
        # One snapshot: a run that is still being written must not change between two pages.
        with opened.translated():
            opened.connection.execute("BEGIN")
        findings = read_findings(opened, selector)
        written = write_site(site_files(findings, address=address), folder)
    return BuiltSite(findings.run, written)


def whole_address(text: str) -> str:
    """Return the address of a site with a slash at its end; empty for none.

    Raises UsageError (``not-an-address``) for what is no address of the web, or has a query or fragment.
    """
    if not text:
        return ""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment or " " in text:
        raise UsageError(
            "not-an-address",
            f"'{text}' is no address of a site; give --base-url one such as https://example.org/neuron/",
        )
    return text if text.endswith("/") else f"{text}/"
