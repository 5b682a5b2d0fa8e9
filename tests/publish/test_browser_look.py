from __future__ import annotations

import os
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.publish.browsing import Quiet, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PAGES = (
    *("index", "operators", "overloads", "modules", "tests", "slowest", "failures", "skiplist", "compare", "runs"),
    *("method", "models", "operators/linalg.qr", "operators/sin", "operators/nonzero"),
)
WITH_MODELS = ("index", "models", "operators/linalg.qr", "operators/sin")


def test_everything_can_be_read_without_javascript(browser: Browser, series_site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    for name in PAGES:
        visit(tab, series_site, f"{name}.html")
        assert tab.locator(".controls, .pair").locator("visible=true").count() == 0, name
        # The rows that the page was built with: one begins with each <tr.
        assert tab.locator("main tr").count() == (series_site / f"{name}.html").read_text().count("<tr"), name
    visit(tab, series_site, "operators.html")
    assert tab.locator("table.subjects tbody tr:visible").count() == 16
    assert tab.locator(".static-legend").is_visible()
    visit(tab, series_site, "tests.html")
    assert tab.locator(".all-tests tbody tr:visible").count() == 92
    context.close()


def test_the_site_works_below_a_folder_of_a_web_server(tab: Page, sample_site: Path) -> None:
    folder = partial(Quiet, directory=str(sample_site.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), folder) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        tab.goto(f"http://127.0.0.1:{server.server_port}/{sample_site.name}/")
        tab.fill("#find-main", "addm")
        tab.keyboard.press("Enter")
        tab.wait_for_url("**/site/operators.html#q=addm")
        tab.locator("table.subjects tbody a:visible").click()
        tab.wait_for_url("**/site/operators/addmm.html")
        assert tab.evaluate("getComputedStyle(document.querySelector('.emulated p')).textAlign") == "center"
        tab.wait_for_load_state("networkidle")  # or the icon's request could meet a closed server
        server.shutdown()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_page_is_wider_than_its_window(tab: Page, series_site: Path, beside_models_site: Path, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 800})
    for name in PAGES:
        visit(tab, series_site, f"{name}.html")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, name
    for name in WITH_MODELS:
        visit(tab, beside_models_site, f"{name}.html")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, name


@pytest.mark.parametrize("width", [390, 1280, 1600])
def test_the_head_of_the_table_stays_in_view(tab: Page, sample_site: Path, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 800})
    visit(tab, sample_site, "operators.html")
    place = "document.querySelector('.scroll-page')"
    tab.evaluate(f"{place}.scrollIntoView(); {place}.scrollTop = 1000; scrollBy(0, 500 * (innerWidth > 1200))")
    head = tab.locator("thead th[data-key='name']").bounding_box()
    first_row = tab.locator("table.subjects tbody tr").first.bounding_box()
    assert head is not None
    assert first_row is not None
    assert head["y"] == pytest.approx(0, abs=1)
    assert first_row["y"] < 0


def test_dark_mode_and_style_sheet_are_in_effect(browser: Browser, sample_site: Path) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        tab = context.new_page()
        visit(tab, sample_site, "operators/add.html")
        grounds[scheme] = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        context.close()
    assert grounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 23, 28)"}


def test_paper_is_white_and_has_no_controls(browser: Browser, series_site: Path) -> None:
    context = browser.new_context(color_scheme="dark")
    tab = context.new_page()
    tab.emulate_media(media="print")
    for name in ("index", "operators", "tests", "compare"):
        visit(tab, series_site, f"{name}.html")
        tab.wait_for_timeout(50)
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        for hidden in (".top nav", ".controls", ".find", ".pair"):
            assert tab.locator(f"{hidden} >> visible=true").count() == 0, (name, hidden)
    context.close()


def test_markup_in_names_and_messages_does_nothing(tab: Page, series_site: Path) -> None:
    for name in PAGES:
        visit(tab, series_site, f"{name}.html")
        assert tab.locator("img, iframe, script:not([src])").count() == 0, name
    visit(tab, series_site, "skiplist.html")
    links = tab.locator("main a").evaluate_all("links => links.map(link => link.protocol)")
    assert set(links) <= {"file:", "https:"}
    visit(tab, series_site, "index.html")
    tab.fill("#find-main", "<script>")
    tab.wait_for_selector(".finds [role=option]")
    assert tab.locator(".finds script").count() == 0
    assert tab.locator(".finds [role=option]").first.inner_text().startswith("<script>alert(1)</script>")


def axe_core() -> str:
    """Return the text of axe-core; where npm has not brought it, the tests that need it are left out."""
    here = Path(__file__).resolve().parent
    folders = [Path(os.environ["AXE_CORE"])] if "AXE_CORE" in os.environ else []
    folders += [here / "node_modules" / "axe-core", here.parent.parent / "node_modules" / "axe-core"]
    for folder in folders:
        if (folder / "axe.min.js").is_file():
            return (folder / "axe.min.js").read_text(encoding="utf-8")
    pytest.skip("needs axe-core: `npm install --prefix tests/publish`")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, series_site: Path, scheme: Any) -> None:
    axe = axe_core()
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    # What is not about colours is the same in the dark.
    standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    rules = {"type": "rule", "values": ["color-contrast"]} if scheme == "dark" else {"type": "tag", "values": standards}
    problems = []
    # 3,000 rows of one kind take axe long and tell no more than the rows of other tables.
    for name in (each for each in PAGES if each not in ("overloads", "operators/sin", "operators/nonzero")):
        visit(tab, series_site, f"{name}.html")
        if name == "tests":
            tab.wait_for_selector("table.listed")
        tab.evaluate(axe)
        found = tab.evaluate("rules => axe.run(document, { runOnly: rules })", rules)
        problems += [(name, each["id"], each["nodes"][0]["html"]) for each in found["violations"]]
    context.close()
    assert problems == []


def test_axe_finds_nothing_in_the_list_of_finds(browser: Browser, series_site: Path) -> None:
    axe = axe_core()
    context = browser.new_context()
    tab = context.new_page()
    visit(tab, series_site, "index.html")
    tab.fill("#find-main", "exp")
    tab.wait_for_selector(".finds [aria-label=tests]")
    tab.keyboard.press("ArrowDown")
    tab.evaluate(axe)
    found = tab.evaluate("axe.run(document.querySelector('.find'))")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
    context.close()
