from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import rows
from tests.publish.browsing import names, search, visit

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_the_slash_key_goes_to_the_search_of_each_page(tab: Page, sample_site: Path) -> None:
    for name, field in (
        ("index.html", "find-main"),
        ("operators.html", "q"),
        ("tests.html", "q"),
        ("operators/add.html", "find-top"),
    ):
        visit(tab, sample_site, name)
        if field == "q":
            tab.wait_for_selector(".controls:not([hidden])")
        tab.keyboard.press("/")
        assert tab.evaluate("document.activeElement.id") == field
        tab.keyboard.type("a/b")
        assert tab.input_value(f"#{field}") == "a/b"


def test_what_is_typed_is_answered_with_all_that_fits(tab: Page, series_site: Path) -> None:
    visit(tab, series_site, "index.html")
    tab.fill("#find-main", "exp")
    tab.wait_for_selector(".finds [role=option]:has-text('test_forward_exp')")
    groups = tab.locator(".finds [role=group]").evaluate_all("groups => groups.map(g => g.getAttribute('aria-label'))")
    assert groups == ["operators", "overloads", "tests"]
    first = tab.locator(".finds [role=option]").first
    assert first.inner_text().split("\n") == ["exp", "P", "partial"]
    assert "aten::exp" in tab.locator(".finds [aria-label=overloads] [role=option]").first.inner_text()
    assert tab.get_attribute("#find-main", "aria-expanded") == "true"


def test_the_arrow_keys_choose_and_enter_goes_there(tab: Page, series_site: Path) -> None:
    visit(tab, series_site, "index.html")
    tab.fill("#find-main", "exp")
    tab.wait_for_selector(".finds [aria-label=overloads]")
    tab.focus("#find-main")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    active = tab.get_attribute("#find-main", "aria-activedescendant")
    assert tab.locator(f"#{active}").get_attribute("aria-selected") == "true"
    assert "aten::exp" in tab.locator(f"#{active}").inner_text()
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/overloads.html#o-aten::exp")


def test_escape_closes_the_list_and_leaves_the_words(tab: Page, series_site: Path) -> None:
    visit(tab, series_site, "runs.html")
    tab.fill("#find-top", "sin")
    tab.wait_for_selector(".finds:not([hidden])")
    tab.keyboard.press("Escape")
    assert tab.locator(".finds").is_hidden()
    assert tab.input_value("#find-top") == "sin"


def test_the_list_leads_to_everything_of_a_kind(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "index.html")
    tab.fill("#find-main", "add")
    tab.wait_for_selector(".finds .all:has-text('tests')")
    tab.locator(".finds .all", has_text="tests").click()
    tab.wait_for_url("**/tests.html#q=add")
    tab.wait_for_selector("table.listed")
    assert tab.locator(".controls output").inner_text() == "27 of 532 tests"


@pytest.mark.parametrize(
    ("sought", "found"),
    [
        ("addmm", "operators/addmm.html"),
        ("torch.LINALG.svd", "operators/linalg.svd.html"),
        ("F.conv2d", "operators/nn.functional.conv2d.html"),
        ("torch.nn.functional.conv2d()", "operators/nn.functional.conv2d.html"),
        ("nn.LSTM", "modules/nn.LSTM.html"),
        ("torch.nn.lstm", "modules/nn.LSTM.html"),
        ("aten::abs.out", "overloads.html#o-aten::abs.out"),
        ("addm", "operators.html#q=addm"),
        ("segmentation fault", "failures.html#q=segmentation%20fault"),
        ("nothing of the kind", "operators.html#q=nothing%20of%20the%20kind"),
    ],
)
def test_enter_leads_to_the_page_of_an_exact_name_or_to_a_table(
    tab: Page, sample_site: Path, sought: str, found: str
) -> None:
    visit(tab, sample_site, "runs.html")
    tab.fill("#find-top", sought)
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"**/{found}".replace("%20", "*"))


def test_the_search_of_an_operator_page_works_from_its_folder(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators/add.html")
    tab.fill("#find-top", "odd.<script>")
    tab.wait_for_selector(".finds [role=option]")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/operators.html#q=*")
    assert len(names(tab)) == 1


def test_a_table_points_to_what_else_fits(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html")
    assert search(tab, "torch.nn.lst") == []
    assert tab.locator(".nothing").is_visible()
    tab.wait_for_selector(".elsewhere:has-text('module')")
    assert tab.locator(".elsewhere").inner_text().startswith("Elsewhere: 1 module (nn.LSTM)")
    tab.fill("#q", "linear")
    tab.wait_for_selector(".elsewhere:has-text('nn.Linear')")
    tab.locator(".elsewhere a", has_text="tests").click()
    tab.wait_for_url("**/tests.html#q=linear")
    tab.wait_for_selector("table.listed")
    tab.fill("#q", "")
    tab.wait_for_function("() => document.querySelector('.elsewhere').hidden")


_LINEAR_ALGEBRA = "('matmul', 'bmm', 'addmm', 'linalg.det', 'linalg.svd', 'linalg.qr', 'linalg.solve', 'einsum', 'dot')"
_CRASHING = "(SELECT op FROM operator_status WHERE run_id = 1 AND dtype = 'bfloat16' AND status = 'crashing')"

# The words of a search, and the condition in SQL that says the same.
TESTS = [
    ("", "1"),
    (
        "status:crashing dtype:bfloat16 group:linalg !passed",
        f"op IN {_CRASHING} AND dtype = 'bfloat16' AND op IN {_LINEAR_ALGEBRA} AND outcome != 'passed'",
    ),
    ("outcome:passed_on_cpu", "outcome = 'passed' AND fallback_ops != ''"),
    ("outcome:passed", "outcome = 'passed' AND coalesce(fallback_ops, '') = ''"),
    ("outcome:pass", "outcome = 'passed'"),
    ("passed op:abs", "outcome = 'passed' AND op LIKE '%abs%'"),
    ("template:backward outcome:timed", "template LIKE '%backward%' AND outcome = 'timed_out'"),
    ("module:lstm", "module LIKE '%lstm%'"),
    ("file:test_local outcome:flaky,error", "file LIKE '%test_local%' AND outcome IN ('flaky', 'error')"),
    ("suite:modules fallback", "suite = 'modules' AND fallback_ops != ''"),
    ("is:slow", "duration_s >= 1"),
    ("is:listed", "entry != ''"),
    ("script", "test_id LIKE '%script%'"),
]


def test_every_test_is_found_by_its_words(tab: Page, sample_database: Path, sample_site: Path) -> None:
    visit(tab, sample_site, "tests.html")
    tab.wait_for_selector("table.listed")
    for words, condition in TESTS:
        ((count,),) = rows(sample_database, f"SELECT count(*) FROM test_results WHERE run_id = 1 AND {condition}")
        tab.fill("#q", words)
        assert tab.locator(".controls output").inner_text() == f"{count} of 532 tests", words
        assert tab.locator("table.listed tbody tr").count() == min(count, 60), words


def test_the_table_of_tests_grows_sorts_and_leads_to_each(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "tests.html")
    tab.wait_for_selector("table.listed")
    shown = tab.locator("table.listed tbody tr")
    assert 50 < shown.count() < 532
    tab.locator("thead th[data-key=time] button").click()
    assert tab.locator("table.listed tbody td.num").first.inner_text() == "1 min 00 s"
    assert "sort=time&dir=desc" in tab.url
    for _ in range(200):  # as long as a busy machine needs
        tab.evaluate("scrollTo(0, document.body.scrollHeight)")
        tab.wait_for_timeout(40)
        if shown.count() == 532:
            break
    assert shown.count() == 532
    tab.fill("#q", "test_names")
    tab.locator("table.listed tbody a").first.click()
    tab.wait_for_url("**/files/*.html#t-*")
    # The line lies in a part that is folded until a link leads there.
    assert tab.locator("tr:target").is_visible()


def test_a_test_of_an_operator_has_its_own_address(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "tests.html#q=id:test_forward_add_float32")
    tab.wait_for_selector("table.listed tbody a")
    tab.locator("table.listed tbody th a").first.click()
    tab.wait_for_url("**/operators/add.html#opinfo::TestOperators::test_forward_add_float32")
    assert tab.locator("tr:target").is_visible()


def test_a_command_can_be_copied_with_the_keyboard(tab: Page, sample_site: Path) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(tab, sample_site, "failures.html")
    button = tab.locator(".copy").first
    button.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_function("() => document.querySelector('.copy').textContent === 'Copied'")
    assert tab.locator(".said").inner_text() == "The command is copied."
    command = tab.locator(".command").first.text_content()
    assert command is not None
    assert tab.evaluate("navigator.clipboard.readText()") == command


def test_without_a_clipboard_a_command_is_copied_by_its_selection(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "failures.html")
    tab.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    tab.locator(".copy").first.click()
    tab.wait_for_function("() => document.querySelector('.copy').textContent !== 'Copy'")
    assert tab.evaluate("getSelection().toString()") == tab.locator(".command").first.text_content()
