"""What may be given to a merge, and that it stays as it was."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.errors import UsageError
from conformance.model.outcome import Outcome
from conformance.model.run import RunState
from conformance.store import Database, RunWriter, runs
from conformance.store.merge import merge
from tests.sample_run import build_sample
from tests.store.building import run_info
from tests.store.merging import (
    actions,
    content_of_tables,
    contents,
    merged,
    outcome_of,
    plan,
    run_of,
    write,
    write_shard,
)
from tests.store.test_connection import of_the_first_schema, open_folder, without_privileges

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["open_folder"]  # a fixture

ROOT = Path(__file__).parents[2]
TESTS = plan(60)

KILLED = """
import os, sys
from pathlib import Path
from tests.store.building import writer_of
from tests.store.merging import outcome_of, plan
from conformance.store import Database

writer = writer_of(Database.create_or_open(Path(sys.argv[1])), plan(60), flush_interval_s=0)
for test in plan(60)[:40]:
    for result in outcome_of(test):
        writer.add(result)
writer.flush()
os._exit(0)
"""


def refused(target: Path, *paths: Path) -> UsageError:
    with pytest.raises(UsageError) as caught:
        list(merge(target, paths))
    assert "\n" not in str(caught.value)
    assert "--db" not in str(caught.value)
    return caught.value


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def killed(path: Path) -> None:
    """Write a run in a process that ends without closing the database: its rows are in the log."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == 0
    assert path.with_name(path.name + "-wal").stat().st_size


def test_a_source_does_not_change_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    build_sample(sources / "a.sqlite", runs=2)
    write_shard(sources / "b.sqlite", TESTS, 1, 1)
    before = files(sources)
    merged(tmp_path / "t.sqlite", *sorted(sources.iterdir()))
    assert files(sources) == before


def test_a_source_whose_writer_was_killed_keeps_its_log(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    killed(sources / "a.sqlite")
    before = files(sources)
    assert actions(merged(tmp_path / "t.sqlite", sources / "a.sqlite")) == ["copied"]
    after = files(sources)
    assert {name: after[name] for name in ("a.sqlite", "a.sqlite-wal")} == {
        name: before[name] for name in ("a.sqlite", "a.sqlite-wal")
    }
    assert set(after) == set(before)
    assert contents(tmp_path / "t.sqlite") == contents(sources / "a.sqlite")


def test_a_source_may_be_in_a_folder_that_cannot_be_written(tmp_path: Path, open_folder: Path) -> None:
    write(open_folder / "a.sqlite", TESTS)
    write_shard(open_folder / "b.sqlite", TESTS, 1, 1)
    old = open_folder / "old.sqlite"
    of_the_first_schema(old)
    target = open_folder.with_suffix(".target")
    target.mkdir()
    target.chmod(0o777)
    open_folder.chmod(0o555)
    before = files(open_folder)
    try:
        with without_privileges():
            done = merged(target / "t.sqlite", *sorted(open_folder.iterdir()))
        assert sorted(actions(done)) == ["copied", "copied", "copied", "joined"]
        assert files(open_folder) == before
    finally:
        shutil.rmtree(target)


def test_a_source_may_be_written_meanwhile(tmp_path: Path) -> None:
    source, target = tmp_path / "s.sqlite", tmp_path / "t.sqlite"
    with Database.create_or_open(source) as database:
        writer = RunWriter(database, flush_interval_s=0)
        writer.begin(run_info())
        writer.write_plan(TESTS)
        writer.start()
        known = []
        for number, test in enumerate(TESTS):
            for result in outcome_of(test):
                writer.add(result)
            if number % 20 == 10:
                assert actions(merged(target, source)) == ["copied" if number == 10 else "updated"]
                known.append(run_of(target).planned - run_of(target).counts[Outcome.NOT_RUN])
        writer.finish(RunState.COMPLETE, finished_at="2026-11-01T01:00:00Z")
        assert actions(merged(target, source)) == ["updated"]
    assert known == [11, 31, 51]
    assert contents(target) == contents(source)


def test_a_source_is_not_locked_and_its_writer_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "s.sqlite", tmp_path / "t.sqlite"
    write(source, TESTS)
    before = contents(source)
    monkeypatch.setattr("conformance.store.merge._PATIENCE_MS", 50)
    with Database.create_or_open(source) as database, database.transaction():
        database.connection.execute("UPDATE result SET outcome = 'failed'")
        assert actions(merged(target, source)) == ["copied"]
    assert contents(target) == before != contents(source)


def test_an_older_source_is_read_and_left_old(tmp_path: Path) -> None:
    source, target, migrated = (tmp_path / f"{name}.sqlite" for name in ("s", "t", "m"))
    of_the_first_schema(source)
    of_the_first_schema(migrated)
    Database.create_or_open(migrated).close()
    before = source.read_bytes()
    assert actions(merged(target, source)) == ["copied", "copied"]
    assert actions(merged(target, source)) == ["unchanged", "unchanged"]
    assert source.read_bytes() == before
    for run in ("1", "2"):
        key = run_of(migrated, run).key
        assert contents(target, key) == contents(migrated, key)


def test_an_older_target_is_brought_up_to_date(tmp_path: Path) -> None:
    source, target = tmp_path / "s.sqlite", tmp_path / "t.sqlite"
    of_the_first_schema(target)
    write_shard(source, TESTS, 1, 1)
    assert actions(merged(target, source)) == ["joined"]
    with Database.open_existing(target) as database:
        assert [run.id for run in runs(database)] == [
            1,
            2,
            8,
        ]  # five more were deleted: their numbers are not used again


def test_a_newer_source_is_refused(tmp_path: Path) -> None:
    source = build_sample(tmp_path / "s.sqlite", operators=1)
    newer = sqlite3.connect(source)
    newer.execute("PRAGMA user_version = 999")
    newer.close()
    error = refused(tmp_path / "t.sqlite", source)
    assert error.slug == "database-newer"
    assert str(source) in str(error)
    assert not (tmp_path / "t.sqlite").exists()


def _text(path: Path) -> None:
    path.write_text("something else, and long enough to be told from a database")


def _foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE run (id INTEGER)")
    connection.commit()
    connection.close()


def _garbled(path: Path) -> None:
    build_sample(path, operators=3)
    content = bytearray(path.read_bytes())
    content[100:8192] = b"\xa5" * (8192 - 100)
    path.write_bytes(content)


@pytest.mark.parametrize("make", [_text, _foreign, _garbled, Path.touch, Path.mkdir])
def test_what_is_no_database_is_refused_before_anything_is_written(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    target, good, bad = tmp_path / "t.sqlite", build_sample(tmp_path / "good.sqlite"), tmp_path / "bad"
    make(bad)
    error = refused(target, good, bad)
    assert error.slug == "not-a-database"
    assert str(bad) in str(error)
    assert not target.exists()


def _break_page(path: Path, table: str) -> None:
    with Database.open_existing(path) as database:
        ((page, size),) = database.query(
            f"SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name = '{table}'"
        )
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


@pytest.mark.parametrize("table", ["result", "plan", "text", "test", "name"])
def test_damage_inside_a_source_is_blamed_on_it_and_the_others_are_merged(table: str, tmp_path: Path) -> None:
    target, good, bad = (tmp_path / f"{name}.sqlite" for name in ("t", "good", "bad"))
    write(good, TESTS)
    write(bad, plan(700), created_at="2026-10-01T00:00:00Z")
    _break_page(bad, table)
    refused_one, copied = merge(target, [bad, good])
    assert refused_one.error is not None
    assert refused_one.error.slug == "not-a-database"
    assert str(bad) in str(refused_one.error)
    assert str(target) not in str(refused_one.error)
    assert copied.action.value == "copied"
    assert actions(merged(target, good)) == ["unchanged"]


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM text WHERE id = (SELECT min(details_id) FROM result)",
        "DELETE FROM plan WHERE test_ref = 5",
        "DELETE FROM test WHERE id = 7",
        "DELETE FROM name WHERE id = (SELECT min(op_id) FROM test)",
        "DELETE FROM signature WHERE id = 1",
        "DELETE FROM spelling WHERE id = 1",
        "DELETE FROM overload WHERE id = 1",
        "DELETE FROM inventory",
        "UPDATE run SET planned = planned + 1",
        "DELETE FROM plan WHERE test_ref = 5; UPDATE run SET planned = planned - 1",
    ],
)
@pytest.mark.parametrize("shard", [False, True])
def test_rows_that_do_not_go_together_are_refused(damage: str, shard: bool, tmp_path: Path) -> None:
    source, target = tmp_path / "s.sqlite", tmp_path / "t.sqlite"
    if shard:
        write_shard(source, TESTS, 1, 1)
    else:
        write(source, TESTS)
    connection = sqlite3.connect(source)
    connection.executescript(damage)
    connection.close()
    with pytest.raises(UsageError) as caught:
        merged(target, source)
    assert caught.value.slug == "not-a-database"
    assert str(source) in str(caught.value)
    if target.exists():
        with Database.open_existing(target) as database:
            assert runs(database) == []


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    error = refused(tmp_path / "t.sqlite", build_sample(tmp_path / "a.sqlite", operators=1), tmp_path / "nope")
    assert error.slug == "database-missing"
    assert f"there is no database {tmp_path / 'nope'}" in str(error)


@pytest.mark.parametrize("way", ["same", "symlink", "hard link", "dots"])
def test_the_target_cannot_be_merged_into_itself(way: str, tmp_path: Path) -> None:
    target = build_sample(tmp_path / "t.sqlite", operators=1)
    source = tmp_path / "other"
    match way:
        case "same":
            source = target
        case "symlink":
            source.symlink_to(target)
        case "hard link":
            source.hardlink_to(target)
        case _:
            source = tmp_path / "." / ".." / tmp_path.name / "t.sqlite"
    before = content_of_tables(target)
    error = refused(target, source)
    assert error.slug == "merge-into-itself"
    assert content_of_tables(target) == before


def test_a_source_given_twice_is_read_once(tmp_path: Path) -> None:
    source = tmp_path / "s.sqlite"
    write_shard(source, TESTS, 1, 1)
    (tmp_path / "link").symlink_to(source)
    shutil.copy(source, tmp_path / "copy.sqlite")
    done = merged(tmp_path / "t.sqlite", source, tmp_path / "link", source)
    assert actions(done) == ["joined"]
    assert actions(merged(tmp_path / "t.sqlite", source, tmp_path / "copy.sqlite")) == ["unchanged"]
    assert actions(merged(tmp_path / "u.sqlite", source, tmp_path / "copy.sqlite")) == ["joined"]


def test_more_sources_than_sqlite_can_attach(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.sqlite" for number in range(24)]
    for number, path in enumerate(paths, start=1):
        write_shard(path, TESTS, number, 24)
    assert actions(merged(tmp_path / "t.sqlite", *paths)) == ["joined"]
    write(tmp_path / "whole.sqlite", TESTS)
    assert contents(tmp_path / "t.sqlite") == contents(tmp_path / "whole.sqlite")


def test_no_temporary_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    old, shard = tmp_path / "old.sqlite", tmp_path / "s.sqlite"
    of_the_first_schema(old)
    write_shard(shard, TESTS, 1, 2)
    refused(tmp_path / "t.sqlite", old, shard)
    merged(tmp_path / "t.sqlite", old, shard, allow_missing=True)
    assert list(scratch.iterdir()) == []


def test_a_merge_says_where_it_cannot_keep_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(Exception, match=r"nowhere.*set TMPDIR"):
        merged(tmp_path / "t.sqlite", build_sample(tmp_path / "s.sqlite", operators=1))
