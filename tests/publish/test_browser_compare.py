from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.publish.browsing import visit
from tests.publish.building import built
from tests.publish.reading import page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def _groups(tab: Page) -> dict[str, list[tuple[str, str, str]]]:
    """Return what changed: by the word of each group, the tests with their outcomes before and after."""
    found = {}
    for section in tab.locator(".comparison section:has(.changed-tests)").all():
        rows = section.locator("tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))"
        )
        found[section.locator("h2").inner_text()] = [tuple(row) for row in rows]
    return found


def _subjects(tab: Page) -> list[list[str]]:
    rows: list[list[str]] = tab.locator(".comparison table.changed tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))"
    )
    return rows


def test_the_script_says_the_same_as_the_page_was_built_with(tab: Page, series_site: Path) -> None:
    visit(tab, series_site, "compare.html")
    groups, subjects = _groups(tab), _subjects(tab)
    assert len(groups) > 2
    assert groups
    assert subjects
    # The same two runs, compared by the script: swapped twice.
    tab.locator(".swap").click()
    tab.wait_for_url("**/compare.html#from=4&to=3")
    tab.wait_for_selector(".comparison .lead:has-text('From 4')")
    backwards = _groups(tab)
    tab.locator(".swap").click()
    tab.wait_for_selector(".comparison .lead:has-text('From 3')")
    assert _groups(tab) == groups
    assert _subjects(tab) == subjects
    assert backwards != groups


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 3), (1, 4)])
def test_any_two_runs_compare_as_the_server_would(
    tab: Page, series_database: Path, series_site: Path, tmp_path: Path, before: int, after: int
) -> None:
    visit(tab, series_site, f"compare.html#from={before}&to={after}")
    tab.wait_for_selector(f".comparison .lead:has-text('From {before}')")
    groups, subjects = _groups(tab), _subjects(tab)
    if before == after - 1:
        site = built(series_database, tmp_path / "site", selector=str(after))
        sections = page(site / "compare.html").one("div", class_="comparison").all("section")
        assert [section.one("h2").text for section in sections if section.all("table", class_="changed-tests")] == [
            heading.replace("\n", "") for heading in groups
        ]
        for section, rows in zip(
            [section for section in sections if section.all("table", class_="changed-tests")],
            groups.values(),
            strict=True,
        ):
            assert [
                tuple(cell.text for cell in (*row.all("th"), *row.all("td"))) for row in section.one("tbody").all("tr")
            ] == rows
    assert groups
    assert subjects


def test_a_run_that_is_not_complete_is_called_so(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "compare.html#from=1&to=3")
    tab.wait_for_selector(".comparison .notice")
    assert tab.locator(".comparison .notice").inner_text().startswith("Run 3 is not complete.")
    assert "Selection" in tab.locator("table.differences").inner_text()
    assert "lost" in tab.locator(".comparison").inner_text()


def test_an_address_of_runs_that_are_not_there_changes_nothing(tab: Page, series_site: Path) -> None:
    visit(tab, series_site, "compare.html#from=1&to=99")
    assert tab.input_value("#from") == "3"
    assert tab.input_value("#to") == "4"
