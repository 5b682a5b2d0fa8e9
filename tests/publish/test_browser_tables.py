from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.model.outcome import Outcome
from tests.publish.browsing import names, search, settled, sort, visit
from tests.publish.building import built, write_run

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


def test_search_narrows_the_table_and_is_kept_in_the_address(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html")
    assert len(names(tab)) == 60
    assert search(tab, "ADD") == ["add", "addmm", "scatter_add"]
    assert tab.locator(".controls output").inner_text() == "3 of 60 operators"
    assert tab.url.endswith("operators.html#q=ADD")
    tab.reload()
    assert names(tab) == ["add", "addmm", "scatter_add"]
    assert search(tab, "fft spectral") == ["fft.fft", "fft.ifft"]
    assert search(tab, "no such operator") == []
    assert tab.locator(".nothing").inner_text() == "None of the 60 operators fits this search."
    tab.locator(".reset").click()
    assert len(names(tab)) == 60
    assert "#" not in tab.url


WORDS = [
    ("status:crash", {"argmax", "asin", "fft.ifft", "linalg.qr", "masked_fill"}),
    ("status:crashing dtype:float32", set()),
    ("dtype:bfloat16 status:crashing", {"argmax", "asin", "fft.ifft", "linalg.qr", "masked_fill"}),
    ("group:linalg status:native,crashing", {"dot", "linalg.det", "linalg.qr", "matmul"}),
    ('group:"linear algebra" !status:native', {"addmm", "bmm", "einsum", "linalg.qr", "linalg.solve", "linalg.svd"}),
    ("fallback:aten::cumsum.out", {"cumsum"}),
    ("aten::cumsum.out", {"cumsum"}),
    ("fft !ifft", {"fft.fft"}),
    ("name:div passed", set()),
    ("crashing fft", {"fft.ifft"}),
    ("status:", None),
    ("!", None),
    ('"odd.<script>', {"""odd.<script>alert("1")</script> & 'quoted'"""}),
]


def test_words_of_a_search_say_what_is_sought(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html")
    every = set(names(tab))
    for words, found in WORDS:
        assert set(search(tab, words)) == (every if found is None else found), words


def test_a_word_that_the_table_does_not_have_is_named(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html")
    assert search(tab, "colour:red") == []
    said = tab.locator(".nothing").inner_text()
    assert said.startswith('There is no word "colour:" here; there are name: status:')


def test_an_aten_name_finds_its_operators_first(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html#q=aten::add")
    assert names(tab)[:2] == ["add", "addmm"]
    assert search(tab, "aten::linalg_svd.U") == ["linalg.svd"]
    assert search(tab, "aten::add.Tensor") == ["add"]


def test_enter_goes_to_the_operator_and_escape_takes_the_search_back(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html#q=fft")
    tab.focus("#q")
    tab.keyboard.press("Escape")
    assert len(names(tab)) == 60
    tab.keyboard.type("torch.add()")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/operators/add.html")
    assert tab.locator("h1 code").inner_text() == "add"


def test_columns_sort_both_ways_and_keep_what_has_no_data_last(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html")
    sort(tab, "name")
    assert names(tab) == sorted(names(tab), key=str.lower)
    sort(tab, "name")
    assert names(tab) == sorted(names(tab), key=str.lower, reverse=True)
    assert tab.get_attribute("thead th[data-key='name']", "aria-sort") == "descending"
    for presses in range(2):
        sort(tab, "passed")
        values = tab.locator("table.subjects tbody tr td[data-v]").evaluate_all("cells => cells.map(c => c.dataset.v)")
        known = [float(value) for value in values if value]
        assert known == sorted(known, reverse=presses == 1)
        assert set(values[len(known) :]) == {""}
    assert "sort=passed&dir=desc" in tab.url


def test_a_status_can_be_sorted_by_gravity_not_by_letter(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html#sort=status")
    settled(tab)
    words = tab.locator("table.subjects tbody td:nth-child(2) .chip").evaluate_all(
        "chips => chips.map(c => c.lastChild.textContent)"
    )
    order = ["native", "fallback", "partial", "failing", "crashing", "skipped", "untested"]
    assert list(dict.fromkeys(words)) == order


def test_buttons_and_lists_write_into_the_search_box(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html")
    tab.locator(".statuses button", has_text="crashing").click()
    assert tab.input_value("#q") == "status:crashing"
    crashing = set(names(tab))
    tab.select_option("#dtype", "bfloat16")
    assert tab.input_value("#q") == "status:crashing dtype:bfloat16"
    assert set(names(tab)) == crashing
    tab.select_option("#dtype", "float32")
    assert names(tab) == []
    tab.locator(".statuses button", has_text="native").click()
    assert tab.input_value("#q") == "dtype:float32 status:crashing,native"
    assert crashing < set(names(tab))
    tab.select_option("#group", "linear algebra")
    assert tab.input_value("#q").endswith('group:"linear algebra"')
    tab.reload()
    assert tab.get_attribute(".statuses button:has-text('crashing')", "aria-pressed") == "true"
    assert tab.input_value("#group") == "linear algebra"
    assert tab.input_value("#dtype") == "float32"
    tab.locator(".statuses button", has_text="crashing").click()
    assert "crashing" not in tab.input_value("#q")


def test_an_address_with_nonsense_shows_everything(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html#group=%3Cb%3E&sort=__proto__&q=")
    assert len(names(tab)) == 60


def test_links_within_the_page_change_the_search(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "operators.html")
    tab.evaluate("location.hash = 'q=group%3Aspectral'")
    tab.wait_for_function("() => document.querySelector('.controls output').textContent.startsWith('3 ')")
    assert tab.input_value("#group") == "spectral"


def test_modules_have_the_same_table(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "modules.html")
    assert search(tab, "nn.l") == ["nn.LayerNorm", "nn.Linear", "nn.LSTM"]
    assert search(tab, "torch.nn.LSTM") == ["nn.LSTM"]


def test_overloads_are_found_by_what_is_registered_and_measured(tab: Page, series_site: Path) -> None:
    visit(tab, series_site, "overloads.html")
    assert search(tab, "registered:missing") == ["aten::_nested_x"]
    assert set(search(tab, "measured:on_cpu")) == {"aten::exp", "aten::linalg_svd"}
    assert search(tab, "registered:kernel is:core aten::mm") == ["aten::mm"]
    assert search(tab, "op:argmax measured:not_on_cpu")[0].startswith("aten::")
    # A key is answered before all rows of a long table are in it again.
    tab.fill("#q", "")
    settled(tab)
    assert tab.locator("table.found tbody tr").count() > 3000


def test_a_permalink_leads_to_its_row(tab: Page, series_site: Path) -> None:
    visit(tab, series_site, "overloads.html#o-aten::mm")
    row = tab.locator("tr:target")
    assert row.locator("th").inner_text() == "aten::mm"
    box = row.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 900


def test_entries_of_the_skiplist_are_filtered_by_their_state(tab: Page, series_site: Path) -> None:
    visit(tab, series_site, "skiplist.html")
    assert len(names(tab)) == 4
    tab.locator(".statuses button", has_text="no tests").click()
    assert tab.input_value("#q") == "state:no-tests"
    assert names(tab) == ["matches-nothing"]
    assert search(tab, "owner:numerics") == ["no-int64-backward", "matches-nothing"]


def test_failures_are_filtered_by_outcome(tab: Page, sample_site: Path) -> None:
    visit(tab, sample_site, "failures.html")
    tab.locator(".statuses button", has_text="timed out").click()
    assert tab.input_value("#q") == "outcome:timed_out"
    tab.fill("#q", "op:argmax outcome:timed_out")
    settled(tab)
    assert tab.locator("table.found tbody tr:visible").count() == 1


@pytest.fixture(scope="module")
def wide_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a site whose operators declare as many dtypes as those of PyTorch."""
    common = ["float32", "bfloat16", "float16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool"]
    common += ["complex64", "complex128"]
    rare = ["complex32", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "uint16", "uint32"]
    operators = [f"nn.functional.some_operator_{number}" for number in range(60)]
    folder = tmp_path_factory.mktemp("wide")
    database = write_run(
        folder / "db.sqlite",
        dict.fromkeys(operators, Outcome.PASSED),
        declared={name: [*common, *(rare if name == operators[0] else ())] for name in operators},
        fallback=operators,
    )
    return built(database, folder / "site")


def test_the_whole_table_is_seen_at_1280(tab: Page, wide_site: Path) -> None:
    tab.set_viewport_size({"width": 1280, "height": 800})
    visit(tab, wide_site, "operators.html")
    place = "document.querySelector('.scroll-page')"
    assert tab.evaluate(f"{place}.scrollWidth <= {place}.clientWidth")
    assert tab.evaluate(f"getComputedStyle({place}).overflowY") == "visible"
    last = tab.locator("thead th[data-key='fallback']").bounding_box()
    assert last is not None
    assert last["width"] > 200
    assert last["x"] + last["width"] <= 1280
    for head in tab.locator("thead th:visible").all():
        assert head.evaluate("head => head.scrollWidth <= head.clientWidth"), head.inner_text()


def test_rare_dtypes_are_shown_on_demand(tab: Page, wide_site: Path) -> None:
    visit(tab, wide_site, "operators.html")
    rare = tab.locator("thead th[data-key='uint16']")
    assert rare.is_hidden()
    wider = tab.locator(".wider")
    assert wider.inner_text() == "7 more dtypes"
    wider.click()
    assert rare.is_visible()
    assert wider.get_attribute("aria-pressed") == "true"
    tab.reload()
    assert rare.is_visible()
    wider.click()
    assert rare.is_hidden()
    tab.select_option("#dtype", "uint16")
    assert rare.is_visible()
    wider.click()
    assert rare.is_hidden()
    assert tab.input_value("#q") == ""


def test_rare_dtypes_are_there_without_javascript(browser: Browser, wide_site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    visit(tab, wide_site, "operators.html")
    assert tab.locator("thead th[data-key='uint16']").is_visible()
    context.close()
