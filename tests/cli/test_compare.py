"""``conformance compare``, as its user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli.compare import command
from conformance.errors import UsageError
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import RunState
from tests.report.runs import id_of, write_run
from tests.sample_run import build_sample

NATIVE, ON_CPU = FallbackAccount(), FallbackAccount(("aten::sin.out",), ("aten::sin.out",))


def result(name: str, outcome: Outcome = Outcome.PASSED, fallback: FallbackAccount | None = NATIVE) -> Result:
    return Result(id_of(f"test_{name}"), outcome, fallback=fallback)


BEFORE = [
    result("add"),
    result("sub"),
    result("sin"),
    result("mul", Outcome.FAILED),
    result("div", Outcome.CRASHED, None),
    result("gone"),
    result("cos", fallback=ON_CPU),
    result("same"),
]
AFTER = [
    result("add", Outcome.FAILED),
    result("sub", Outcome.SKIPPED),
    result("sin", fallback=ON_CPU),
    result("mul"),
    result("div", Outcome.FAILED),
    result("cos"),
    result("same"),
    result("new", Outcome.FAILED),
]


def run(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.stdout


def document(*arguments: object, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--format", "json", code=code))


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Return a database with two runs that differ in every way that tests can, but for lost ones."""
    path = write_run(tmp_path / "two.sqlite", BEFORE, key="1" * 32)
    return write_run(path, AFTER, key="2" * 32)


def test_every_test_of_both_runs_is_counted_once_and_named(two: Path) -> None:
    found = document("--db", two, "--run", "1", "--run", "2")
    assert {change: count for change, count in found["counts"].items() if count} == {
        "regressed": 1,
        "new_fallback": 1,
        "no_longer_run": 1,
        "removed": 1,
        "added": 1,
        "improved": 1,
        "vanished_fallback": 1,
        "fixed": 1,
        "unchanged": 1,
    }
    assert found["tests"] == sum(found["counts"].values()) == 9
    changes = {one["test_id"].removeprefix("opinfo::TestX::test_"): one for one in found["changes"]}
    assert changes["add"]["before"] == {"outcome": "passed", "fallback_ops": []}
    assert changes["gone"]["after"] is None
    assert changes["new"]["before"] is None
    assert changes["sin"]["after"] == {"outcome": "passed", "fallback_ops": ["aten::sin.out"]}


def test_operators_are_compared_by_status_and_by_their_tests(two: Path) -> None:
    operators = {one["op"]: one for one in document("--db", two, "--run", "1", "--run", "2")["operators"]}
    assert (operators["add"]["before"], operators["add"]["after"]) == ("native", "failing")
    assert (operators["sin"]["before"], operators["sin"]["after"]) == ("native", "fallback")
    assert (operators["gone"]["before"], operators["gone"]["after"]) == ("native", None)
    assert operators["gone"]["counts"] == {"removed": 1}
    assert [operators[name]["direction"] for name in ("add", "mul", "gone", "sub")] == [-1, 1, 0, 0]
    assert "same" not in operators


def test_the_text_says_what_got_worse_first(two: Path) -> None:
    output = run("--db", two, "--run", "1", "--run", "2")
    assert output.startswith(f"run 1 of {two} to run 2 of {two}: 8 of 9 tests changed, 4 for the worse\n")
    assert "  passed -> failed: opinfo::TestX::test_add\n" in output
    assert "  passed -> passed (aten::sin.out): opinfo::TestX::test_sin\n" in output
    assert output.index("Regressed:") < output.index("New fallback:") < output.index("Added:") < output.index("Fixed:")


def test_markdown_keeps_ids_in_code(two: Path) -> None:
    output = run("--db", two, "--run", "1", "--run", "2", "--format", "md")
    assert "```text\npassed -> failed: opinfo::TestX::test_add\n```" in output


def test_a_test_that_came_back_without_a_result_is_lost_and_never_a_pass(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.sqlite", [result("add"), result("sub")], key="1" * 32)
    write_run(path, [result("add")], planned=["test_sub"], key="2" * 32, state=RunState.INTERRUPTED)
    found = document("--db", path, "--run", "1", "--run", "2")
    assert found["counts"]["lost"] == 1
    assert "INCOMPLETE: run 2 of" in run("--db", path, "--run", "1", "--run", "2")
    killed = write_run(tmp_path / "b.sqlite", [result("add")], planned=["test_sub"], state=None)
    assert document(path, killed)["changes"] == []
    assert document(f"{path}#1", killed)["counts"]["lost"] == 1


def test_fail_on_regression_looks_at_what_got_worse(two: Path, tmp_path: Path) -> None:
    both = ("--db", two, "--run", "1", "--run", "2")
    assert document(*both, "--fail-on-regression", code=1)["worse"] == 4
    run(*both)
    better = write_run(tmp_path / "x.sqlite", [result("add", Outcome.FAILED)], key="3" * 32)
    write_run(better, [result("add"), result("new", Outcome.FAILED)], key="4" * 32)
    run("--db", better, "--run", "1", "--run", "2", "--fail-on-regression")


def test_a_missing_test_is_a_loss_only_where_it_should_be_there(tmp_path: Path) -> None:
    path = write_run(tmp_path / "x.sqlite", [result("add"), result("sub")], key="1" * 32)
    write_run(path, [result("add")], key="2" * 32)
    write_run(path, [result("add")], key="3" * 32, device="cpu")
    run(f"{path}#1", f"{path}#2", "--fail-on-regression", code=1)
    assert "did not undertake" not in run(f"{path}#1", f"{path}#2")
    run(f"{path}#1", f"{path}#3", "--fail-on-regression")
    output = run(f"{path}#1", f"{path}#3")
    assert "Device: 'neuron (Trainium2)' and 'cpu (Trainium2)'." in output
    assert "The two did not undertake the same tests" in output


def test_runs_are_named_in_several_ways(two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = document("--db", two, "--run", "1", "--run", "2")["counts"]
    other = write_run(tmp_path / "other#1.sqlite", AFTER)
    for words in ((f"{two}#1", two), ("#1", "#2", "--db", two), (f"{two}#1111", f"{two}#latest"), (f"{two}#1", other)):
        assert document(*words)["counts"] == expected
    monkeypatch.setenv("CONFORMANCE_DB", str(two))
    assert document("#1", "#2")["counts"] == expected


def test_a_run_compared_with_itself_has_not_changed(two: Path) -> None:
    assert "0 of 8 tests changed, 0 for the worse" in run(two, two, "--fail-on-regression")


@pytest.mark.parametrize("words", [[], ["a"], ["a", "b", "c"], ["--run", "1"], ["a", "b", "--run", "1"]])
def test_anything_but_two_runs_is_a_usage_error(words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        run(*words)
    assert caught.value.slug == "compare-what"


def test_a_missing_file_or_run_is_named(two: Path, tmp_path: Path) -> None:
    for words, slug in (((two, tmp_path / "none"), "database-missing"), ((two, f"{two}#77"), "unknown-run")):
        with pytest.raises(UsageError) as caught:
            run(*words)
        assert caught.value.slug == slug


def test_what_a_database_holds_cannot_break_a_report(tmp_path: Path) -> None:
    path = build_sample(tmp_path / "sample.sqlite", runs=2, operators=24)
    for form in ("text", "md"):
        output = run("--db", path, "--run", "1", "--run", "2", "--format", form, "--top", "0")
        assert "\x1b" not in output
        assert "EMULATED: in run 1 of" in output
        if form == "md":
            assert "<script>" not in output.replace("`odd.<script>", "")


def test_the_database_is_not_changed(two: Path) -> None:
    before = two.read_bytes()
    run("--db", two, "--run", "1", "--run", "2")
    assert two.read_bytes() == before
