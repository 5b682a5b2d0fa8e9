from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from conformance.model.outcome import Outcome
from conformance.publish import api, badges, tables
from conformance.publish.badges import Badge, draw
from conformance.publish.changes import CHANGES
from conformance.publish.script_data import front_coded
from conformance.publish.site_build import build_site
from conformance.store import Database, operator_statuses, resolve_run
from tests.conftest import rows
from tests.publish.building import built, info, write_run
from tests.publish.reading import page, pages

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
ATOM = "{http://www.w3.org/2005/Atom}"


def _load(site: Path, path: str) -> Any:
    return json.loads((site / path).read_text(encoding="ascii"))


def _csv(site: Path, name: str) -> list[dict[str, str]]:
    with (site / "csv" / name).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


_TABLES = ("dtypes", "outcomes", "statuses", "counts", "versions")


def _fields(value: Any, parent: str = "") -> Iterator[str]:
    """Yield the names of all fields of a document, but not the keys of its tables."""
    if isinstance(value, list):
        for item in value:
            yield from _fields(item, parent)
    elif isinstance(value, dict):
        for key, item in value.items():
            if parent not in _TABLES:
                yield key
            yield from _fields(item, key)


@pytest.mark.parametrize("path", list(api.ABOUT))
@pytest.mark.parametrize("name", ["series_site", "beside_models_site", "compiled_site"])
def test_every_field_of_every_file_is_documented(request: pytest.FixtureRequest, name: str, path: str) -> None:
    documented = set(re.findall(r"`([a-z_]+)`", DOCUMENT))
    document = _load(request.getfixturevalue(name), path)
    assert document["schema"] == api.SCHEMA
    statuses = {"native", "partial", "fallback", "failing", "crashing", "skipped", "untested"}
    assert set(_fields(document)) - documented - statuses == set()
    assert path in DOCUMENT


def test_every_file_says_whether_it_is_of_a_real_device(
    series_site: Path, sample_database: Path, tmp_path: Path
) -> None:
    real = built(sample_database, tmp_path / "real", selector="2")
    for site, emulated in ((series_site, True), (real, False)):
        for path in api.ABOUT:
            document = _load(site, path)
            head = document["run"] if path == "api/run.json" else document
            assert head["emulated"] is emulated, path
            assert head["complete"] is True
        for path in tables.ABOUT:
            for row in _csv(site, path.removeprefix("csv/")):
                assert ("EMULATED" in row["device"]) is emulated or path == "csv/runs.csv"
        for path in badges.ABOUT:
            assert ("EMULATED" in (site / path).read_text()) is emulated
        for path in ("feed.xml", "llms.txt"):
            assert ("EMULATED" in (site / path).read_text(encoding="utf-8")) is emulated


def test_the_list_of_files_is_the_list_of_files(series_site: Path) -> None:
    listed = {each["path"] for each in _load(series_site, "api/index.json")["files"]}
    assert listed == {f"api/{path.name}" for path in (series_site / "api").iterdir()}
    linked = {
        link.attributes["href"]
        for link in page(series_site / "method.html").one("section", aria_labelledby="programs").all("a")
    }
    there = {
        str(path.relative_to(series_site))
        for folder in ("api", "csv", "badges")
        for path in (series_site / folder).iterdir()
    }
    assert linked == there | {"feed.xml", "llms.txt"}


def test_counts_add_up_and_agree_with_the_store(series_database: Path, series_site: Path) -> None:
    with Database.open_existing(series_database) as database:
        stored = operator_statuses(database, resolve_run(database).id)
    operators = _load(series_site, "api/operators.json")["operators"]
    found: dict[tuple[str, str | None], Any] = {(each["name"], None): each for each in operators}
    found |= {(each["name"], dtype): counts for each in operators for dtype, counts in each["dtypes"].items()}
    assert found.keys() == {(row.op, row.dtype) for row in stored}
    for row in stored:
        counts = found[row.op, row.dtype]
        parts = ("passed", "failed", "skipped", "xfailed", "crashed", "not_run", "flaky")
        assert [counts[part] for part in parts] == [getattr(row, part) for part in parts]
        assert sum(counts[part] for part in parts) == counts["planned"] == row.planned
        assert counts["status"] == row.status.value
    assert {row["operator"] for row in _csv(series_site, "operators.csv")} == {each["name"] for each in operators}


def test_every_test_has_a_row_that_agrees_with_the_store(series_database: Path, series_site: Path) -> None:
    stored = rows(
        series_database,
        "SELECT test_id, outcome, coalesce(fallback_ops, '') != '', entry != '' FROM test_results WHERE run_id = 4",
    )
    found = {
        (row["test_id"], row["outcome"], row["fell_back"] == "yes", row["listed"] == "yes")
        for row in _csv(series_site, "tests.csv")
    }
    assert found == {(test, outcome, bool(fell), bool(listed)) for test, outcome, fell, listed in stored}


def test_changes_say_what_the_page_says(series_site: Path) -> None:
    changes = _load(series_site, "api/changes.json")
    assert changes["before"] == f"{2:032x}"
    assert changes["counts"] == {**dict.fromkeys(map(str, CHANGES), 0), "regressed": 1, "improved": 6, "fixed": 6}
    assert sum(changes["counts"].values()) == len(changes["tests"])
    assert {each["name"]: (each["before"], each["after"]) for each in changes["subjects"]}["linalg.qr"] == (
        "crashing",
        "failing",
    )


def test_a_first_run_has_nothing_before_it(tmp_path: Path) -> None:
    site = built(write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED}), tmp_path / "site")
    changes = _load(site, "api/changes.json")
    assert (changes["before"], changes["tests"]) == (None, [])
    assert ElementTree.parse(site / "feed.xml").findall(f"{ATOM}entry") == []
    index = page(site / "index.html")
    assert "No data: the database has no earlier complete run" in index.text
    assert "No data yet: a curve needs two complete runs" in index.text


def test_the_burn_down_is_the_same_as_in_the_database(series_database: Path, series_site: Path) -> None:
    burn_down = _load(series_site, "api/skiplist.json")["burn_down"]
    stored = rows(
        series_database, "SELECT run_id, count(*) FROM test_results WHERE entry != '' GROUP BY run_id ORDER BY run_id"
    )
    assert [(each["run"], each["tests"]) for each in burn_down] == stored
    for each in burn_down:
        assert each["holding"] + each["improved"] + each["passing"] + each["unseen"] == each["tests"]


def test_text_that_a_spreadsheet_would_run_is_defused(tmp_path: Path) -> None:
    names = ["=HYPERLINK(0)", "+1", "-1", "@x", "plain"]
    site = built(write_run(tmp_path / "db.sqlite", dict.fromkeys(names, Outcome.PASSED)), tmp_path / "site")
    assert {row["operator"] for row in _csv(site, "operators.csv")} == {*(f"'{name}" for name in names[:4]), "plain"}


def test_the_feed_tells_each_run_once(series_site: Path, series_database: Path, tmp_path: Path) -> None:
    feed = ElementTree.parse(series_site / "feed.xml").getroot()
    entries = feed.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}updated") for entry in entries] == [
        f"2026-11-{day:02d}T03:00:00Z" for day in (4, 3, 2)
    ]
    assert feed.findtext(f"{ATOM}updated") == "2026-11-04T03:00:00Z"
    assert entries[0].findtext(f"{ATOM}title") == (
        "neuron (EMULATED), run 4 (2026-11-04): 1 regressed, 6 fixed, 6 improved"
    )
    content = entries[0].findtext(f"{ATOM}content") or ""
    assert "<li>opinfo::TestOperators::test_backward_exp_int64: passed, fell back \u2192 failed</li>" in content
    # An older site of the same database has the same entries under the same ids.
    older = ElementTree.parse(built(series_database, tmp_path / "older", selector="3") / "feed.xml").getroot()
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert [entry.findtext(f"{ATOM}id") for entry in older.findall(f"{ATOM}entry")] == ids[1:]
    assert len(set(ids)) == len(ids)


def test_names_that_xml_cannot_hold_do_not_break_the_feed(tmp_path: Path) -> None:
    name = "\x00\ud800<b>&\uffff"
    write_run(tmp_path / "db.sqlite", {name: Outcome.PASSED})
    write_run(tmp_path / "db.sqlite", {name: Outcome.FAILED}, run=info(key="f" * 32))
    feed = ElementTree.parse(built(tmp_path / "db.sqlite", tmp_path / "site") / "feed.xml")
    (entry,) = feed.findall(f"{ATOM}entry")
    assert "&lt;b&gt;" in (entry.findtext(f"{ATOM}content") or "")


def test_with_an_address_everything_that_needs_one_has_it(series_database: Path, tmp_path: Path) -> None:
    build_site(series_database, tmp_path / "site", address="https://example.org/neuron")
    site = tmp_path / "site"
    found = [each.text for each in ElementTree.parse(site / "sitemap.xml").getroot().iter() if each.tag.endswith("loc")]
    root = "https://example.org/neuron/"
    assert found[0] == root
    assert {text for text in found[1:] if text} == {f"{root}{path.relative_to(site)}" for path in pages(site)}
    links = [link.attrib["href"] for link in ElementTree.parse(site / "feed.xml").getroot().iter(f"{ATOM}link")]
    assert all(link.startswith(root) for link in links)
    assert f"]({root}operators.html)" in (site / "llms.txt").read_text()
    operator = page(site / "operators" / "add.html")
    assert operator.one("link", rel="canonical").attributes["href"] == f"{root}operators/add.html"
    for tag in operator.all("a"):
        assert not tag.attributes["href"].startswith("https://example.org/neuron")


def test_without_an_address_there_is_no_map(series_site: Path) -> None:
    assert not (series_site / "sitemap.xml").exists()
    assert not page(series_site / "index.html").all("link", rel="canonical")


def test_the_summary_is_plain_and_complete(series_site: Path) -> None:
    text = (series_site / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith(
        "# PyTorch conformance of the device neuron (EMULATED)\n\n> 10 of 16 operators ran natively;"
    )
    assert "<" not in text.replace("<img", "").replace("<script>", "")
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (series_site / link).is_file(), link


@pytest.mark.parametrize("name", ["operators", "tests"])
def test_a_badge_is_drawn_and_told(series_site: Path, name: str) -> None:
    told = _load(series_site, f"badges/{name}.json")
    drawn = ElementTree.parse(series_site / "badges" / f"{name}.svg").getroot()
    assert drawn.attrib["aria-label"] == f"{told['label']}: {told['message']}"
    assert told["schemaVersion"] == 1
    assert told["message"] == {"operators": "62.5 % of 16", "tests": "76 of 92 passed, 14 failures"}[name]


def test_a_badge_is_never_green_and_its_text_stays_text() -> None:
    drawn = draw(Badge("x", "<b>", '"&', "#5c6773"))
    assert ElementTree.fromstring(drawn).attrib["aria-label"] == '<b>: "&'
    source = (Path(badges.__file__)).read_text()
    assert {match.lower() for match in re.findall(r"#[0-9a-f]{6}", source)} == {
        "#5c6773",
        "#1f5fae",
        "#a5330f",
        "#30363d",
    }


def test_a_run_without_tests_has_no_figure_on_its_badges(tmp_path: Path) -> None:
    site = built(write_run(tmp_path / "db.sqlite", {"add": None}), tmp_path / "site")
    assert [_load(site, f"badges/{name}.json")["message"] for name in ("operators", "tests")] == ["no data", "no data"]


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["a"],
        ["a::b_1", "a::b_2", "a::b_23", "b"],
        ['"quoted"', "line\nbreak", "\u00e4\U0001f600x", "\u00e4\U0001f600y"],
        ["same", "same2"],
    ],
)
def test_ids_can_be_read_back(texts: list[str]) -> None:
    before, found = "", []
    for line in front_coded(texts).split("\n") if texts else []:
        shared, _, rest = line.partition(" ")
        before = before[: int(shared)] + rest
        found.append(json.loads(before) if before.startswith('"') else before)
    assert found == texts
    assert front_coded(texts).isascii()


def test_data_of_the_script_is_data_only(series_site: Path) -> None:
    for path in (series_site / "data").iterdir():
        text = path.read_text(encoding="ascii")
        match = re.fullmatch(r'conformanceData\("([a-z0-9-]+)", (.*)\);\n', text, re.DOTALL)
        assert match is not None
        assert match[1] == path.stem
        json.loads(match[2])
