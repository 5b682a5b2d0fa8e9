"""Exports: nothing is left out, nothing is turned into a pass, and every format's own limits hold."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conformance.analysis.verdict import Verdict
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.report import crcr, github
from conformance.report.ctrf import render_ctrf
from conformance.report.exporting import By, Status, export_of, exported_tests, status_of
from conformance.report.fitting import COMMENT_LIMIT, SUMMARY_LIMIT, fitted
from conformance.report.github import render_github
from conformance.report.junit import render_junit
from conformance.report.pull_request import render_pull_request
from conformance.report.verdicts import Earlier, judge_run
from conformance.store import Database, resolve_run, results
from tests.report.listed_runs import id_of, listed_entry, write_listed_run
from tests.report.runs import write_run
from tests.sample_run import build_sample

ODD = 'bad <tag> & "quotes" ]]> \x1b[31m\x00\ud800 | `code`\nsecond line ::error::x'


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = build_sample(tmp_path_factory.mktemp("exports") / "sample.sqlite", runs=3, operators=24)
    with Database.open_existing(path) as database:
        yield database


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[Database]:
    """Return a run whose texts are as hostile as they get, with entries that speak of two tests."""
    ends = {
        test_id: Result(test_id, outcome, 1.5, message=ODD, details=ODD, signature=ODD)
        for test_id, outcome in (
            (id_of("add", "float32"), Outcome.FAILED),
            (id_of("sub", "float32"), Outcome.CRASHED),
            (id_of("sin", "float32"), Outcome.FAILED),
        )
    }
    passed = id_of("cos", "int8")
    ends[passed] = Result(passed, Outcome.PASSED, fallback=FallbackAccount(("aten::cos.out",), ("aten::cos.out",)))
    entries = [listed_entry("x", reason=ODD), listed_entry("y", expect="skip", reason=ODD)]
    listed = {id_of("add", "float32"): "x", id_of("add", "int8"): "x", id_of("cos", "float32"): "y"}
    ends[id_of("add", "int8")] = Result(id_of("add", "int8"), Outcome.PASSED, fallback=FallbackAccount())
    ends[id_of("cos", "float32")] = Result(id_of("cos", "float32"), Outcome.SKIPPED, reason=ODD)
    path = write_listed_run(tmp_path / "odd.sqlite", "2026-11-01", listed, entries=entries, ends=ends, emulated=True)
    with Database.open_existing(path) as database:
        yield database


def junit(database: Database, run: str = "1", by: By = By.OUTCOME) -> ElementTree.Element:
    text = "".join(render_junit(export_of(database, resolve_run(database, run), by=by)))
    return ElementTree.fromstring(text)


def ctrf(database: Database, run: str = "1", by: By = By.OUTCOME) -> Any:
    return json.loads("".join(render_ctrf(export_of(database, resolve_run(database, run), by=by))))


def test_only_a_pass_is_passed() -> None:
    for outcome, verdict, by, strict in itertools.product(Outcome, Verdict, By, (False, True)):
        status = status_of(outcome, verdict, by=by, strict=strict)
        if status is Status.PASSED:
            assert outcome in (Outcome.PASSED, Outcome.XPASSED, Outcome.FLAKY)
        if by is By.OUTCOME:
            assert (status is Status.FAILED) == outcome.is_bad
        else:
            assert (status is Status.FAILED) == (verdict.fails_strict if strict else verdict.is_unexpected)


def test_junit_has_every_planned_test_under_its_id(sample: Database) -> None:
    for run_id in (1, 3):
        root = junit(sample, str(run_id))
        cases = {
            "::".join(filter(None, (case.get("file"), class_of(case), case.get("name")))): case
            for case in root.iter("testcase")
        }
        rows = {row.test_id: row for row in results(sample, run_id)}
        assert cases.keys() == rows.keys()
        for test_id, row in rows.items():
            tags = {child.tag for child in cases[test_id]} - {"properties"}
            expected = {"failure"} if row.outcome is Outcome.FAILED else {"error"} if row.outcome.is_bad else set()
            assert tags == (expected or ({"skipped"} if row.outcome in (Outcome.SKIPPED, Outcome.XFAILED) else set()))


def class_of(case: ElementTree.Element) -> str:
    last = (case.get("classname") or "").rpartition(".")[2]
    return last if last[:1].isupper() else ""


def test_the_numbers_of_a_junit_suite_are_those_of_its_cases(sample: Database, odd: Database) -> None:
    for root in (junit(sample), junit(odd), junit(odd, by=By.VERDICT)):
        for suite in root.iter("testsuite"):
            cases = suite.findall("testcase")
            for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                assert int(suite.get(attribute, "-1")) == sum(case.find(tag) is not None for case in cases)
            assert int(suite.get("tests", "-1")) == len(cases)


def test_junit_by_verdict_skips_what_is_expected_and_says_why(odd: Database) -> None:
    cases = {case.get("name"): case for case in junit(odd, by=By.VERDICT).iter("testcase")}
    expected = cases["test_add_float32"].find("skipped")
    assert expected is not None
    assert (
        expected.get("type"),
        (expected.get("message") or "").startswith("failed, as expected, entry x: bad <tag>"),
    ) == (
        "failed",
        True,
    )
    failed = cases["test_sin_float32"].find("failure")
    assert failed is not None
    assert failed.get("message") == 'bad <tag> & "quotes" ]]> \\x1b[31m\\x00\\udXXX | `code`'.replace(
        "\\udXXX", "\\ud800"
    )
    assert cases["test_sub_float32"].find("error") is not None
    assert cases["test_sub_int8"].attrib["time"] == "0.25"


def test_ctrf_has_what_its_schema_demands_and_nothing_else(sample: Database, odd: Database) -> None:
    allowed = {
        *("name", "status", "duration", "suite", "message", "trace", "filePath", "rawStatus", "device", "flaky"),
        *("retries", "extra"),
    }
    for found in (ctrf(sample), ctrf(sample, "3"), ctrf(odd), ctrf(odd, by=By.VERDICT)):
        assert found.keys() == {"reportFormat", "specVersion", "reportId", "generatedBy", "results"}
        assert found["reportFormat"] == "CTRF"
        body = found["results"]
        assert body.keys() == {"tool", "summary", "environment", "tests"}
        summary = body["summary"]
        statuses = Counter(test["status"] for test in body["tests"])
        assert {name: summary[name] for name in ("passed", "failed", "skipped", "pending", "other")} == {
            name: statuses[name] for name in ("passed", "failed", "skipped", "pending", "other")
        }
        assert summary["tests"] == len(body["tests"])
        assert 0 < summary["start"] <= summary["stop"]
        for test in body["tests"]:
            assert test.keys() <= allowed
            assert isinstance(test["duration"], int)
            assert test["name"]


def test_ctrf_calls_an_expected_failure_other_and_a_lost_test_failed(sample: Database, odd: Database) -> None:
    tests = {test["name"]: test for test in ctrf(odd, by=By.VERDICT)["results"]["tests"]}
    assert tests[id_of("add", "float32")]["status"] == "other"
    assert tests[id_of("add", "float32")]["rawStatus"] == "failed"
    raw = {(test["rawStatus"], test["status"]) for test in ctrf(sample)["results"]["tests"]}
    assert {("not_run", "failed"), ("xfailed", "other"), ("crashed", "failed"), ("flaky", "passed")} <= raw


def relayed(database: Database, run: str = "1") -> crcr.Relayed:
    export = export_of(database, resolve_run(database, run))
    return crcr.relayed(export, conclusion="failure", artifact_url="https://example.org/x?a=1&b=2")


def test_the_relay_gets_counts_that_add_up_to_the_plan(sample: Database) -> None:
    found = json.loads(crcr.relay_document(relayed(sample)))
    run = resolve_run(sample, "1")
    assert found["test_results"].keys() == {"passed", "failed", "skipped"}
    assert sum(found["test_results"].values()) == run.planned
    assert found["test_results"]["failed"] == sum(count for outcome, count in run.counts.items() if outcome.is_bad)
    assert len(found["failed_tests"]) + found["failed_tests_left_out"] == found["test_results"]["failed"]
    assert (found["conclusion"], found["artifact_url"]) == ("failure", "https://example.org/x?a=1&b=2")
    assert "EMULATED" in found["environment"]["device"]


def test_the_relay_never_gets_more_than_it_takes(tmp_path: Path) -> None:
    chance = random.Random(0)
    text = "".join(chance.choice("äöü\x00\n abc") for _ in range(16_000))
    ids = [f"opinfo::TestX::test_{number}" for number in range(1_500)]
    rows = [Result(name, Outcome.FAILED, message=text.replace("\n", " "), details=text, signature="s") for name in ids]
    with Database.open_existing(write_run(tmp_path / "big.sqlite", rows)) as database:
        found = relayed(database)
        body = crcr.relay_document(found)
        outputs = crcr.relay_outputs(found)
    assert len(body.encode()) < crcr.BODY_LIMIT
    told = json.loads(body)
    assert len(told["failed_tests"]) + told["failed_tests_left_out"] == 1_500
    assert len(told["failed_tests"]) <= crcr.FAILED_LIMIT
    for test in found.failed:
        assert len(str(test["message"]).encode()) <= crcr.MESSAGE_LIMIT
        assert len(str(test["stacktrace"]).encode()) <= crcr.STACK_LIMIT
    lines = dict(line.split("=", 1) for line in outputs.splitlines())
    assert lines.keys() == {"conclusion", "test-results", "failed-tests-detail", "artifact-url"}
    assert json.loads(lines["test-results"])["failed"] == 1_500
    assert 0 < len(json.loads(lines["failed-tests-detail"])) < 1_000
    assert len(lines["failed-tests-detail"]) < 128 * 1024


def annotated(database: Database, run: str = "1", *, strict: bool = False, **places: tuple[str, int]) -> list[str]:
    row = resolve_run(database, run)
    judged = judge_run(database, row, strict=strict)
    return render_github(judged, places, {one.result.test_id: "opinfo" for one in judged.gate.judged}).splitlines()


def test_annotations_name_causes_and_cannot_be_broken_out_of(odd: Database) -> None:
    lines = annotated(odd, x=("skiplists/neuron/a,b.toml", 12))
    assert [line.partition(" ")[0] for line in lines] == ["::notice", *["::error"] * 2, *["::warning"] * 2]
    assert all(line.count("::") >= 2 and "\x1b" not in line for line in lines)
    assert "2 of 11 tests unexpected" in lines[0]
    assert "EMULATED" in lines[0]
    assert "conformance run opinfo --device neuron --test" in lines[1]
    unexpected = next(line for line in lines if "unexpected pass" in line)
    assert "file=skiplists/neuron/a%2Cb.toml,line=12::" in unexpected


def test_no_more_annotations_of_a_level_than_github_shows(tmp_path: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    rows = [
        Result(f"opinfo::TestX::test_{letter}", Outcome.FAILED, message=f"cause {letter * 3}", signature=letter)
        for letter in letters
    ]
    with Database.open_existing(write_run(tmp_path / "many.sqlite", rows)) as database:
        lines = annotated(database)
    errors = [line for line in lines if line.startswith("::error")]
    assert len(errors) == github.LIMIT
    assert errors[-1] == "::error title=17 more causes::17 tests; the job summary and the database have all."


def test_a_quiet_run_is_one_notice(tmp_path: Path) -> None:
    path = write_listed_run(tmp_path / "quiet.sqlite", "2026-11-01", {})
    with Database.open_existing(path) as database:
        assert len(annotated(database)) == 1


def test_a_comment_says_the_worst_first_and_holds_texts_in_check(odd: Database) -> None:
    text = render_pull_request(judge_run(odd, resolve_run(odd, "1")), top=20)
    assert text.startswith("<!-- torch-conformance neuron -->\n### Conformance of `neuron` **EMULATED**: 2 of 11 tests")
    assert text.index("New failure") < text.index("Unexpected pass") < text.index("Unlisted fallback")
    assert "<details open><summary>New failure: 2 tests</summary>" in text
    assert "\x1b" not in text


def test_a_comment_stays_under_the_limit_however_much_is_wrong(tmp_path: Path) -> None:
    rows = [Result(f"opinfo::TestX::test_{'ä' * 150}_{number}", Outcome.FAILED) for number in range(3_000)]
    with Database.open_existing(write_run(tmp_path / "big.sqlite", rows)) as database:
        judged = judge_run(database, resolve_run(database, "1"))
        text = render_pull_request(judged, top=0)
    assert len(text.encode()) <= COMMENT_LIMIT
    assert "3,000 of 3,000 tests unexpected" in text
    assert "And 2," in text


def test_a_report_is_narrowed_until_it_fits() -> None:
    asked: list[int] = []

    def render(top: int) -> str:
        asked.append(top)
        return "x" * 10 * (top or 1_000_000)

    assert len(fitted(render, 0, 600)) == 500
    assert asked == [0, 200, 100, 50]
    assert fitted(render, 30, 600) == "x" * 300
    assert fitted(lambda top: "äääää\n" * 1000, 5, 100).endswith("\n\nThe rest did not fit here.\n")
    assert len(fitted(lambda top: "äääää\n" * 1000, 5, 100).encode()) <= 100


def test_a_baseline_may_be_in_another_file(tmp_path: Path) -> None:
    test_id = id_of("add", "float32")
    failing = {test_id: Result(test_id, Outcome.FAILED)}
    old = write_listed_run(tmp_path / "old.sqlite", "2026-11-01", {})
    new = write_listed_run(tmp_path / "new.sqlite", "2026-11-02", {}, ends=failing)
    with Database.open_existing(old) as before, Database.open_existing(new) as after:
        run = resolve_run(after, "1")
        earlier = Earlier(before, resolve_run(before, "1"), str(old))
        verdicts = {test.row.test_id: test.verdict for test in exported_tests(export_of(after, run, baseline=earlier))}
        assert judge_run(after, run, baseline=earlier).gate.counts[Verdict.REGRESSION] == 1
    assert verdicts[test_id] is Verdict.REGRESSION


def test_the_limits_are_those_of_github() -> None:
    assert (SUMMARY_LIMIT, COMMENT_LIMIT) == (1_048_576, 65_536)
