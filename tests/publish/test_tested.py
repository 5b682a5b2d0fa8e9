from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.model.outcome import Outcome
from conformance.publish import all_tests, tested
from conformance.publish.slugs import slugs
from tests.publish.building import built, info, write_files
from tests.publish.reading import page, pages

if TYPE_CHECKING:
    from pathlib import Path

TESTS = {
    "mine/test_a.py::test_fine": Outcome.PASSED,
    "mine/test_a.py::test_lost": Outcome.NOT_RUN,
    "mine/test_b.py::test_bad": Outcome.FAILED,
    "mine/test_b.py::test_dead": Outcome.CRASHED,
    "mine/test_b.py::test_fine": Outcome.PASSED,
}


FILE_B = f"files/{slugs(['mine/test_b.py'])['mine/test_b.py']}.html"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    database = write_files(tmp_path / "db.sqlite", TESTS, details="somewhere in /home/alice/lib/deep/x.c")
    return built(database, tmp_path / "site")


def test_a_run_of_files_is_told_by_its_tests(site: Path) -> None:
    index = page(site / "index.html")
    assert index.one("h1").text == "2 of 5 tests passed; 2 failed or died; 1 without a result."
    assert "operators" not in index.one("section", class_="hero").text
    assert "every test of 2 files: mine/test_a.py, mine/test_b.py" in index.one("dl", class_="facts").text
    rows = index.all("table", class_="breakdown")[0].one("tbody").all("tr")
    assert [row.one("th").text for row in rows] == ["mine/test_b.py", "mine/test_a.py"]
    for row in rows:
        total, *counts = (int(cell.text) for cell in row.all("td", class_="num"))
        assert sum(counts) == total


def test_its_pages_lead_to_no_table_of_operators(site: Path) -> None:
    for path in pages(site):
        document = page(path)
        links = [link.text for link in document.one("nav", aria_label="Site").all("a")]
        assert links == ["Overview", "Tests", "Failures", "Skiplist", "Compare", "Runs", "Method"]
        assert all(form.attributes["action"].endswith("tests.html") for form in document.all("form", role="search"))


def test_every_test_is_listed_the_worst_first(site: Path) -> None:
    rows = page(site / "tests.html").one("div", class_="all-tests").one("tbody").all("tr")
    assert [row.one("th").text.rpartition("::")[2] for row in rows] == [
        "test_dead",
        "test_bad",
        "test_lost",
        "test_fine",
        "test_fine",
    ]
    assert [row.one("th").one("a").attributes["href"] for row in rows[:2]] == [
        f"{FILE_B}#mine/test_b.py::test_dead",
        f"{FILE_B}#mine/test_b.py::test_bad",
    ]


def test_each_failure_has_its_message_and_its_command(site: Path) -> None:
    document = page(site / FILE_B)
    rows = document.one("table", class_="tests").one("tbody").all("tr")
    assert [row.one("th").text.rpartition("::")[2] for row in rows] == ["test_dead", "test_bad"]
    assert "AssertionError: mine/test_b.py::test_bad is wrong" in rows[1].text
    assert rows[1].one("pre", class_="command").text == (
        "conformance run mine --device neuron --test mine/test_b.py::test_bad"
    )
    assert rows[0].one("details", class_="stack").one("pre").text == "somewhere in deep/x.c"


def test_failures_lead_to_their_test(site: Path) -> None:
    ids = {row.attributes["id"] for row in page(site / FILE_B).one("table", class_="tests").all("tr")[1:]}
    links = [
        row.one("p", class_="example").one("a")
        for row in page(site / "failures.html").one("table", class_="failures").one("tbody").all("tr")
    ]
    assert len(links) == 2
    assert {link.attributes["href"].partition("#")[2] for link in links} == ids


def test_a_long_list_says_that_it_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_tests, "TESTS_SHOWN", 2)
    monkeypatch.setattr(tested, "IN_FULL", 1)
    monkeypatch.setattr(tested, "IN_A_LINE", 1)
    tests = {**TESTS, "mine/test_b.py::test_fine_too": Outcome.PASSED}
    site = built(write_files(tmp_path / "db.sqlite", tests), tmp_path / "site")
    document = page(site / "tests.html")
    assert len(document.one("div", class_="all-tests").one("tbody").all("tr")) == 2
    assert "The worst 2 of 6 stand here" in document.text
    file = page(site / FILE_B)
    assert len(file.one("table", class_="tests").one("tbody").all("tr")) == 1
    assert "1 more test stand below in a line each" in file.text
    assert [group.one("summary").text for group in file.all("details", class_="plain")] == [
        "Xfailed 1 test",
        "\u2713passed 2 tests",
    ]
    assert "1 of 2 are listed; csv/tests.csv has all." in file.text


def test_files_beside_suites_are_named_in_the_selection(tmp_path: Path) -> None:
    run = info(suites=("local", "opinfo"))
    tests = {f"test_{number}.py::test_x": Outcome.PASSED for number in range(5)}
    site = built(write_files(tmp_path / "db.sqlite", tests, run=run), tmp_path / "site")
    facts = page(site / "index.html").one("dl", class_="facts").text
    assert "everything in opinfo; every test of 5 files: test_0.py, test_1.py, test_2.py and 2 more" in facts
