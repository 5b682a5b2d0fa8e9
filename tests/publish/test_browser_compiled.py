"""What the pages say of torch.compile, in a browser: search, sort, without a script, at any width, and by axe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.publish.browsing import names, search, sort, visit
from tests.publish.test_browser_look import axe_core

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

WORDS = [
    ("compile:native", ["nonzero", "sin"]),
    ("dynamic:failing", ["sin"]),
    ("compile:crash,native !dynamic:failing", ["cos", "nonzero"]),
    ("compile:no", ["add"]),
    ("dynamic:no_data status:native", ["add"]),
    ("status:native compile:native", ["nonzero", "sin"]),
    ("compile:native dtype:float32", ["nonzero", "sin"]),
]


@pytest.mark.parametrize("fixture", ["compiled_site", "beside_compiled_site"])
def test_words_find_a_status_under_torch_compile(request: pytest.FixtureRequest, tab: Page, fixture: str) -> None:
    visit(tab, request.getfixturevalue(fixture), "operators.html")
    assert tab.locator("thead th:nth-child(2)").inner_text() == "Eager"
    for words, found in WORDS:
        assert search(tab, words) == found, words


def test_the_search_of_other_pages_knows_the_words_too(tab: Page, compiled_site: Path) -> None:
    visit(tab, compiled_site, "index.html")
    for words, found in (("dynamic:failing", ["sin"]), ("compile:native", ["nonzero", "sin", "nn.Linear"])):
        tab.locator("input[data-search]").first.fill(words)
        tab.wait_for_function(
            "found => found.every(name => document.querySelector('.finds')?.textContent.includes(name))", arg=found
        )
        assert "add" not in tab.locator(".finds").first.inner_text()


def test_a_table_without_such_columns_does_not_know_the_words(tab: Page, series_site: Path) -> None:
    visit(tab, series_site, "operators.html")
    assert search(tab, "compile:native") == []
    assert tab.locator(".nothing").inner_text().startswith('There is no word "compile:" here;')
    assert "To get one: conformance run opinfo" in tab.locator(".compiled-line").inner_text()


def test_they_sort_by_gravity_and_keep_what_has_no_data_last(tab: Page, compiled_site: Path) -> None:
    visit(tab, compiled_site, "operators.html")
    sort(tab, "compile")
    assert names(tab) == ["nonzero", "sin", "cos", "add"]
    sort(tab, "compile")
    assert names(tab) == ["cos", "nonzero", "sin", "add"]


def test_the_first_failure_leads_to_its_test(tab: Page, compiled_site: Path) -> None:
    visit(tab, compiled_site, "operators/sin.html")
    tab.locator(".first-failure a").click()
    assert tab.locator("tr:target").get_attribute("id") == "opinfo::TestOperators::test_compile_dynamic_sin_float32"
    assert tab.locator("section[aria-labelledby=compiled-title] b:not([aria-hidden])").count() == 0


@pytest.mark.parametrize("width", [320, 1280, 1500, 1700])
def test_all_can_be_read_without_a_script_at_any_width(
    browser: Browser, beside_compiled_site: Path, width: int
) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": width, "height": 900})
    tab = context.new_page()
    for name in ("operators.html", "modules.html", "operators/sin.html", "operators/add.html", "method.html"):
        visit(tab, beside_compiled_site, name)
        box = tab.locator("main").bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width, name
        assert tab.locator("html").evaluate("html => html.scrollWidth") <= width, name
    visit(tab, beside_compiled_site, "operators.html")
    assert tab.locator("table.subjects tbody td:nth-child(3) .chip:visible").count() == 4
    assert "of run 2 (2026-11-02)" in tab.locator(".compiled-line").inner_text()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["operators.html", "operators/sin.html", "operators/add.html"])
def test_axe_finds_nothing(browser: Browser, beside_compiled_site: Path, name: str, scheme: Any) -> None:
    axe = axe_core()
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    rules = {"type": "rule", "values": ["color-contrast"]} if scheme == "dark" else {"type": "tag", "values": standards}
    visit(tab, beside_compiled_site, name)
    tab.evaluate(axe)
    found = tab.evaluate("rules => axe.run(document, { runOnly: rules })", rules)
    context.close()
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
