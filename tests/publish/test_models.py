"""What the site says of architectures: with a run of its own, beside one, and without any."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from conformance.model.calls import ArchitectureCalls
from conformance.model.outcome import Outcome
from conformance.publish import source
from conformance.publish.architectures import hindered
from conformance.publish.context import Site, survey
from conformance.publish.models import architecture_tallies, headline, models_page, models_sentence, operator_models
from conformance.publish.overloads import overloads_page
from conformance.publish.registered import measured_overloads
from conformance.publish.source import read_findings
from conformance.store import Database
from tests.publish.architectures import FATES, write_architectures
from tests.publish.building import built, info, write_run
from tests.publish.golden import check
from tests.publish.reading import page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _survey(path: Path, selector: str) -> Site:
    with Database.open_existing(path) as database:
        return survey(read_findings(database, selector))


@pytest.fixture(scope="module")
def alone(models_database: Path) -> Iterator[Site]:
    with Database.open_existing(models_database) as database:
        yield survey(read_findings(database))


@pytest.fixture(scope="module")
def beside(models_database: Path) -> Iterator[Site]:
    with Database.open_existing(models_database) as database:
        yield survey(read_findings(database, "2"))


def _load(site: Path, path: str) -> Any:
    return json.loads((site / path).read_text(encoding="ascii"))


def test_the_page_of_the_run_itself(alone: Site) -> None:
    check("models", models_page(alone))


def test_the_page_beside_a_run_of_operators(beside: Site) -> None:
    found = models_page(beside)
    assert found.other_run == (
        "Run 2, which this site shows, has no result of an architecture. These are of run 3 (2026-11-20) on the same "
        "device: torch 2.99.0, complete."
    )
    # A test of another run stands on no page of this site.
    assert {cell.href for row in found.rows for cell in row.cells} == {""}
    assert all(row.signature is None for row in found.rows)
    assert models_sentence(beside).endswith(" That was in run 3 (2026-11-20).")


@pytest.mark.parametrize("name", ["linalg.qr", "sin", "add"])
def test_an_operator_says_which_architectures_it_blocks_and_which_call_it(beside: Site, name: str) -> None:
    (subject,) = (one for one in beside.findings.operators if one.name == name)
    check(f"models-operator-{name}", operator_models(beside, subject))


def test_overloads_say_it_too_and_each_one_that_an_architecture_calls_has_a_row(beside: Site) -> None:
    rows = {row.name: row for row in overloads_page(beside, measured_overloads(beside.findings)).rows}
    found = {name: (row.blocks, row.others) for name, row in rows.items() if row.architectures}
    assert found == {"aten::exp": (1, 0), "aten::linalg_qr": (2, 0), "aten::sin": (0, 2)}


def test_counts_add_up_to_what_was_planned(alone: Site) -> None:
    models = alone.findings.models
    assert models is not None
    assert sum(tally.count for tally in architecture_tallies(models.found)) == models.total == len(FATES)
    assert headline(models.found) == "3 of 10 architectures run as they are: 2 natively, 1 with a fallback to the CPU."


def test_without_a_probe_nothing_is_said_of_the_cpu(tmp_path: Path) -> None:
    site = _survey(write_architectures(tmp_path / "db.sqlite", probe=""), "best")
    assert site.findings.models is not None
    assert headline(site.findings.models.found) == (
        "3 of 10 architectures run as they are; whether the CPU did the work was not observed."
    )


def test_without_a_run_of_the_device_there_is_no_data(tmp_path: Path) -> None:
    write_architectures(tmp_path / "db.sqlite")
    write_run(tmp_path / "db.sqlite", {"sin": Outcome.PASSED}, run=info(emulated=False, key="f" * 32))
    folder = built(tmp_path / "db.sqlite", tmp_path / "site")
    document = page(folder / "models.html")
    assert "No data: no run on the device \u2018neuron\u2019 in this database" in document.text
    assert "models.html" not in {link.attributes["href"] for link in document.one("nav").all("a")}
    assert "Architectures" not in page(folder / "index.html").text
    assert "No data: no run on" in page(folder / "operators" / "sin.html").text
    models = _load(folder, "api/models.json")
    assert {models[name] for name in ("models_run", "total", "as_is", "architectures", "hindrances")} == {None}
    assert {each["architectures"] for each in _load(folder, "api/causes.json")["causes"]} <= {None}
    assert {each["called_by"] for each in _load(folder, "api/overloads.json")["overloads"]} <= {None}


def test_an_operator_that_nothing_is_known_of_is_not_said_to_be_unused(beside: Site, beside_models_site: Path) -> None:
    (add,) = (one for one in beside.findings.operators if one.name == "add")
    assert operator_models(beside, add).sentence.startswith("Not known: none of 10 architectures failed at it")
    overloads = {each["name"]: each for each in _load(beside_models_site, "api/overloads.json")["overloads"]}
    assert overloads["aten::add.Tensor"]["called_by"] is None
    assert overloads["aten::linalg_qr"]["called_by"] == overloads["aten::linalg_qr"]["blocks"] == ["jamba", "mixtral"]


def test_causes_say_how_many_architectures_they_keep_from_running_natively(beside: Site, alone: Site) -> None:
    found = {cause.title: cause.architectures for cause in beside.causes}
    assert found["aten::exp"] == ("t5",)
    assert found["aten::sin"] == ("falcon", "t5")
    assert found["aten::linalg_svd"] == ()
    own = {cause.title: cause.architectures for cause in alone.causes}
    assert own["AssertionError: scores: off by N"] == ("jamba", "olmo")
    assert own["NotImplementedError: Could not run 'aten::linalg_qr' with arguments from the 'neuron' backend."] == (
        "jamba",
        "mixtral",
    )


def test_the_file_for_programs_says_what_the_page_says(models_site: Path) -> None:
    models = _load(models_site, "api/models.json")
    assert (models["as_is"], models["total"]) == (3, 10)
    assert sum(models["statuses"].values()) == models["total"] == len(models["architectures"])
    assert [(each["title"], len(each["blocks"]), len(each["alone"])) for each in models["hindrances"]] == [
        ("aten::linalg_qr", 2, 1),
        ("AssertionError: scores: off by N", 2, 1),
        ("aten::exp", 1, 1),
        ("Aborted (signal 6)", 1, 1),
        ("aten::sin", 0, 0),
    ]
    by_name = {each["name"]: each for each in models["architectures"]}
    assert [each["outcome"] for each in by_name["mamba"]["tests"]] == ["passed", "crashed", "passed"]
    assert by_name["mamba"]["tests"][1]["fallback_ops"] is None
    assert by_name["mamba"]["tests"][1]["blocked_by"] == []
    assert by_name["llama"]["tests"][0]["blocked_by"] is None
    assert "someone" not in json.dumps(models)


def test_the_front_page_and_the_summary_lead_to_it(beside_models_site: Path) -> None:
    line = page(beside_models_site / "index.html").one("p", class_="models-line")
    assert "3 of 10 architectures run as they are" in line.text
    assert "aten::linalg_qr blocks 2 of them" in line.text
    assert "(models.html)" in (beside_models_site / "llms.txt").read_text(encoding="utf-8")
    assert "architectures: 3 of 10" in (beside_models_site / "llms.txt").read_text(encoding="utf-8")


def test_the_page_stays_small_with_200_architectures(tmp_path: Path) -> None:
    site = built(write_architectures(tmp_path / "db.sqlite", copies=20), tmp_path / "site")
    assert (site / "models.html").stat().st_size < 350_000
    assert len(page(site / "models.html").one("table", class_="models").one("tbody").all("tr")) == 200


def test_nothing_is_hindered_by_an_overload_that_no_architecture_is_known_to_call(alone: Site) -> None:
    assert alone.findings.models is not None
    found = alone.findings.models.found
    assert hindered(found, "aten::linalg_qr") == ("jamba", "mixtral")
    assert hindered(found, "aten::qr") == ()
    assert hindered(None, "aten::qr") is None


RECORD = ArchitectureCalls(
    "2.13.0",
    "5.0",
    {"llama": ("aten::add.Tensor", "aten::mm"), "t5": ("aten::add.Tensor", "aten::exp"), "gone": ("aten::qr",)},
    {"gemma3n": "not made"},
)


def test_a_record_says_what_architectures_call_besides(models_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "recorded_calls", lambda version: RECORD if version == "2.99.0" else None)
    site = _survey(models_database, "2")
    subjects = {one.name: one for one in site.findings.operators}
    add = operator_models(site, subjects["add"])
    assert add.sentence == (
        "2 of 10 architectures are known to call aten::add.Tensor, as recorded with torch 2.13.0 and transformers 5.0; "
        "0 of them fail at it."
    )
    assert [link.text for link in add.calling] == ["llama", "t5"]
    assert operator_models(site, subjects["clamp"]).sentence.startswith(
        "None of 10 architectures is known to call an overload that is this operator's own, as recorded"
    )
    exp = operator_models(site, subjects["exp"])
    assert ([link.text for link in exp.blocked], exp.calling) == (["t5"], ())
    rows = {row.name: row for row in overloads_page(site, measured_overloads(site.findings)).rows}
    assert (rows["aten::add.Tensor"].blocks, rows["aten::add.Tensor"].others) == (0, 2)
    assert "aten::qr" not in rows or not rows["aten::qr"].architectures
    assert models_page(site).unknown[-1].endswith("Of 8 architectures nothing is recorded.")
