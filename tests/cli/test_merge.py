"""``conformance merge`` as its users run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.store.merging import contents, plan, write, write_shard

CI = "GITHUB_RUN_ID=1"


@pytest.fixture
def shards(tmp_path: Path) -> list[str]:
    names = [f"s{number}.sqlite" for number in (1, 2, 3)]
    for number, name in enumerate(names, start=1):
        write_shard(tmp_path / name, plan(60), number, 3, launch=CI, key=f"{number}" * 32)
    return names


def test_a_line_for_each_run_and_a_summary(conformance: Run, tmp_path: Path, shards: list[str]) -> None:
    write(tmp_path / "a.sqlite", plan(1_001), key="a" * 32, created_at="2026-10-01T00:00:00Z", emulated=True)
    done = conformance("merge", "--into", "all.sqlite", "a.sqlite", *shards)
    assert (done.returncode, done.stderr) == (0, "")
    copied, joined, summary = done.stdout.splitlines()
    assert copied == "copied    run 1 (aaaaaaaa): neuron (emulated), complete, 1,001 tests; from a.sqlite"
    assert joined.startswith("joined    run 2 (")
    assert joined.endswith("): shards 1-3 of 3, neuron, complete, 60 tests; from s1.sqlite, s2.sqlite, s3.sqlite")
    assert summary == "all.sqlite: 1 copied, 1 joined, 0 updated, 0 unchanged"
    again = conformance("merge", "--db", "all.sqlite", "a.sqlite", *shards)
    assert again.stdout.splitlines()[-1] == "all.sqlite: 0 copied, 0 joined, 0 updated, 2 unchanged"
    write(tmp_path / "whole.sqlite", plan(60))
    assert contents(tmp_path / "all.sqlite") == contents(tmp_path / "whole.sqlite")


def test_the_variable_names_the_target(conformance: Run, tmp_path: Path, shards: list[str]) -> None:
    assert conformance("merge", *shards, env={"CONFORMANCE_DB": "mine.sqlite"}).returncode == 0
    assert (tmp_path / "mine.sqlite").exists()
    assert not (tmp_path / "conformance.sqlite").exists()


def test_a_missing_shard_is_an_error_or_an_interrupted_run(conformance: Run, tmp_path: Path, shards: list[str]) -> None:
    done = conformance("merge", shards[0], shards[2])
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "conformance: error: shard 2 of 3 (device neuron, launch GITHUB_RUN_ID=1, given in s1.sqlite"
    )
    assert line.endswith("[missing-shard]")
    assert not (tmp_path / "conformance.sqlite").exists()
    done = conformance("merge", shards[0], shards[2], "--allow-missing")
    assert done.returncode == 0
    assert (
        "): shards 1, 3 of 3, neuron, interrupted, 40 tests; shard 2 missing: 20 of 60 collected tests unknown;"
        in done.stdout
    )
    assert "the run is interrupted" in conformance("report").stdout
    done = conformance("merge", shards[1])
    assert done.stdout.startswith("updated   run 1 (")
    assert "): shards 1-3 of 3, neuron, complete, 60 tests; from s2.sqlite\n" in done.stdout


def test_a_mix_of_plans_is_one_line_that_names_the_files(conformance: Run, tmp_path: Path, shards: list[str]) -> None:
    write_shard(tmp_path / "s4.sqlite", plan(61), 3, 3, launch=CI)
    done = conformance("merge", *shards[:2], "s4.sqlite")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "collected tests: 60 in s1.sqlite, s2.sqlite; 61 in s4.sqlite" in line
    assert line.endswith("[mixed-plans]")


def test_json_says_the_same(conformance: Run, tmp_path: Path, shards: list[str]) -> None:
    done = conformance("merge", *shards[:2], "--allow-missing", "--format", "json")
    document = json.loads(done.stdout)
    (run,) = document["runs"]
    assert document["target"] == "conformance.sqlite"
    assert document["counts"]["joined"] == 1
    assert (run["action"], run["run_id"], run["state"], run["device"]) == ("joined", 1, "interrupted", "neuron")
    assert (run["planned"], run["collected"], run["emulated"]) == (40, 60, False)
    assert (run["shards"], run["missing_shards"], run["shard_count"]) == ([1, 2], [3], 3)
    assert run["files"] == shards[:2]
    assert run["error"] is None


def test_a_run_that_is_refused_is_told_twice_and_the_rest_is_merged(conformance: Run, tmp_path: Path) -> None:
    write(tmp_path / "good.sqlite", plan(10))
    write(tmp_path / "bad.sqlite", plan(10), created_at="2026-10-01T00:00:00Z")
    import sqlite3

    connection = sqlite3.connect(tmp_path / "bad.sqlite")
    connection.execute("DELETE FROM spelling")
    connection.commit()
    connection.close()
    done = conformance("merge", "good.sqlite", "bad.sqlite")
    assert done.returncode == 2
    refused, copied, summary = done.stdout.splitlines()
    assert refused.startswith("refused   run ")
    assert copied.startswith("copied    run ")
    assert summary.endswith(": 1 copied, 0 joined, 0 updated, 0 unchanged, 1 refused")
    assert "bad.sqlite is damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_files_that_bring_nothing_are_named(conformance: Run, tmp_path: Path) -> None:
    from conformance.store import Database

    Database.create_or_open(tmp_path / "empty.sqlite").close()
    write(tmp_path / "a.sqlite", plan(1))
    done = conformance("merge", "a.sqlite", "empty.sqlite", "./a.sqlite")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[1:3] == ["no runs   empty.sqlite", "again     a.sqlite is the same file as a.sqlite"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Missing argument 'FILE...'"),
        (["nope.sqlite"], "there is no database nope.sqlite to merge; check the path [database-missing]"),
        (["conformance.sqlite"], "[merge-into-itself]"),
        (["."], "is a folder, not a database; leave it out, or give a backup [not-a-database]"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, conformance: Run, tmp_path: Path
) -> None:
    write(tmp_path / "conformance.sqlite", plan(1))
    done = conformance("merge", *arguments)
    assert done.returncode == 2
    assert words in done.stderr.splitlines()[-1]


def test_help_needs_nothing_heavy(conformance: Run) -> None:
    done = conformance("merge", "--help")
    assert "--allow-missing" in done.stdout
    assert "--into, --db FILE" in done.stdout
