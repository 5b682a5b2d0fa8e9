"""The commands of ``conformance skiplist``, as their user meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli import skiplist_options as options
from conformance.cli.skiplist import command
from conformance.errors import ConformanceError, UsageError
from conformance.skiplist.formats import EXPORTS, IMPORTS
from conformance.skiplist.load import load_skiplist
from conformance.skiplist.stats import By
from conformance.skiplist.vocabulary import Category, Expectation
from tests.sample_run import build_sample
from tests.skiplist.building import entry_text, list_text

DAY = ("--today", "2026-11-01")
DET = "opinfo::TestOperators::test_forward_linalg_det_float32"
GOOD = list_text(entry_text("linalg", 'match = { ops = ["linalg.*"], dtypes = ["float32"] }'))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_sample(tmp_path_factory.mktemp("skiplist") / "sample.sqlite", runs=3, operators=40)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    folder = tmp_path / "neuron"
    folder.mkdir()
    (folder / "a.toml").write_text(GOOD)
    return folder


def run(*arguments: object, code: int = 0, stdin: str | None = None) -> str:
    result = CliRunner().invoke(command, [str(word) for word in arguments], input=stdin, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


def document(*arguments: object, code: int = 0) -> dict[str, Any]:
    found = json.loads(run(*arguments, "--format", "json", code=code))
    assert found["schema"] == 1
    assert isinstance(found, dict)
    return found


def refused(*arguments: object) -> ConformanceError:
    with pytest.raises(ConformanceError) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)
    return caught.value


def test_lint_of_a_good_list_is_quiet_and_says_what_it_did_not_check(good: Path) -> None:
    output = run("lint", good, *DAY)
    assert output.startswith("1 entry with 0 test ids in 1 file: 0 errors, 0 warnings, 0 advice\n")
    assert "Not checked: operators, modules, tests and overlaps of patterns: no run was given." in output


def test_lint_names_the_line_of_each_finding_and_fails_for_errors_only(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(list_text(entry_text("a").replace("https://example.org/1", "")))
    output = run("lint", file, *DAY)
    assert f"  {file}:3: warning: entry 'a': it has no link (no-link)\n" in output
    run("lint", file, *DAY, "--strict", code=1)
    file.write_text(list_text(entry_text("a").replace("fail", "fial"), entry_text("b").replace("The compiler", "")))
    output = run("lint", file, *DAY, code=1)
    assert f"  {file}:5: error: entry 'a': 'fial' is no expectation; did you mean 'fail'? (format)\n" in output


def test_lint_holds_a_list_against_a_run(good: Path, database: Path) -> None:
    (good / "b.toml").write_text(list_text(entry_text("b", 'match = { ops = ["lin.det"] }\ntests = ["opinfo::T::x"]')))
    found = document("lint", good, "--db", database, "--run", "1", *DAY, code=1)
    assert [(one["rule"], one["level"], one["entry"], one["line"]) for one in found["findings"]] == [
        ("unknown-op", "error", "b", 3),
        ("unknown-test", "error", "b", 11),
        ("matches-nothing", "warning", "b", 3),
    ]
    assert found["held_against"] == "run 1"
    assert found["counts"] == {"error": 2, "warning": 1, "advice": 0}
    part = run("lint", good, "--db", database, "--run", "3", *DAY, code=1)
    assert "Not checked: tests that are gone, patterns that match nothing: run 3 ran a part of its suites." in part


def test_stats_counts_by_what_was_asked_for(good: Path, database: Path) -> None:
    found = document("stats", good, "--by", "op", "--by", "category", "--db", database, "--run", "1", *DAY)
    assert list(found["by"]) == ["category", "op"]
    assert found["whole"]["planned"] == 12
    assert {part["key"]: part["planned"] for part in found["by"]["op"]} == {
        "linalg.*": 0,
        "linalg.det": 3,
        "linalg.qr": 3,
        "linalg.solve": 3,
        "linalg.svd": 3,
    }
    output = run("stats", good, *DAY)
    assert "Without a reason: 0 of 1 (0 %). 1 entry has patterns, counted as one rule each." in output
    assert output.count("\nBy ") == 8


def test_explain_says_which_entry_counts(good: Path, database: Path) -> None:
    output = run("explain", DET, good, "--db", database, "--run", "1", *DAY)
    assert output.startswith(f"{DET}: expected to fail, by 'linalg'\n")
    assert f"  counts: 'linalg' (fail) at {good}/a.toml:3: match: ops linalg.*; dtypes float32\n" in output
    alone = run("explain", DET, good, *DAY)
    assert alone.startswith(f"No entry counts for {DET}\n")
    assert "undecided: 'linalg'" in alone
    told = document("explain", DET, good, "--op", "linalg.det", "--dtype", "float32", *DAY)
    assert (told["counts"], told["entries"][0]["standing"]) == ("linalg", "counts")
    assert refused("explain", "opinfo::T::gone", good, "--db", database, "--run", "1").slug == "unknown-test"
    assert refused("explain", "gone", good).slug == "unknown-test"


def test_explain_judges_conditions_as_in_the_run(good: Path, database: Path) -> None:
    (good / "b.toml").write_text(list_text(entry_text("real", f'emulated = false\ntests = ["{DET}"]')))
    emulated = document("explain", DET, good, "--db", database, "--run", "1", *DAY)
    assert emulated["counts"] == "linalg"
    assert emulated["entries"][0]["why"] == "emulated = false, and this is emulated"
    assert document("explain", DET, good, "--db", database, "--run", "2", *DAY)["counts"] == "real"


def test_import_writes_a_list_and_accounts_for_everything(tmp_path: Path) -> None:
    source, target = tmp_path / "disabled.json", tmp_path / "npu.toml"
    source.write_text('{"test_a_npu (__main__.TestANPU)": ["https://x.org/1", []], "broken": ["", []]}')
    found = document("import", "disabled-tests", source, "--device", "npu", "--out", target, *DAY, "--owner", "me")
    assert (found["read"], found["mapped"], found["entries"], found["tests"]) == (2, 1, 1, 1)
    assert found["unmapped"] == [
        {"text": "broken", "why": "it is not of the form 'test (module.Class)'", "line": 0},
    ]
    (entry,) = load_skiplist([target])
    assert (entry.id, entry.tests, entry.owner, str(entry.added)) == (
        "npu-TestA",
        ("*::TestA::test_a",),
        "me",
        "2026-11-01",
    )
    before = target.read_bytes()
    assert refused("import", "disabled-tests", source, "--device", "npu", "--out", target).slug == "output-exists"
    assert target.read_bytes() == before
    run("import", "disabled-tests", source, "--device", "npu", "--out", target, "--force", "--expect", "fail")
    assert load_skiplist([target]).entries[0].expect is Expectation.FAIL


def test_import_without_a_target_leaves_standard_output_to_the_list(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        command, ["import", "deselect", "-", "--device", "npu"], input="a.py::T::test_x[1]\n", catch_exceptions=False
    )
    assert result.exit_code == 0
    assert result.stdout.startswith("# Imported from - (deselect) by conformance skiplist import.\nschema = 1\n")
    assert result.stderr.startswith("-: of 1 1 mapped, to 1 entry; 0 not mapped\n")


def test_what_cannot_be_read_or_written_is_one_line(tmp_path: Path, good: Path) -> None:
    assert refused("import", "disabled-tests", tmp_path / "none", "--device", "x").slug == "bad-import"
    (tmp_path / "bad").write_bytes(b"\xff")
    assert refused("import", "deselect", tmp_path / "bad", "--device", "x").slug == "bad-import"
    away = tmp_path / "no" / "x.json"
    assert refused("export", "disabled-tests", good, "--device", "neuron", "--out", away).slug == "skiplist-unwritable"
    for device in ("", "a b", "ü"):
        assert refused("import", "deselect", good / "a.toml", "--device", device).slug == "unknown-device"
    assert refused("lint", tmp_path / "none.toml").slug == "skiplist-missing"
    assert refused("lint").slug == "skiplist-missing"
    assert refused("stats", "--device", "nonesuch").slug == "skiplist-missing"
    assert refused("lint", good, "--db", tmp_path / "no.sqlite", "--run", "1").slug == "database-missing"
    (good / "a.toml").write_text("x")
    assert refused("stats", good).slug == "bad-skiplist"


def test_export_fills_patterns_in_from_a_run(good: Path, database: Path, tmp_path: Path) -> None:
    (good / "b.toml").write_text(list_text(entry_text("local", 'match = { files = ["tests/*"] }')))
    target = tmp_path / "disabled.json"
    arguments = (
        "export",
        "disabled-tests",
        good,
        "--device",
        "neuron",
        "--out",
        target,
        "--db",
        database,
        "--run",
        "1",
    )
    found = document(*arguments, *DAY)
    names = list(json.loads(target.read_text()))
    assert "test_passed_neuron (__main__.TestLocalNEURON)" in names
    assert found["written"] * 2 == len(names)
    assert {one["why"] for one in found["left_out"]} == {"it is a test of this harness, not of PyTorch"}
    printed = run("export", "test-exclusions", good, "--device", "neuron", "--db", database, "--run", "1", *DAY)
    assert '"TestLocal": {' in printed


def test_diff_shows_what_changed_and_its_exit_code_is_zero(good: Path, tmp_path: Path) -> None:
    after = tmp_path / "after.toml"
    after.write_text(GOOD.replace('"fail"', '"skip"') + "\n" + entry_text("new"))
    output = run("diff", good, after)
    assert output.startswith(f"{good} to {after}: entries 1 to 2, test ids 0 to 1 (+1 -0)\n")
    assert "  'new' (fail, unsupported-op): 1 test: The compiler has no such operator.\n" in output
    assert "  'linalg': expect: fail -> skip\n" in output
    found = document("diff", good, after)
    assert found["added"] == ["new"]
    assert found["changed"][0]["weakened"] is True
    assert "No difference." in run("diff", good, good)


@pytest.mark.parametrize("form", ["text", "md"])
@pytest.mark.parametrize("verb", ["lint", "stats", "diff", "explain"])
def test_what_a_list_holds_cannot_break_a_report(verb: str, form: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    odd = "<b>\\u001b[31m | `x` 'it's' # @you"
    file.write_text(list_text(entry_text("a").replace("The compiler has no such operator.", odd)))
    empty = tmp_path / "b.toml"
    empty.write_text("schema = 1\n")
    arguments: dict[str, list[object]] = {"diff": [empty, file], "explain": ["a.py::T::test_x", file]}
    words = arguments.get(verb, [file])
    output = run(verb, *words, "--format", form)
    assert "\x1b" not in output
    if form == "md":
        assert "<b>" not in output.replace("\\<b\\>", "").replace("`<b>", "")


def test_the_words_of_the_options_are_those_of_the_code() -> None:
    assert list(options.BY) == [str(by) for by in By]
    assert list(options.EXPECTATIONS) == [str(member) for member in Expectation]
    assert list(options.CATEGORIES) == [str(member) for member in Category]
    assert list(options.IMPORTS) == list(IMPORTS)
    assert list(options.EXPORTS) == list(EXPORTS)


def test_the_document_names_the_keys_of_every_command(listed: Path, database: Path, tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "skiplists.md").read_text(encoding="utf-8")
    source = tmp_path / "x.json"
    source.write_text('{"test_a_npu (m.TestANPU)": ["", []]}')
    held = ("--db", database, "--run", "1", *DAY)
    target = tmp_path / "out"
    words: dict[str, tuple[object, ...]] = {
        "lint": (listed, *held),
        "stats": (listed, *held),
        "explain": (DET, listed, *held),
        "diff": (listed, listed),
        "import": ("disabled-tests", source, "--device", "npu", "--out", target),
        "export": ("disabled-tests", listed, "--device", "npu", "--out", target, "--force"),
        "stale": (listed, *held),
        "prune": (listed, *held),
        "add": (listed, *held, "--to", tmp_path / "new.toml"),
        "update": (listed, *held),
    }
    import click

    for verb in command.list_commands(click.Context(command)):
        row = next(line for line in text.splitlines() if line.startswith(f"| `{verb}` | `"))
        if verb == "update":
            row += next(line for line in text.splitlines() if line.startswith("| `prune` | `"))
        missing = [key for key in document(verb, *words[verb]) if key != "schema" and f"`{key}`" not in row]
        assert missing == [], verb


def test_every_command_has_its_help() -> None:
    listed = run("--help")
    import click

    for name in command.list_commands(click.Context(command)):
        assert f"  {name} " in listed
        assert "--format" in run(name, "--help")
    for name in (*IMPORTS, *EXPORTS):
        assert name in run("import", "--help") + run("export", "--help")


def test_it_starts_without_torch_and_help_imports_no_more_than_click() -> None:
    program = (
        "import sys\nfrom conformance.cli.skiplist import command\n"
        "command(['lint', '--help'], standalone_mode=False)\n"
        "late = {'torch', 'numpy', 'rich', 'tomlkit', 'packaging', 'sqlite3', 'conformance.skiplist'}\n"
        "loaded = late & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_database_is_not_changed(good: Path, database: Path) -> None:
    before = database.read_bytes()
    for words in (["lint", good], ["stats", good], ["explain", DET, good]):
        run(*words, "--db", database, "--run", "1", *DAY)
    assert database.read_bytes() == before


def test_an_unknown_format_is_a_usage_error() -> None:
    run("import", "nonesuch", "x", "--device", "y", code=2)
    with pytest.raises(UsageError):
        run("lint", "nowhere")


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """Return a folder with a list that the sample's first run contradicts in part."""
    folder = tmp_path / "lists"
    folder.mkdir()
    passing, failing = (
        "opinfo::TestOperators::test_forward_sub_float32",
        "opinfo::TestOperators::test_forward_sin_float32",
    )
    (folder / "a.toml").write_text(
        list_text(
            "# goes\n" + entry_text("passes", f'tests = ["{passing}"]'),
            "# stays\n" + entry_text("mixed", f'tests = [\n    "{passing}",  # goes too\n    "{failing}",\n]'),
        )
    )
    return folder


def test_stale_shows_what_passes_wholly_and_in_part(listed: Path, database: Path) -> None:
    found = document("stale", listed, "--db", database, "--run", "1", *DAY)
    assert [(one["entry"], one["stale"]) for one in found["entries"]] == [("passes", "whole"), ("mixed", "part")]
    assert found["entries"][1]["counts"] == {"passes": 1, "improved": 0, "holds": 1, "unseen": 0}
    output = run("stale", listed, "--db", database, "--run", "1", *DAY)
    assert output.startswith("1 of 2 active entries stale, 1 in part\n\nRun 1 on neuron, EMULATED.\n")
    several = document("stale", listed, "--db", database, "--last", "2", *DAY)
    assert [one["id"] for one in several["runs"]] == [3, 1]
    assert several["runs"][0]["selection"]


def test_prune_shows_the_difference_and_writes_it_only_when_told(listed: Path, database: Path) -> None:
    file = listed / "a.toml"
    before = file.read_text()
    output = run("prune", listed, "--db", database, "--run", "1", *DAY)
    assert "Nothing is written; --apply does it." in output
    assert '  -    "opinfo::TestOperators::test_forward_sub_float32",  # goes too\n' in output
    assert file.read_text() == before
    found = document("prune", listed, "--db", database, "--run", "1", "--apply", *DAY)
    assert found["written"] is True
    assert found["files"][str(file)]["removed"] == ["passes"]
    after = file.read_text()
    assert "# stays\n" in after
    assert "goes" not in after
    assert [one.id for one in load_skiplist([listed])] == ["mixed"]
    assert "Nothing to change." in run("prune", listed, "--db", database, "--run", "1", "--apply", *DAY)
    assert file.read_text() == after


def test_add_makes_entries_of_what_no_entry_expects(listed: Path, database: Path) -> None:
    target = listed / "new.toml"
    first = document("add", listed, "--db", database, "--run", "1", "--to", target, "--owner", "me", *DAY)
    assert first["tests"] == sum(len(one["tests"]) for one in first["entries"]) > 50
    assert first["listed"] == 1
    new = load_skiplist([target]).entries
    assert all(one.guess and one.emulated and one.owner == "me" for one in new)
    assert "opinfo::TestOperators::test_forward_sin_float32" not in {test for one in new for test in one.tests}
    before = target.read_bytes()
    again = run("add", listed, "--db", database, "--run", "1", "--to", target, *DAY)
    assert again.startswith(f"0 new entries for 0 tests, in {target}\n")
    assert target.read_bytes() == before
    assert document("lint", listed, "--db", database, "--run", "1", *DAY)["counts"]["error"] == 0


def test_add_without_a_target_prints_the_list(database: Path) -> None:
    result = CliRunner().invoke(command, ["add", "--db", str(database), "--run", "1", *DAY], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout.startswith("schema = 1\n\n[[entry]]\n")
    assert "in standard output" in result.stderr


def test_update_makes_a_list_fit_a_run(listed: Path, database: Path) -> None:
    words = ("update", listed, "--db", database, "--run", "1", *DAY)
    shown = run(*words)
    assert "Nothing is written; --apply does it." in shown
    found = document(*words, "--apply")
    assert found["files"][str(listed / "a.toml")]["removed"] == ["passes"]
    assert "Nothing to change." in run(*words, "--apply")
    stale = document("stale", listed, "--db", database, "--run", "1", *DAY)
    assert {one["stale"] for one in stale["entries"]} == {"no"}


def test_a_list_that_cannot_be_written_stays_as_it_is(
    listed: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", fail)
    before = (listed / "a.toml").read_bytes()
    assert refused("prune", listed, "--db", database, "--run", "1", "--apply", *DAY).slug == "skiplist-unwritable"
    assert (listed / "a.toml").read_bytes() == before
    assert [file.name for file in listed.iterdir()] == ["a.toml"]


def test_windows_line_ends_and_a_byte_order_mark_survive_an_edit(listed: Path, database: Path) -> None:
    file = listed / "a.toml"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    run("prune", listed, "--db", database, "--run", "1", "--apply", *DAY)
    data = file.read_bytes()
    assert data.startswith(b"\xef\xbb\xbfschema = 1\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")
