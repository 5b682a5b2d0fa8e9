from __future__ import annotations

import os
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from conformance.model.outcome import Outcome
from tests.publish.building import built, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

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


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is the base class's)
        """Keep the requests out of the tests' output."""


def _missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"the browser tests need {what}; install it, CI does not leave them out")
    pytest.skip(f"needs {what}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("the package playwright")
    executable = shutil.which("chromium")
    if executable is None:
        _missing("an executable named chromium on PATH")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """Return a page that must end without a message on its console, such as a broken content security policy."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(5000)
    found = context.new_page()
    complaints: list[str] = []
    found.on("console", lambda message: complaints.append(message.text))
    found.on("pageerror", lambda error: complaints.append(str(error)))
    # A page that is left while it still loads gives its requests up: net::ERR_ABORTED is no fault of the site.
    found.on(
        "requestfailed",
        lambda request: complaints.append(request.url) if request.failure != "net::ERR_ABORTED" else None,
    )
    yield found
    context.close()
    assert complaints == []


def _open(tab: Page, site: Path, name: str) -> None:
    path, mark, fragment = name.partition("#")
    tab.goto((site / path).as_uri() + mark + fragment)


def _names(tab: Page) -> list[str]:
    return tab.locator("table.subjects tbody tr:visible th").all_inner_texts()


def _sort(tab: Page, key: str) -> None:
    tab.locator(f"thead th[data-key='{key}'] button").click()


def test_search_narrows_the_table_and_is_kept_in_the_address(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "operators.html")
    assert len(_names(tab)) == 60
    tab.fill("#q", "ADD")
    assert _names(tab) == ["add", "addmm", "scatter_add"]
    assert tab.locator(".controls output").inner_text() == "3 of 60 operators"
    assert tab.url.endswith("operators.html#q=ADD")
    tab.reload()
    assert _names(tab) == ["add", "addmm", "scatter_add"]
    tab.fill("#q", "fft spectral")
    assert _names(tab) == ["fft.fft", "fft.ifft"]
    tab.fill("#q", "no such operator")
    assert _names(tab) == []
    assert tab.locator(".nothing").inner_text() == "None of the 60 operators fits this search."
    tab.locator(".reset").click()
    assert len(_names(tab)) == 60
    assert "#" not in tab.url


def test_an_overload_that_fell_back_finds_its_operators(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "operators.html")
    tab.fill("#q", "aten::cumsum.out")
    assert _names(tab) == ["cumsum"]


def test_the_slash_key_goes_to_the_search_of_each_page(tab: Page, sample_site: Path) -> None:
    for name, field in (("index.html", "find-main"), ("operators.html", "q"), ("operators/add.html", "find-top")):
        _open(tab, sample_site, name)
        tab.keyboard.press("/")
        assert tab.evaluate("document.activeElement.id") == field
        tab.keyboard.type("a/b")
        assert tab.input_value(f"#{field}") == "a/b"


def test_the_front_page_leads_to_the_operator(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "index.html")
    tab.fill("#find-main", "addm")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/operators.html#q=addm")
    assert _names(tab) == ["addmm"]
    tab.focus("#q")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/operators/addmm.html")
    assert tab.locator("h1 code").inner_text() == "addmm"


def test_the_search_of_an_operator_page_works_from_its_folder(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "operators/add.html")
    tab.fill("#find-top", "odd.<script>")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/operators.html#q=*")
    assert len(_names(tab)) == 1


@pytest.mark.parametrize(
    ("sought", "found"),
    [
        ("addmm", "operators/addmm.html"),
        ("torch.LINALG.svd", "operators/linalg.svd.html"),
        ("F.conv2d", "operators/nn.functional.conv2d.html"),
        ("torch.nn.functional.conv2d()", "operators/nn.functional.conv2d.html"),
        ("nn.LSTM", "modules/nn.LSTM.html"),
        ("torch.nn.lstm", "modules/nn.LSTM.html"),
    ],
)
def test_an_exact_name_leads_to_its_page(tab: Page, sample_site: Path, sought: str, found: str) -> None:
    _open(tab, sample_site, "index.html")
    tab.fill("#find-main", sought)
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"**/{found}")


def test_a_search_points_to_what_the_other_table_has(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "operators.html")
    tab.fill("#q", "torch.nn.ls")
    assert tab.locator(".nothing").is_visible()
    assert tab.locator(".elsewhere").inner_text() == "But 1 module fits this search: nn.LSTM."
    tab.fill("#q", "linear")
    assert tab.locator(".elsewhere").inner_text() == "Also 1 module fits this search: nn.Linear."
    tab.locator(".elsewhere a").first.click()
    tab.wait_for_url("**/modules.html#q=linear")
    assert _names(tab) == ["nn.Linear"]
    assert "nn.functional.linear" in tab.locator(".elsewhere").inner_text()
    tab.fill("#q", "")
    assert tab.locator(".elsewhere").is_hidden()


def test_an_aten_name_finds_its_operators_first(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "operators.html#q=aten::add")
    assert _names(tab)[:2] == ["add", "addmm"]
    tab.fill("#q", "aten::linalg_svd.U")
    assert _names(tab) == ["linalg.svd"]
    tab.fill("#q", "aten::add.Tensor")
    assert _names(tab) == ["add"]


def test_a_command_can_be_copied_with_the_keyboard(tab: Page, sample_site: Path) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    _open(tab, sample_site, "failures.html")
    button = tab.locator(".copy").first
    button.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_function("document.querySelector('.copy').textContent === 'Copied'")
    assert tab.locator("[role=status]").inner_text() == "The command is copied."
    command = tab.locator(".command").first.text_content()
    assert command is not None
    assert tab.evaluate("navigator.clipboard.readText()") == command


def test_without_a_clipboard_a_command_is_copied_by_its_selection(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "failures.html")
    tab.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    tab.locator(".copy").first.click()
    tab.wait_for_function("document.querySelector('.copy').textContent !== 'Copy'")
    assert tab.evaluate("getSelection().toString()") == tab.locator(".command").first.text_content()


@pytest.fixture(scope="module")
def wide_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a site whose operators declare as many dtypes as those of PyTorch."""
    common = ["float32", "bfloat16", "float16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool"]
    common += ["complex64", "complex128"]
    rare = ["complex32", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "uint16", "uint32"]
    names = [f"nn.functional.some_operator_{number}" for number in range(60)]
    folder = tmp_path_factory.mktemp("wide")
    database = write_run(
        folder / "db.sqlite",
        dict.fromkeys(names, Outcome.PASSED),
        declared={name: [*common, *(rare if name == names[0] else ())] for name in names},
        fallback=names,
    )
    return built(database, folder / "site")


def test_the_whole_table_is_seen_at_1280(tab: Page, wide_site: Path) -> None:
    tab.set_viewport_size({"width": 1280, "height": 800})
    _open(tab, wide_site, "operators.html")
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
    _open(tab, wide_site, "operators.html")
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
    assert tab.input_value("#dtype") == ""


def test_rare_dtypes_are_there_without_javascript(browser: Browser, wide_site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    _open(tab, wide_site, "operators.html")
    assert tab.locator("thead th[data-key='uint16']").is_visible()
    context.close()


def test_tables_of_fallbacks_fit_the_page(tab: Page, wide_site: Path) -> None:
    tab.set_viewport_size({"width": 1280, "height": 800})
    _open(tab, wide_site, "index.html")
    boxes = tab.locator("table.fell-back:visible")
    assert boxes.count() == 2
    for table in boxes.all():
        assert table.evaluate("table => table.parentElement.scrollWidth <= table.parentElement.clientWidth")
        assert table.evaluate("table => getComputedStyle(table.parentElement).maxHeight") == "none"


def test_columns_sort_both_ways_and_keep_what_has_no_data_last(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "operators.html")
    _sort(tab, "name")
    assert _names(tab) == sorted(_names(tab), key=str.lower)
    _sort(tab, "name")
    assert _names(tab) == sorted(_names(tab), key=str.lower, reverse=True)
    assert tab.get_attribute("thead th[data-key='name']", "aria-sort") == "descending"
    for presses in range(2):
        _sort(tab, "passed")
        values = tab.locator("table.subjects tbody tr td[data-v]").evaluate_all("cells => cells.map(c => c.dataset.v)")
        known = [float(value) for value in values if value]
        assert known == sorted(known, reverse=presses == 1)
        assert set(values[len(known) :]) == {""}
    assert "sort=passed&dir=desc" in tab.url


def test_a_status_can_be_sorted_by_gravity_not_by_letter(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "operators.html#sort=status")
    words = tab.locator("table.subjects tbody td:nth-child(2) .chip").evaluate_all(
        "chips => chips.map(c => c.lastChild.textContent)"
    )
    order = ["native", "fallback", "partial", "failing", "crashing", "skipped", "untested"]
    assert list(dict.fromkeys(words)) == order


def test_statuses_filter_for_all_dtypes_or_one(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "operators.html#status=crashing")
    crashing = set(_names(tab))
    assert crashing
    assert tab.get_attribute(".statuses button:has-text('crashing')", "aria-pressed") == "true"
    tab.select_option("#dtype", "bfloat16")
    assert set(_names(tab)) == crashing
    tab.select_option("#dtype", "float32")
    assert _names(tab) == []
    tab.locator(".statuses button", has_text="native").click()
    assert crashing < set(_names(tab))
    assert "status=crashing%2Cnative" in tab.url
    assert "dtype=float32" in tab.url


def test_an_address_with_nonsense_shows_everything(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "operators.html#status=quantum&dtype=float1&group=%3Cb%3E&sort=__proto__&q=")
    assert len(_names(tab)) == 60


def test_links_within_the_page_change_the_filter(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "operators.html")
    tab.evaluate("location.hash = 'group=spectral'")
    tab.wait_for_function("document.querySelector('.controls output').textContent.startsWith('3 ')")
    assert tab.input_value("#group") == "spectral"


def test_modules_have_the_same_table(tab: Page, sample_site: Path) -> None:
    _open(tab, sample_site, "modules.html")
    tab.fill("#q", "nn.l")
    assert _names(tab) == ["nn.LayerNorm", "nn.Linear", "nn.LSTM"]


def test_everything_can_be_read_without_javascript(browser: Browser, sample_site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    _open(tab, sample_site, "operators.html")
    assert tab.locator("table.subjects tbody tr:visible").count() == 60
    assert tab.locator(".controls").is_hidden()
    assert tab.locator(".static-legend").is_visible()
    context.close()


def test_the_site_works_below_a_folder_of_a_web_server(tab: Page, sample_site: Path) -> None:
    folder = partial(_Quiet, directory=str(sample_site.parent))
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


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize(
    "name", ["index", "operators", "modules", "failures", "runs", "method", "tests", "operators/addmm"]
)
def test_no_page_is_wider_than_its_window(tab: Page, sample_site: Path, name: str, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 800})
    _open(tab, sample_site, f"{name}.html")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1280, 1600])
def test_the_head_of_the_table_stays_in_view(tab: Page, sample_site: Path, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 800})
    _open(tab, sample_site, "operators.html")
    scroll = "document.querySelector('.scroll-page').scrollIntoView(); document.querySelector('.scroll-page').scrollTop"
    tab.evaluate(f"{scroll} = 1000; scrollBy(0, 500 * (innerWidth > 1200))")
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
        _open(tab, sample_site, "operators/add.html")
        grounds[scheme] = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        context.close()
    assert grounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 23, 28)"}
