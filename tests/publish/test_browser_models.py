"""The page of architectures in a browser: search, filter, keyboard, without a script, and what axe says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.publish.browsing import names, search, settled, sort, visit
from tests.publish.test_browser_look import axe_core

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

WORST_FIRST = [
    *("mamba", "mixtral", "t5", "jamba", "olmo", "bloom", "falcon", "gemma3n", "<b>evil</b>", "llama"),
]


def test_the_worst_come_first_and_words_narrow_the_table(tab: Page, models_site: Path) -> None:
    visit(tab, models_site, "models.html")
    assert names(tab) == WORST_FIRST
    assert search(tab, "status:native") == ["<b>evil</b>", "llama"]
    assert search(tab, "eager:failed") == ["mixtral", "t5", "jamba"]
    assert search(tab, "train:passed !status:native") == ["mamba", "falcon"]
    assert search(tab, "eager:passed_on_cpu") == ["falcon"]
    assert search(tab, "compile:no") == WORST_FIRST
    assert search(tab, "blocked:linalg_qr") == ["mixtral", "jamba"]
    assert search(tab, "aten::sin") == ["t5", "falcon"]
    assert search(tab, "aten::exp") == ["t5"]
    assert search(tab, "calls:aten::exp") == search(tab, "calls:exp") == ["t5"]
    assert search(tab, "calls:aten::s") == ["t5", "falcon"]
    assert search(tab, "message:package") == ["olmo", "gemma3n"]
    assert tab.locator(".controls output").inner_text() == "2 of 10 architectures"
    tab.reload()
    assert names(tab) == ["olmo", "gemma3n"]


def test_a_status_is_chosen_by_a_button_with_the_keyboard_alone(tab: Page, models_site: Path) -> None:
    visit(tab, models_site, "models.html")
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.id") == "q"
    button = tab.locator(".statuses button", has_text="failing")
    button.focus()
    tab.keyboard.press("Enter")
    assert names(tab) == ["mixtral", "t5"]
    assert button.get_attribute("aria-pressed") == "true"
    assert tab.url.endswith("models.html#q=status%3Afailing")
    sort(tab, "name")
    assert tab.locator("thead th[data-key='name']").get_attribute("aria-sort") == "ascending"


def test_an_architecture_has_an_address_that_the_search_of_other_pages_leads_to(tab: Page, models_site: Path) -> None:
    visit(tab, models_site, "index.html")
    tab.fill("#find-main", "llama")
    tab.wait_for_selector(".finds [aria-label=architectures]")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/models.html#m-llama")
    assert tab.evaluate("document.querySelector('tr:target').id") == "m-llama"
    settled(tab)


def test_the_command_of_a_row_opens_without_a_mouse(tab: Page, models_site: Path) -> None:
    visit(tab, models_site, "models.html")
    summary = tab.locator("#m-mixtral summary")
    summary.focus()
    tab.keyboard.press("Enter")
    assert "--test models::TestModels::test_forward_mixtral" in tab.locator("#m-mixtral .command").inner_text()
    assert tab.locator("#m-llama summary").count() == 0


def test_a_cell_leads_to_its_test_and_a_message_to_its_cause(tab: Page, models_site: Path) -> None:
    visit(tab, models_site, "models.html")
    tab.locator("#m-falcon td a.cell").first.click()
    tab.wait_for_url("**/files/models.html#models::TestModels::test_forward_falcon")
    visit(tab, models_site, "models.html")
    tab.locator("#m-mixtral .message a").click()
    tab.wait_for_url("**/failures.html#s-*")
    assert "aten::linalg_qr" in tab.locator("tr:target").inner_text()


@pytest.mark.parametrize("width", [320, 390, 1100, 1500])
def test_every_row_can_be_read_without_a_script_at_any_width(browser: Browser, models_site: Path, width: int) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": width, "height": 900})
    tab = context.new_page()
    visit(tab, models_site, "models.html")
    assert tab.locator("table.models tbody tr:visible").count() == 10
    assert tab.locator(".static-legend").is_visible()
    assert tab.locator(".controls >> visible=true").count() == 0
    boxes = [tab.locator("table.models tbody tr").nth(row).bounding_box() for row in range(10)]
    # A column without room makes a row as high as its message is long.
    assert max(box["height"] for box in boxes if box) < 360
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("fixture", ["models_site", "beside_models_site", "series_site"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, browser: Browser, fixture: str, scheme: Any) -> None:
    axe = axe_core()
    site: Path = request.getfixturevalue(fixture)
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    rules = {"type": "rule", "values": ["color-contrast"]} if scheme == "dark" else {"type": "tag", "values": standards}
    visit(tab, site, "models.html")
    tab.evaluate(axe)
    found = tab.evaluate("rules => axe.run(document, { runOnly: rules })", rules)
    context.close()
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
