"""``conformance burndown``, as its user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from conformance.analysis.burndown import Kind, Point, announced
from conformance.analysis.burndown_rate import forecast
from conformance.cli.burndown import command
from conformance.errors import UsageError
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.model.run import PlanScope, RunState
from conformance.report.burndown import Burndown, Series
from conformance.report.burndown_svg import render_svg
from tests.publish.architectures import write_architectures
from tests.report.listed_runs import id_of, listed_entry, plan, write_listed_run
from tests.report.runs import write_run
from tests.skiplist.building import entry_text, list_text
from tests.skiplist.test_past import Repository

ADD, ADD8, SUB, SIN, DET = (
    id_of("add", "float32"),
    id_of("add", "int8"),
    id_of("sub", "float32"),
    id_of("sin", "float32"),
    id_of("linalg.det", "int8"),
)
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.stdout


def document(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--format", "json"))


def refused(*arguments: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        run(*arguments)
    return caught.value


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return four comparable runs: 5, 4, 3 and 3 tests listed."""
    path = tmp_path / "runs.sqlite"
    entries = [
        listed_entry("x", owner="compiler", added="2026-10-02"),
        listed_entry("y", category="precision", reason="", added="2026-11-01"),
    ]
    write_listed_run(path, "2026-11-01", {ADD: "x", ADD8: "x", SUB: "x", SIN: "y", DET: "y"}, entries=entries)
    write_listed_run(path, "2026-11-02", {ADD: "x", ADD8: "x", SUB: "x", SIN: "y"}, entries=entries)
    write_listed_run(
        path,
        "2026-11-03",
        {ADD: "x", ADD8: "x", SIN: "y"},
        entries=entries,
        ends={SUB: Result(SUB, Outcome.FAILED, message="m", signature="m")},
    )
    write_listed_run(
        path,
        "2026-11-04",
        {ADD: "x", SIN: "y", id_of("cos", "int8"): "y"},
        entries=entries,
        without=[ADD8],
        ends={
            ADD: Result(ADD, Outcome.PASSED, fallback=FallbackAccount()),
            SIN: Result(SIN, Outcome.SKIPPED, reason="here not"),
        },
    )
    return path


def test_each_run_is_a_point_with_what_came_and_what_went(database: Path) -> None:
    points = document("--db", database)["runs"]["points"]
    assert [(point["name"], point["listed"], point["without_reason"]) for point in points] == [
        ("1", 5, 2),
        ("2", 4, 1),
        ("3", 3, 1),
        ("4", 3, 2),
    ]
    assert [point["movement"] for point in points] == [
        None,
        {"new": 0, "resolved": 1, "dropped": 0, "gone": 0},
        {"new": 0, "resolved": 0, "dropped": 1, "gone": 0},
        {"new": 1, "resolved": 0, "dropped": 0, "gone": 1},
    ]


def test_the_newest_run_says_what_is_stale_how_old_it_is_and_what_to_fix(database: Path) -> None:
    present = document("--db", database)["present"]
    assert present["evidence"] == {"passes": 1, "improved": 0, "holds": 1, "unseen": 1}
    assert present["age"] == {"median": 3, "oldest": 33, "oldest_entry": "x", "unknown": 0}
    assert [(one["name"], one["tests"], one["stale"], one["operators"]) for one in present["entries"]] == [
        ("y", 2, 0, ["cos", "sin"]),
        ("x", 1, 1, ["add"]),
    ]
    assert [(one["name"], one["tests"]) for one in present["signatures"]] == [("no kernel for OP", 1)]
    assert present["without_signature"] == 2
    assert present["core_of"] == "2.13.0"
    assert "aten::cos" in present["entries"][0]["core"]
    assert document("--db", database, "--today", "2026-11-14")["present"]["age"]["oldest"] == 43


@pytest.mark.parametrize(
    ("by", "parts"),
    [
        ("category", [("precision", 2, 2), ("unsupported-op", 3, 1)]),
        ("owner", [("", 2, 2), ("compiler", 3, 1)]),
        ("op", [("add", 2, 1), ("sin", 1, 1), ("cos", 0, 1), ("linalg.det", 1, 0), ("sub", 1, 0)]),
        ("file", [("opinfo", 5, 3)]),
    ],
)
def test_the_parts_add_up_to_the_listed_tests_at_both_ends(
    database: Path, by: str, parts: list[tuple[str, int, int]]
) -> None:
    found = document("--db", database, "--by", by)["runs"]["parts"]
    assert [(part["key"], part["first"], part["last"]) for part in found] == parts
    assert (sum(part["first"] for part in found), sum(part["last"] for part in found)) == (5, 3)


def test_without_a_run_of_architectures_there_is_no_data_on_them(database: Path) -> None:
    write_architectures(database)  # emulated, and the listed runs are not
    present = document("--db", database, "--rank", "architectures")["present"]
    assert present["models"] is None
    assert {one["architectures"] for one in (*present["entries"], *present["signatures"])} == {None}
    output = run("--db", database)
    assert "Architectures: no data. No run on this device" in output
    assert "archi-" not in output


def test_causes_are_ranked_by_the_architectures_that_they_keep_from_running_natively(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    qr = "NotImplementedError: Could not run 'aten::linalg_qr' with arguments from the 'neuron' backend."
    cos8 = id_of("cos", "int8")
    write_listed_run(
        path,
        "2026-11-04",
        {ADD: "many", ADD8: "many", SUB: "many", SIN: "sine", DET: "qr", cos8: "stale"},
        ends={
            DET: Result(DET, Outcome.FAILED, message=qr, signature=qr),
            cos8: Result(cos8, Outcome.PASSED, fallback=FallbackAccount()),
        },
    )
    write_architectures(path, emulated=False)
    present = document("--db", path, "--rank", "architectures")["present"]
    assert [(one["name"], one["architectures"]) for one in present["entries"]] == [
        ("sine", ["falcon", "t5"]),
        ("qr", ["jamba", "mixtral"]),
        ("many", []),
        ("stale", []),
    ]
    assert {one["name"]: one["architectures"] for one in present["signatures"]} == {
        "no kernel for OP": ["falcon", "t5"],
        qr: ["jamba", "mixtral"],
    }
    assert (present["models"]["run"], present["models"]["as_is"], present["models"]["total"]) == (2, 3, 10)
    assert present["models"]["hindrances"][0]["title"] == "aten::linalg_qr"
    output = run("--db", path, "--rank", "architectures", "--format", "md")
    assert "3 of 10 architectures run as they are in run 2, 2 of them natively." in output
    assert "What to fix next: what keeps architectures from running natively" in output


def test_the_text_has_the_announced_number_apart(database: Path) -> None:
    output = run("--db", database)
    assert output.startswith(
        "Burn-down of neuron: 3 tests listed at run 4 of 2026-11-04, 2 fewer than at run 1 of 2026-11-01\n"
    )
    assert "Starting point: about 22,000 tests, announced by 2026-10-20 (press reports" in output
    assert "It was not measured here" in " ".join(output.split())
    assert "'y' (precision): (no reason)" in output
    assert document("--db", database)["announced"]["tests"] == 22_000


def test_runs_that_are_not_alike_are_left_out_and_said_to_be(database: Path) -> None:
    few = {ADD: "x"}
    write_listed_run(database, "2026-11-05", few, selection="--ops add")
    write_listed_run(database, "2026-11-06", few, emulated=True)
    write_listed_run(database, "2026-11-06", few, device="cpu")
    write_listed_run(database, "2026-11-06", few, suites=("opinfo",))
    write_listed_run(database, "2026-11-02", {}, skiplist="")
    shard = PlanScope("0" * 32, 22, 1, 2)
    write_listed_run(database, "2026-11-03", few, scope=shard)
    write_listed_run(database, "2026-11-07", {ADD: "x"}, state=RunState.INTERRUPTED)
    found = document("--db", database, "--run", "4")
    assert [point["name"] for point in found["runs"]["points"]] == ["1", "2", "3", "4"]
    assert found["left_out"] == [
        "4 runs of another device, emulation, suites or selection.",
        "1 run without a skiplist.",
        "1 run of a part of the plan, or without one.",
        "1 run after the one that was asked for.",
    ]
    assert [point["name"] for point in document("--db", database)["runs"]["points"]][-1] == "11"


def test_without_a_selector_a_run_of_whole_suites_is_taken(database: Path) -> None:
    write_listed_run(database, "2026-11-05", {ADD: "x"}, selection="--ops add")
    assert document("--db", database)["present"]["run"] == 4
    assert document("--db", database, "--run", "latest")["present"]["run"] == 5
    assert "Only a part of the suites was asked for: '--ops add'." in run("--db", database, "--run", "latest")
    assert "Only a part" not in run("--db", database)
    assert document("--db", database, "--device", "neuron")["present"]["run"] == 4


def test_an_emulated_run_is_always_called_so(tmp_path: Path) -> None:
    path = write_listed_run(tmp_path / "e.sqlite", "2026-11-01", {ADD: "x"}, emulated=True)
    for form in ("text", "md", "svg"):
        assert "EMULATED" in run("--db", path, "--format", form)
    assert document("--db", path)["emulated"] is True


def test_a_few_runs_give_no_rate(database: Path) -> None:
    output = run("--db", database, "--since", "2026-11-03")
    assert "At the runs: too few points for a rate; 4 days with one are needed." in output
    found = document("--db", database, "--since", "3")
    assert ([point["name"] for point in found["runs"]["points"]], found["left_out"]) == (
        ["3", "4"],
        ["2 runs before 2026-11-03."],
    )
    whole = document("--db", database)["runs"]
    assert (whole["outlook"], round(whole["rate"]["per_day"], 3), whole["zero"]) == ("falling", -0.667, "2026-11-09")
    assert whole["latest"] is None


def test_runs_are_in_the_order_of_their_days_not_of_their_numbers(database: Path) -> None:
    write_listed_run(database, "2026-10-30", dict.fromkeys([test.test_id for test in plan()], "x"))
    found = document("--db", database)
    assert next((point["name"], point["listed"]) for point in found["runs"]["points"]) == ("5", 11)
    assert found["present"]["run"] == 4


def test_a_burnt_down_list_is_said_to_be_empty(tmp_path: Path) -> None:
    path = write_listed_run(tmp_path / "e.sqlite", "2026-11-01", {ADD: "x"})
    write_listed_run(path, "2026-11-02", {})
    output = run("--db", path)
    assert "0 tests listed at run 2" in output
    assert "At the runs: nothing is listed any more." in output
    assert "At the runs: nothing is listed.\n" in run("--db", path, "--since", "2")


def test_no_run_with_a_skiplist_is_no_zero(tmp_path: Path) -> None:
    path = write_run(tmp_path / "plain.sqlite", [Result("opinfo::TestX::test_add", Outcome.PASSED)])
    error = refused("--db", path)
    assert (error.slug, "1 run without a skiplist" in str(error)) == ("nothing-listed", True)
    assert refused("--db", path, "--run", "1").slug == "run-without-skiplist"
    assert refused("--db", tmp_path / "none.sqlite").slug == "database-missing"


@pytest.fixture
def lists(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "repo")
    ids = f'tests = [\n    "{ADD}",\n    "{SUB}",\n    "opinfo::TestX::test_gone",\n]'
    repository.commit(
        "2026-11-01",
        "begin",
        lists__a=list_text(entry_text("ids", ids), entry_text("ops", 'match = { ops = ["linalg.*", "s*"] }')),
    )
    repository.commit("2026-11-02", "for another", lists__a=list_text(entry_text("ids", f"emulated = true\n{ids}")))
    repository.commit("2026-11-03", "broken", lists__a="schema = ")
    repository.commit("2026-11-04", "fewer", lists__a=list_text(entry_text("ids", f'tests = ["{ADD}"]')))
    return repository


def test_each_change_of_a_list_is_a_point_over_the_tests_of_the_newest_run(database: Path, lists: Repository) -> None:
    found = document("--db", database, "--lists", "lists", "--repo", lists.folder)
    assert [(point["about"], point["listed"], point["movement"]) for point in found["lists"]["points"]] == [
        ("begin", 7, None),
        ("for another", 0, {"new": 0, "resolved": 0, "dropped": 7, "gone": 0}),
        ("fewer", 1, {"new": 1, "resolved": 0, "dropped": 0, "gone": 0}),
    ]
    assert found["left_out"][0].startswith("1 commit in which the list cannot be read; in ")
    assert [(part["key"], part["first"], part["last"]) for part in found["lists"]["parts"]] == [
        ("unsupported-op", 7, 1)
    ]
    assert len(found["runs"]["points"]) == 4
    output = run("--db", database, "--lists", "lists", "--repo", lists.folder, "--by", "op")
    assert "At the changes of the list: too few points" in output
    assert "Changes of the list\n" in output


def test_a_list_has_a_history_without_any_run(tmp_path: Path, lists: Repository) -> None:
    words = ("--db", tmp_path / "none.sqlite", "--lists", "lists", "--repo", lists.folder)
    found = document(*words, "--by", "file")
    assert [point["listed"] for point in found["lists"]["points"]] == [3, 3, 1]
    assert found["runs"] is None
    assert [(part["key"], part["last"]) for part in found["lists"]["parts"]] == [("opinfo", 1)]
    assert not (tmp_path / "none.sqlite").exists()
    assert run(*words).startswith("Burn-down of lists: 1 test listed at ")
    since = document(*words, "--since", "2026-11-04")
    assert "2 changes of the list before 2026-11-04." in since["left_out"]


def test_patterns_cannot_be_counted_without_a_run_and_that_is_said(tmp_path: Path, lists: Repository) -> None:
    lists.commit("2026-11-05", lists__a=list_text(entry_text("ops", 'match = { ops = ["linalg.*"] }')))
    found = document("--db", tmp_path / "none.sqlite", "--lists", "lists", "--repo", lists.folder)
    assert found["lists"]["points"][-1]["listed"] == 0
    assert "What 1 entry matches by patterns: without a run it is not known." in found["left_out"]


def test_the_picture_is_valid_and_says_the_same_as_the_text(database: Path, lists: Repository) -> None:
    text = run("--db", database, "--lists", "lists", "--repo", lists.folder, "--format", "svg")
    root = ElementTree.fromstring(text)
    assert root.find(f"{SVG}title").text.startswith("Burn-down of neuron: 3 tests listed at run 4")  # type: ignore[union-attr]
    points = [circle.find(f"{SVG}title").text for circle in root.iter(f"{SVG}circle")]  # type: ignore[union-attr]
    assert next(point for point in points if point and "run" in point) == "2026-11-01, run 1: 5 listed"
    assert len(points) == 4 + 3
    words = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
    assert "announced 2026-10-20: about 22,000; neither the unit nor the denominator was published (not drawn)" in words
    for element in root.iter():
        for name in ("x", "x1", "x2", "cx"):
            assert -1 <= float(element.get(name, "0")) <= 960
        for name in ("y", "y1", "y2", "cy"):
            assert -1 <= float(element.get(name, "0")) <= 420


def test_what_was_announced_is_drawn_only_where_it_does_not_press_the_curve_flat() -> None:
    one = announced("neuron")
    assert one is not None

    def picture(listed: int) -> str:
        points = tuple(
            Point(Kind.RUN, f"2026-11-0{day}T00:00:00Z", str(day), "", listed - day, 1, 0, None) for day in range(1, 6)
        )
        series = Series(Kind.RUN, points, forecast((point.day, point.listed) for point in points), ())
        return render_svg(Burndown("neuron", False, one, series, None, None, (), "category"))

    assert 'class="announced"' in picture(20_000)
    assert 'class="announced"' not in picture(500)
    assert "(not drawn)" in picture(500)
    assert "20,000" in picture(20_000)
    assert "20,000" not in picture(500)


def test_a_picture_of_one_point_can_be_drawn(tmp_path: Path) -> None:
    path = write_listed_run(tmp_path / "e.sqlite", "2026-11-01", {ADD: "x"}, device="npu")
    ElementTree.fromstring(run("--db", path, "--format", "svg"))
    empty = write_listed_run(tmp_path / "z.sqlite", "2026-11-01", {}, device="npu")
    ElementTree.fromstring(run("--db", empty, "--format", "svg"))


def test_what_a_list_holds_cannot_break_a_report(tmp_path: Path) -> None:
    odd = "<b>\x1b[31m | `x` 'it's' ]]> # @you"
    entry = listed_entry("x", reason=odd, owner=odd)
    ends = {ADD: Result(ADD, Outcome.FAILED, message=odd, signature=odd)}
    path = write_listed_run(tmp_path / "e.sqlite", "2026-11-01", {ADD: "x"}, entries=[entry], ends=ends)
    for form in ("text", "md"):
        output = run("--db", path, "--format", form, "--by", "owner")
        assert "\x1b" not in output
    assert "<b>" not in output.replace("\\<b\\>", "").replace("`<b>", "")


def test_wrong_words_are_usage_errors(database: Path, tmp_path: Path) -> None:
    assert refused("--db", database, "--repo", tmp_path).slug == "burndown-what"
    assert refused("--db", database, "--since", "soon").slug == "unknown-run"
    words = ("--db", tmp_path / "none", "--lists", "x", "--repo", tmp_path)
    assert refused(*words, "--since", "soon").slug == "burndown-what"
    assert refused(*words).slug == "no-list-history"
    for wrong in (["--by", "luck"], ["--rank", "luck"], ["--format", "png"], ["extra"]):
        run("--db", database, *wrong, code=2)


def test_it_answers_without_torch(database: Path) -> None:
    program = (
        "import sys\nfrom conformance.cli.burndown import command\n"
        f"command(['--db', {str(database)!r}], standalone_mode=False)\n"
        "assert not {'torch', 'numpy', 'rich', 'jinja2', 'sqlite_utils'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
