from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.model.registration import RegistrationKind
from conformance.publish.marks import NOT_RECORDED, registration_mark
from conformance.publish.registered import measured_overloads, served
from conformance.publish.source import read_findings
from conformance.store import Database
from tests.publish.reading import page

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("kinds", "worst", "text"),
    [
        (["kernel", "kernel"], "kernel", ""),
        (["composite", "kernel"], "kernel", ""),
        (["composite"], "composite", ""),
        (["kernel", "fallback", "composite"], "fallback", "1/3"),
        (["missing", "fallback"], "missing", "1/2"),
        (["", "kernel"], "not_recorded", "1/2"),
        (["quantum", "missing"], "quantum", "1/2"),
    ],
)
def test_the_worst_registration_speaks_for_an_operator(kinds: list[str], worst: str, text: str) -> None:
    found = served(kinds)
    assert found is not None
    assert (found.mark.code, found.text) == (worst, text)


def test_an_operator_that_reaches_nothing_known_has_no_registration() -> None:
    assert served([]) is None


def test_every_kind_has_a_look_and_what_was_not_recorded_is_not_green() -> None:
    marks = [registration_mark(kind.value) for kind in RegistrationKind]
    assert len({mark.letter for mark in marks}) == len(marks)
    assert NOT_RECORDED.shade == "untested"
    assert registration_mark("quantum").shade == "unknown"


def test_overloads_are_those_of_the_snapshot_the_backend_and_the_tests(series_database: Path) -> None:
    with Database.open_existing(series_database) as database:
        findings = read_findings(database)
    found = {each.overload: each for each in measured_overloads(findings)}
    assert len(found) > 3000
    assert found["aten::mm"].core is True
    assert (found["aten::mm"].registered, found["aten::mm"].measured.code) == ("kernel", "not_on_cpu")
    assert found["aten::linalg_svd"].measured.code == "on_cpu"
    assert found["aten::linalg_svd"].tests == 6
    assert found["aten::_nested_x"].core is None, "no snapshot has it"
    assert found["aten::argmax.out"].core is False
    assert found["aten::nonzero"].measured.code == "unmeasured"
    assert "nonzero" in found["aten::nonzero"].operators


def test_without_a_snapshot_the_page_says_what_is_missing(tmp_path: Path) -> None:
    from conformance.model.outcome import Outcome
    from tests.publish.building import built, write_run

    site = built(write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED}, fallback=("add",)), tmp_path / "site")
    document = page(site / "overloads.html")
    assert len(document.one("table", class_="found").one("tbody").all("tr")) == 1
    said = [text.text for text in document.all("p", class_="nodata")]
    assert said[0] == "What the backend registered was not recorded in this run."
    assert said[1].startswith("No snapshot of torch 2.99.0 comes with this harness")
    assert "Registered" not in document.one("table", class_="found").one("thead").text


def test_registered_stands_beside_measured(series_site: Path) -> None:
    table = page(series_site / "operators.html").one("table", class_="found")
    rows = {row.one("th").text: row.text for row in table.one("tbody").all("tr")}
    assert "Kkernel" in rows["add"]
    assert "Ffallback" in rows["sin"].split("6 of 6")[-1] or "Ffallback" in rows["sin"]
    overloads = page(series_site / "overloads.html").one("table", class_="found").one("tbody").all("tr")
    (first,) = [row for row in overloads if row.one("th").text == "aten::exp"]
    assert [cell.text for cell in first.all("td")][:4] == ["core", "Ffallback", "Fon the CPU", "5"]
