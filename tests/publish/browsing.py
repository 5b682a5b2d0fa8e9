"""Drive the pages in headless Chromium."""

from __future__ import annotations

import os
import shutil
from http.server import SimpleHTTPRequestHandler
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without a word."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is the base class's)
        """Keep the requests out of the tests' output."""


def missing(what: str) -> None:
    """Leave the test out, or fail it where nothing may be left out."""
    if os.environ.get("CI"):
        pytest.fail(f"the browser tests need {what}; install it, CI does not leave them out")
    pytest.skip(f"needs {what}")


def chromium_path() -> str:
    """Return where Chromium is; without it the test is left out."""
    found = shutil.which("chromium")
    if found is None:
        missing("an executable named chromium on PATH")
    return str(found)


def visit(tab: Page, site: Path, name: str) -> None:
    """Open a page of a site, with what stands behind the ``#``."""
    path, mark, fragment = name.partition("#")
    tab.goto((site / path).as_uri() + mark + fragment)


def settled(tab: Page) -> None:
    """Wait until a table of the page shows all rows that fit."""
    tab.wait_for_function("() => !document.querySelector('table.found[aria-busy=true]')")


def names(tab: Page) -> list[str]:
    """Return the names in the table of the page, in their order."""
    settled(tab)
    # Rows that do not fit are not in the table at all.
    return tab.locator("table.found tbody tr > th").all_inner_texts()


def search(tab: Page, text: str) -> list[str]:
    """Search in the table of the page and return what is left."""
    tab.fill("#q", text)
    return names(tab)


def sort(tab: Page, key: str) -> None:
    """Sort the table of the page by a column."""
    tab.locator(f"thead th[data-key='{key}'] button").click()
    settled(tab)
