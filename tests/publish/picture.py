"""Take the picture of the website that the README shows.

``python -m tests.publish.picture --db demo/conformance.sqlite --out docs/images/operators.png`` builds the site of the
database and photographs a page of it in Debian's Chromium; ``make demo`` writes such a database.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from conformance.publish.site_build import build_site
from tests.publish.browsing import FLAGS


def main() -> None:
    """Build, open, photograph."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description="Take the picture of the website that the README shows.")
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--page", default="operators.html")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Path(folder) / "site"
        build_site(options.db, site)
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        tab = chromium.new_page(viewport={"width": 1280, "height": 860})
        tab.goto((site / options.page).as_uri())
        tab.wait_for_load_state("load")
        tab.screenshot(path=str(options.out))
        chromium.close()


if __name__ == "__main__":
    main()
