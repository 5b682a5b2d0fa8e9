from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.publish.choice import RUNS_KEPT, best_run, is_whole, overtaken_by, selectable, series, wider_run
from conformance.store import Database, RunRow, runs
from tests.publish.building import built, info, write_run
from tests.publish.reading import page
from tests.publish.series import write_series

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def row(tmp_path_factory: pytest.TempPathFactory) -> RunRow:
    path = write_run(tmp_path_factory.mktemp("choice") / "db.sqlite", {"add": Outcome.PASSED})
    with Database.open_existing(path) as database:
        return runs(database)[0]


def test_the_best_run_is_the_newest_that_is_whole(row: RunRow) -> None:
    whole = [replace(row, id=1), replace(row, id=2)]
    broken = replace(row, id=3, state=RunState.INTERRUPTED)
    shard = replace(row, id=4, shard=1, shards=2)
    assert best_run([broken, *whole, shard]) == whole[1]
    assert best_run([broken, shard]) == shard
    assert best_run([]) is None
    assert not is_whole(shard)


def test_only_a_younger_run_of_the_same_device_overtakes(row: RunRow) -> None:
    younger = replace(row, id=5, state=RunState.RUNNING)
    others = [replace(row, id=9, state=RunState.RUNNING, device="xla"), replace(row, id=6), replace(younger, id=0)]
    assert overtaken_by(row, [row, younger, *others]) == younger
    assert overtaken_by(row, [row, *others]) is None


def test_a_limited_run_points_to_a_wider_one(row: RunRow) -> None:
    narrow = replace(row, id=2, selection="--ops add", planned=1)
    assert wider_run(narrow, [row, narrow]) == row
    assert wider_run(row, [row, narrow]) is None
    assert wider_run(narrow, [replace(row, planned=1), narrow]) is None


def test_a_series_has_the_whole_runs_of_one_scope(row: RunRow) -> None:
    same = [replace(row, id=number, torch_version=f"2.{number}") for number in range(1, 6)]
    others = [
        replace(row, id=10, device_name="another chip"),
        replace(row, id=11, selection="--ops add"),
        replace(row, id=12, suites=("modules",)),
        replace(row, id=13, environment={"CONFORMANCE_NEURON_FAULTS": "aten::sin=wrong"}),
        replace(row, id=14, state=RunState.INTERRUPTED),
        replace(row, id=15, emulated=False),
    ]
    shown = replace(row, id=20)
    assert series(shown, [*others, *reversed(same), shown]) == (*same, shown)
    assert series(same[2], [*same, shown]) == tuple(same[:3])
    assert [run.id for run in series(replace(shown, state=RunState.INTERRUPTED), [*same, shown])] == [1, 2, 3, 4, 5, 20]


def test_no_more_runs_are_kept_than_a_month_of_nights(row: RunRow) -> None:
    every = [replace(row, id=number) for number in range(1, 60)]
    assert [run.id for run in series(every[-1], every)] == list(range(30, 60))
    mixed = [replace(run, device="xla" if run.id % 2 else "neuron") for run in every]
    chosen = selectable(mixed[-1], mixed)
    assert len(chosen) == RUNS_KEPT
    assert mixed[-1] in chosen
    assert [run.id for run in chosen] == sorted(run.id for run in chosen)


def test_an_incomplete_run_shows_a_banner_and_the_complete_one_stays(tmp_path: Path) -> None:
    database = write_series(tmp_path / "db.sqlite", runs=3, last=RunState.RUNNING)
    site = built(database, tmp_path / "site")
    whole = built(write_series(tmp_path / "2.sqlite", runs=2), tmp_path / "whole")
    index = page(site / "index.html")
    assert index.one("h1").text == page(whole / "index.html").one("h1").text
    notice = index.one("p", class_="notice").text
    assert notice == (
        "A newer run is not complete (running). Run 3 has a result for 47 of 92 planned tests; this site goes on "
        "showing run 2. All runs."
    )
    assert "running" in page(site / "runs.html").one("strong", class_="tag-warning").text


def test_a_shard_makes_no_headline(tmp_path: Path, row: RunRow) -> None:
    from conformance.publish.context import survey
    from conformance.publish.frame import notices
    from conformance.publish.overview import index_page
    from conformance.publish.source import read_findings

    path = write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED})
    with Database.open_existing(path) as database:
        findings = read_findings(database)
        shard = replace(findings, run=replace(findings.run, shard=2, shards=3))
        assert index_page(survey(shard)).partial == "No coverage figure: this is shard 2 of 3."
        assert "Only shard 2 of 3" in [notice.title for notice in notices(shard)]


def test_a_narrow_newest_run_names_the_wider_one(tmp_path: Path) -> None:
    database = write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED, "mul": Outcome.PASSED})
    write_run(database, {"add": Outcome.PASSED}, run=info(key="f" * 32, selection="--ops add"))
    notice = page(built(database, tmp_path / "site") / "index.html").one("p", class_="notice").text
    assert notice.endswith("reads as untested. Run 1 was not limited and planned 4 tests.")
