"""What the site says of torch.compile: of the run shown, of a run beside it, and without any."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from conformance.model.compilation import CompileMode
from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.publish import compiled
from conformance.publish.build import site_files
from conformance.publish.compiled import compiled_part, size
from conformance.publish.context import Site, survey
from conformance.publish.overview import index_page
from conformance.publish.source import read_findings
from conformance.publish.subject import verdict
from conformance.publish.subjects import subjects_page
from conformance.publish.write import write_site
from conformance.store import Database, compile_statuses
from tests.publish.building import built, info, write_run
from tests.publish.compiling import COMPILE, DYNAMIC, EAGER, ENDS, account, write_compiled
from tests.publish.golden import check
from tests.publish.reading import page

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.publish.findings import Subject
    from conformance.publish.pages_subjects import CompiledPart


def _survey(path: Path, selector: str = "best") -> Site:
    with Database.open_existing(path) as database:
        return survey(read_findings(database, selector))


def _subject(site: Site, name: str) -> Subject:
    (found,) = (one for one in (*site.findings.operators, *site.findings.modules) if one.name == name)
    return found


def _part(site: Site, name: str) -> CompiledPart:
    return compiled_part(site, _subject(site, name))


def _load(site: Path, path: str) -> Any:
    return json.loads((site / path).read_text(encoding="ascii"))


@pytest.fixture(scope="module")
def own(compiled_database: Path) -> Site:
    return _survey(compiled_database)


@pytest.fixture(scope="module")
def beside(beside_compiled_database: Path) -> Site:
    return _survey(beside_compiled_database)


def test_the_table_has_a_column_for_each_mode(own: Site) -> None:
    check("compiled-operators", subjects_page(own, own.findings.operators, noun="operator"))


@pytest.mark.parametrize("name", ["sin", "nonzero", "cos", "add", "nn.Linear"])
def test_a_page_tells_static_from_dynamic_shapes(own: Site, name: str) -> None:
    check(f"compiled-{name}", _part(own, name))


def test_a_run_of_compiling_tests_alone_is_shown_beside_the_eager_one(beside: Site) -> None:
    assert beside.run.id == 1  # the newer run says nothing of eager mode
    table = subjects_page(beside, beside.findings.operators, noun="operator")
    assert table.compiled_run == (
        "Run 1, which this site shows, has no result of a compiled operator. What is said of torch.compile is of run 2 "
        "(2026-11-02) on the same device: torch 2.99.0, complete, limited to --templates compile,compile_dynamic."
    )
    sin = _part(beside, "sin")
    assert sin.run == table.compiled_run
    assert [row.mark.code for row in sin.rows] == ["native", "failing"]
    # A test of another run stands on no page of this site.
    assert [row.failure.anchor for row in sin.rows if row.failure] == [""]


def test_alone_in_a_database_such_a_run_is_shown_and_says_what_was_not_planned(tmp_path: Path) -> None:
    site = _survey(write_compiled(tmp_path / "db.sqlite", number=1, templates=(COMPILE, DYNAMIC)))
    assert verdict(site.findings, _subject(site, "sin")).endswith(" No test of it in eager mode was planned.")
    assert verdict(site.findings, _subject(site, "add")).endswith(" No test of it was planned.")
    assert subjects_page(site, site.findings.operators, noun="operator").modes == ("compile", "dynamic")
    assert index_page(site).operators.sentence.startswith("No operator has a result in eager mode in this run; all 4")


def test_the_verdict_counts_tests_in_eager_mode_and_says_so(own: Site) -> None:
    said = {one.name: verdict(own.findings, one) for one in (*own.findings.operators, *own.findings.modules)}
    assert said["sin"].endswith(" 1 of 1 planned test in eager mode passed.")
    assert said["nn.Linear"].endswith(" 1 of 1 planned test in eager mode passed.")
    assert said["add"].endswith(" 1 of 1 planned test passed.")  # it has no other


def test_runs_of_a_device_that_was_told_something_else_are_not_asked(tmp_path: Path) -> None:
    path = write_run(tmp_path / "db.sqlite", {"sin": Outcome.PASSED})
    faults = {"CONFORMANCE_NEURON_FAULTS": "fail aten::mm"}
    write_compiled(path, number=2, templates=(COMPILE,), environment=faults)
    site = _survey(path, "1")
    assert site.findings.compiled == {}
    write_compiled(path, number=3, templates=(COMPILE,), state=RunState.INTERRUPTED)
    assert _survey(path, "1").findings.compiled["operator"].run.id == 3
    write_compiled(path, number=4, templates=(DYNAMIC,), probe="")
    site = _survey(path, "1")
    found = subjects_page(site, site.findings.operators, noun="operator")
    assert (site.findings.compiled["operator"].run.id, found.modes) == (4, ("dynamic",))
    assert found.compiled_run.endswith("compile_dynamic. Whether the CPU did the work was not observed.")
    write_compiled(path, number=5, templates=(COMPILE,), state=RunState.INTERRUPTED)
    assert _survey(path, "1").findings.compiled["operator"].run.id == 4  # a whole run comes before a part


def test_a_run_whose_compiling_tests_have_no_result_says_nothing(tmp_path: Path) -> None:
    ends = {"sin": {EAGER: ENDS["sin"][EAGER], COMPILE: (Outcome.NOT_RUN, None)}}
    site = _survey(write_compiled(tmp_path / "db.sqlite", number=1, ends=ends, module=None))
    assert site.findings.compiled == {}


def test_operators_and_modules_may_be_of_different_runs(tmp_path: Path) -> None:
    path = write_compiled(tmp_path / "db.sqlite", number=1)
    write_compiled(path, number=2, module=None)
    site = _survey(path)
    assert {noun: finding.run.id for noun, finding in site.findings.compiled.items()} == {"operator": 2, "module": 1}


def test_without_any_the_pages_say_how_to_get_it(tmp_path: Path) -> None:
    site = built(write_run(tmp_path / "db.sqlite", {"sin": Outcome.PASSED}), tmp_path / "site")
    for name, suite in (("operators.html", "opinfo"), ("modules.html", "modules"), ("operators/sin.html", "opinfo")):
        text = page(site / name).text
        assert "No data on torch.compile: no run on the emulated device \u2018neuron\u2019 in this database" in text
        assert f"conformance run {suite} --device neuron --templates compile,compile_dynamic" in text
    heads = [head.text for head in page(site / "operators.html").one("table").one("thead").all("th")]
    assert "Status" in heads
    assert not {"Eager", "Compile", "Dynamic"} & {*heads}
    document = _load(site, "api/operators.json")
    assert document["compiled_run"] is None
    assert {(each["compile"], each["dynamic"]) for each in document["operators"]} == {(None, None)}
    assert (site / "csv" / "compiled.csv").read_text(encoding="utf-8").count("\n") == 1


def test_files_for_programs_say_what_the_store_says(beside_compiled_database: Path, beside_compiled_site: Path) -> None:
    with Database.open_existing(beside_compiled_database) as database:
        stored = compile_statuses(database, 2)
    assert len(stored) == 7
    documents = {noun: _load(beside_compiled_site, f"api/{noun}s.json") for noun in ("operator", "module")}
    with (beside_compiled_site / "csv" / "compiled.csv").open(newline="", encoding="utf-8") as stream:
        table = {(row["name"], row["mode"]): row for row in csv.DictReader(stream)}
    assert len(table) == len(stored)
    for row in stored:
        noun, name = ("operator", row.op) if row.op else ("module", row.module)
        (found,) = (each for each in documents[noun][f"{noun}s"] if each["name"] == name)
        values = found[str(row.mode)]
        parts = ("passed", "failed", "skipped", "xfailed", "crashed", "not_run", "flaky")
        assert sum(values[part] for part in parts) == values["planned"] == row.planned
        for field in (*compiled.COUNTS[1:], *compiled.MEASURED):
            assert values[field] == getattr(row, field), (name, field)
            known = getattr(row, field)
            assert table[str(name), str(row.mode)][field] == ("" if known is None else str(known))
        assert values["status"] == table[str(name), str(row.mode)]["status"] == row.status.value
    for document in documents.values():
        assert document["compiled_run"]["key"] == f"{2:032x}"
        assert document["run"] == f"{1:032x}"
    (sin,) = (each for each in documents["operator"]["operators"] if each["name"] == "sin")
    assert sin["dynamic"]["first_failure"]["test_id"] == "opinfo::TestOperators::test_compile_dynamic_sin_float32"
    assert "someone" not in json.dumps(documents)
    (add,) = (each for each in documents["operator"]["operators"] if each["name"] == "add")
    assert (add["compile"], add["dynamic"]) == (None, None)


def test_a_status_of_a_newer_database_is_loud(compiled_database: Path, tmp_path: Path) -> None:
    with Database.open_existing(compiled_database) as database:
        findings = read_findings(database)
        found = findings.compiled["operator"]
        strange = dataclasses.replace(found.rows["sin"][CompileMode.STATIC], status=cast("Any", "quantum"))
        rows = {**found.rows, "sin": {CompileMode.STATIC: strange}}
        changed = {**findings.compiled, "operator": dataclasses.replace(found, rows=rows)}
        write_site(site_files(dataclasses.replace(findings, compiled=changed)), tmp_path / "site")
    table = page(tmp_path / "site" / "operators.html").one("table")
    assert table.one("span", class_="mark-unknown").text == "!?unknown: quantum"
    operator = page(tmp_path / "site" / "operators" / "sin.html").one("table", class_="compiled")
    assert operator.one("span", class_="mark-unknown").text == "!?unknown: quantum"


def test_the_table_stays_small_with_700_operators(tmp_path: Path) -> None:
    ways = [*ENDS.values()]
    ends = {f"nn.functional.some_operator_{number}": ways[number % len(ways)] for number in range(700)}
    site = built(write_compiled(tmp_path / "db.sqlite", number=1, ends=ends), tmp_path / "site")
    assert len(page(site / "operators.html").one("table").one("tbody").all("tr")) == 700
    assert len(gzip.compress((site / "operators.html").read_bytes())) < 400_000


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (1024, "1.0 KiB"),
        (2**20 - 1, "1.0 MiB"),
        (3 * 2**20, "3.0 MiB"),
        (2**30, "1.0 GiB"),
        (5 * 2**40, "5120.0 GiB"),
    ],
)
def test_memory_has_a_unit_that_suits_it(count: int, text: str) -> None:
    assert size(count) == text


def test_an_account_without_numbers_is_not_zero(tmp_path: Path) -> None:
    ends = {"sin": {COMPILE: (Outcome.PASSED, None), DYNAMIC: (Outcome.PASSED, account(1, again=None))}}
    site = _survey(write_compiled(tmp_path / "db.sqlite", number=1, ends=ends, module=None))
    static, dynamic = _part(site, "sin").rows
    assert {static.graphs, static.breaks, static.recompilations, static.time, static.memory} == {"\u2014"}
    assert static.aside == ""
    assert (dynamic.graphs, dynamic.recompilations) == ("1", "\u2014")


def test_a_real_run_does_not_borrow_from_an_emulated_one(tmp_path: Path) -> None:
    path = write_compiled(tmp_path / "db.sqlite", number=1)
    write_run(path, {"sin": Outcome.PASSED}, run=info(emulated=False, key="f" * 32))
    assert _survey(path).findings.compiled == {}
