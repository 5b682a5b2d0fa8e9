"""``conformance gate``, as its user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.analysis.verdict import Verdict
from conformance.cli.gate import command
from conformance.errors import UsageError
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import PlanScope, RunState
from tests.report.listed_runs import id_of, listed_entry, write_listed_run
from tests.report.runs import write_run

ADD, ADD8, SUB, SIN = (id_of("add", "float32"), id_of("add", "int8"), id_of("sub", "int8"), id_of("sin", "float32"))
ON_CPU = FallbackAccount(("aten::sin.out",), ("aten::sin.out",))


def run(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.stdout


def document(*arguments: object, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--format", "json", code=code))


def found(*arguments: object, code: int = 0) -> dict[str, int]:
    return {verdict: count for verdict, count in document(*arguments, code=code)["counts"].items() if count}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return two runs: a quiet one, and one that differs from it in every way."""
    path = tmp_path / "runs.sqlite"
    entries = [listed_entry("x", message="no kernel"), listed_entry("y", expect="crash")]
    write_listed_run(path, "2026-11-01", {ADD: "x", ADD8: "y"}, entries=entries, ends={ADD8: crash(ADD8)})
    write_listed_run(
        path,
        "2026-11-02",
        {ADD: "x", ADD8: "y"},
        entries=entries,
        ends={
            ADD: Result(ADD, Outcome.PASSED, fallback=FallbackAccount()),
            ADD8: Result(ADD8, Outcome.FAILED, message="wrong", signature="wrong"),
            SUB: Result(SUB, Outcome.FAILED, message="bad | <b>`text`</b>", signature="bad"),
            SIN: Result(SIN, Outcome.PASSED, fallback=ON_CPU),
        },
    )
    return path


def crash(test_id: str) -> Result:
    return Result(test_id, Outcome.CRASHED, message="signal 11", signature="signal 11")


def test_a_run_that_does_what_its_list_says_passes(database: Path) -> None:
    assert found("--db", database, "--run", "1") == {"as_expected": 11}
    output = run("--db", database, "--run", "1")
    assert output.startswith("None of 11 tests unexpected\n\nHeld against the skiplist 'skiplists/neuron'.\n")


def test_without_a_baseline_only_the_list_says_what_is_new(database: Path) -> None:
    assert found("--db", database, code=1) == {
        "new_failure": 1,
        "unexpected_pass": 1,
        "unlisted_fallback": 1,
        "improved": 1,
        "as_expected": 7,
    }


def test_the_previous_run_tells_regressions_and_new_fallbacks(database: Path) -> None:
    expected = {"regression": 1, "new_fallback": 1, "unexpected_pass": 1, "improved": 1, "as_expected": 7}
    for baseline in ("previous", "1", f"{database}#1"):
        assert found("--db", database, "--baseline", baseline, code=1) == expected
    told = document("--db", database, "--baseline", "previous", code=1)
    assert told["baseline"]["id"] == 1
    tests = {one["test_id"]: one for one in told["tests"]}
    assert (tests[SUB]["verdict"], tests[SUB]["before"], tests[SUB]["fails"]) == ("regression", "passed", True)
    assert tests[SIN]["fallback_ops"] == ["aten::sin.out"]
    assert (tests[ADD]["entry"], tests[ADD]["fails"]) == ("x", False)


def test_strict_counts_what_the_list_does_not_say(database: Path) -> None:
    output = run("--db", database, "--baseline", "previous", "--strict", code=1)
    assert output.startswith("3 of 11 tests unexpected\n")
    assert "; strict." in output


def test_the_first_run_has_no_previous_one_and_says_so(database: Path) -> None:
    output = run("--db", database, "--run", "1", "--baseline", "previous")
    assert "There is no earlier run of the same device, suites and selection" in output


def test_only_runs_alike_are_previous(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    write_listed_run(path, "2026-11-01", {})
    write_listed_run(path, "2026-11-02", {}, emulated=True)
    write_listed_run(path, "2026-11-03", {}, selection="--ops add")
    write_listed_run(path, "2026-11-04", {}, state=RunState.INTERRUPTED)
    write_listed_run(path, "2026-11-09", {})
    write_listed_run(path, "2026-11-06", {})
    assert document("--db", path, "--baseline", "previous")["baseline"]["id"] == 1
    assert document("--db", path, "--run", "5", "--baseline", "previous")["baseline"]["id"] == 6


def test_tests_that_vanish_from_an_equal_run_fail_it(tmp_path: Path) -> None:
    path = write_listed_run(tmp_path / "runs.sqlite", "2026-11-01", {})
    write_listed_run(path, "2026-11-02", {}, without=[ADD, SUB])
    told = document("--db", path, "--baseline", "previous", code=1)
    assert (told["gone"], told["whole"]) == ([ADD, SUB], True)
    assert run("--db", path, "--baseline", "previous", code=1).startswith("0 of 9 tests unexpected, 2 tests gone\n")
    write_listed_run(path, "2026-11-03", {}, without=[ADD], torch_version="2.14.0")
    output = run("--db", path, "--baseline", "1")
    assert "1 test of the baseline is not in this run's plan, which is of other tests: no loss." in " ".join(
        output.split()
    )


def test_a_run_without_one_of_its_shards_fails(tmp_path: Path) -> None:
    scope = PlanScope("0" * 32, 20)
    path = write_listed_run(tmp_path / "runs.sqlite", "2026-11-01", {}, scope=scope)
    assert run("--db", path, code=1).startswith("0 of 11 tests unexpected, 9 tests in shards that are missing\n")
    alone = write_listed_run(tmp_path / "shard.sqlite", "2026-11-01", {}, scope=PlanScope("0" * 32, 20, 1, 2))
    assert run("--db", alone).startswith("None of 11 tests unexpected\n")


def test_a_lost_test_fails_whatever_is_expected_of_it(tmp_path: Path) -> None:
    path = write_run(tmp_path / "runs.sqlite", [], planned=["test_add"], state=RunState.INTERRUPTED)
    assert found("--db", path, code=1) == {"lost": 1}


def test_markdown_and_text_hold_what_a_test_said_in_check(database: Path) -> None:
    output = run("--db", database, "--baseline", "previous", "--format", "md", code=1)
    assert f"```text\nfailed, was passed: {SUB}\n```" in output
    assert "<b>" not in output


def test_an_emulated_run_is_called_so(tmp_path: Path) -> None:
    path = write_listed_run(tmp_path / "runs.sqlite", "2026-11-01", {}, emulated=True)
    assert "EMULATED" in run("--db", path)


def test_a_missing_baseline_is_named(database: Path, tmp_path: Path) -> None:
    for baseline, slug in (("77", "unknown-run"), (f"{tmp_path}/none.sqlite#1", "database-missing")):
        with pytest.raises(UsageError) as caught:
            run("--db", database, "--baseline", baseline)
        assert caught.value.slug == slug


def test_every_verdict_is_a_count_of_the_document(database: Path) -> None:
    assert set(document("--db", database, code=1)["counts"]) == {verdict.value for verdict in Verdict}
