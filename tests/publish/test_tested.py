from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.model.outcome import Outcome
from conformance.publish import tested
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


def test_its_pages_offer_no_search_for_operators(site: Path) -> None:
    for path in pages(site):
        document = page(path)
        assert not document.all("form"), path
        links = [link.text for link in document.one("nav", aria_label="Site").all("a")]
        assert links == ["Overview", "Tests", "Failures", "Runs", "Method"]


def test_each_test_has_its_message_and_its_command(site: Path) -> None:
    rows = page(site / "tests.html").one("table", class_="tests").one("tbody").all("tr")
    assert [row.one("th").text.rpartition("::")[2] for row in rows] == [
        "test_dead",
        "test_bad",
        "test_lost",
        "test_fine",
        "test_fine",
    ]
    assert "AssertionError: mine/test_b.py::test_bad is wrong" in rows[1].text
    assert rows[1].one("pre", class_="command").text == (
        "conformance run mine --device neuron --test mine/test_b.py::test_bad"
    )
    assert rows[0].one("details", class_="stack").one("pre").text == "somewhere in deep/x.c"


def test_failures_lead_to_their_test(site: Path) -> None:
    ids = {row.attributes["id"] for row in page(site / "tests.html").one("table", class_="tests").all("tr")[1:]}
    for name in ("index.html", "failures.html"):
        links = [
            row.one("p", class_="example").one("a")
            for row in page(site / name).one("table", class_="failures").one("tbody").all("tr")
        ]
        assert len(links) == 2
        assert all(link.attributes["href"].partition("#")[0] == "tests.html" for link in links)
        assert {link.attributes["href"].partition("#")[2] for link in links} <= ids


def test_a_long_list_says_that_it_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tested, "TESTS_SHOWN", 2)
    tests = {"test_a.py::test_dead": Outcome.CRASHED, **TESTS}
    site = built(write_files(tmp_path / "db.sqlite", tests), tmp_path / "site")
    document = page(site / "tests.html")
    assert len(document.one("table", class_="tests").one("tbody").all("tr")) == 2
    assert "The worst 2 of 6 tests stand here" in document.text
    rows = page(site / "failures.html").one("table", class_="failures").one("tbody").all("tr")
    assert sorted(len(row.one("p", class_="example").all("a")) for row in rows) == [0, 1, 1]


def test_files_beside_suites_are_named_in_the_selection(tmp_path: Path) -> None:
    run = info(suites=("local", "opinfo"))
    tests = {f"test_{number}.py::test_x": Outcome.PASSED for number in range(5)}
    site = built(write_files(tmp_path / "db.sqlite", tests, run=run), tmp_path / "site")
    facts = page(site / "index.html").one("dl", class_="facts").text
    assert "everything in opinfo; every test of 5 files: test_0.py, test_1.py, test_2.py and 2 more" in facts
