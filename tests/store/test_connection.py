from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlite_utils

from conformance.errors import ConformanceError, InfrastructureError, UsageError
from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.model.run import RunState
from conformance.store import Database, connection, resolve_run, results, runs
from tests.sample_run import build_sample
from tests.store.building import assert_sound, id_of, planned, writer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOBODY = 65534

OPENINGS = [Database.create_or_open, Database.open_existing]


@contextmanager
def without_privileges() -> Iterator[None]:
    """Be nobody for a while: permission bits mean nothing to root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Make a folder that everybody can enter, which pytest's own is not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def refused(opening: Callable[[Path], Database], path: Path) -> ConformanceError:
    """Return the error, which is one line that names the file."""
    with pytest.raises(ConformanceError) as caught:
        opening(path).close()
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return caught.value


def test_a_new_database_is_in_wal_mode_and_checks_references(tmp_path: Path) -> None:
    with Database.create_or_open(tmp_path / "new.sqlite") as database:
        assert list(database.query("PRAGMA journal_mode")) == [("wal",)]
        assert list(database.query("PRAGMA foreign_keys")) == [(1,)]
        assert list(database.query("PRAGMA synchronous")) == [(1,)]
        assert_sound(database)


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = build_sample(tmp_path / "a.sqlite", operators=3)
    before = path.read_bytes()
    Database.create_or_open(path).close()
    Database.open_existing(path).close()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.sqlite"]


def test_an_empty_file_becomes_a_database_only_for_writing(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite"
    path.touch()
    error = refused(Database.open_existing, path)
    assert error.slug == "not-a-database"
    assert "is empty" in str(error)
    assert path.stat().st_size == 0
    Database.create_or_open(path).close()
    Database.open_existing(path).close()


def test_a_missing_database_is_missing_and_not_created(tmp_path: Path) -> None:
    path = tmp_path / "missing.sqlite"
    error = refused(Database.open_existing, path)
    assert isinstance(error, UsageError)
    assert error.slug == "database-missing"
    assert not path.exists()


def test_a_database_in_a_missing_folder_cannot_be_written(tmp_path: Path) -> None:
    error = refused(Database.create_or_open, tmp_path / "no" / "such.sqlite")
    assert error.slug == "database-unwritable"
    assert "there is no folder" in str(error)


@pytest.mark.parametrize("opening", OPENINGS)
def test_what_is_no_database_is_refused_untouched(opening: Callable[[Path], Database], tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("SQLite is mentioned here, at some length, more than sixteen bytes")
    assert refused(opening, text).slug == "not-a-database"
    assert text.read_text().startswith("SQLite is mentioned")
    assert refused(opening, tmp_path).slug == "not-a-database"
    assert refused(opening, Path("/dev/null")).slug == "not-a-database"


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_foreign_database_is_refused_untouched(opening: Callable[[Path], Database], tmp_path: Path) -> None:
    path = tmp_path / "foreign.sqlite"
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE run (id INTEGER)")
    foreign.commit()
    foreign.close()
    before = path.read_bytes()
    error = refused(opening, path)
    assert isinstance(error, UsageError)
    assert error.slug == "not-a-database"
    assert path.read_bytes() == before


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_garbled_database_is_refused(opening: Callable[[Path], Database], tmp_path: Path) -> None:
    path = build_sample(tmp_path / "a.sqlite", operators=3)
    content = bytearray(path.read_bytes())
    content[100:8192] = b"\xa5" * (8192 - 100)
    path.write_bytes(content)
    assert refused(opening, path).slug == "not-a-database"


def test_damage_found_while_reading_is_told_in_one_line(tmp_path: Path) -> None:
    path = build_sample(tmp_path / "a.sqlite", operators=30)
    with Database.open_existing(path) as database:
        ((page, size),) = database.query(
            "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name = 'result'"
        )
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
    with Database.open_existing(path) as database, pytest.raises(UsageError, match="is damaged") as caught:
        list(results(database, 1))
    assert caught.value.slug == "not-a-database"


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_newer_database_is_refused(opening: Callable[[Path], Database], tmp_path: Path) -> None:
    path = build_sample(tmp_path / "a.sqlite", operators=1)
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 999")
    newer.close()
    error = refused(opening, path)
    assert error.slug == "database-newer"
    assert "999" in str(error)


def of_the_first_schema(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Write a database as schema 1 had it, with rows in the tables that have changed since; return all its rows."""
    old = sqlite3.connect(path)
    old.executescript((Path(__file__).parent / "schema_1.sql").read_text(encoding="utf-8"))
    tables = [name for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = {name: sorted(old.execute(f"SELECT * FROM {name}"), key=repr) for name in tables}
    old.close()
    return rows


def test_an_older_database_is_migrated_only_for_writing(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    of_the_first_schema(path)
    before = path.read_bytes()
    assert refused(Database.open_existing, path).slug == "database-old"
    assert path.read_bytes() == before
    with Database.create_or_open(path):
        pass
    with Database.open_existing(path) as database:
        assert [run.id for run in runs(database)] == [1, 2]


def test_a_database_of_the_first_schema_keeps_every_row(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    rows = of_the_first_schema(path)
    with Database.create_or_open(path) as database:
        for name, before in rows.items():
            if name.startswith(("sqlite_", "_sqlite")):
                continue
            after = sorted((row[: len(before[0])] for row in database.query(f"SELECT * FROM {name}")), key=repr)
            assert after == before, name
        assert_sound(database)
        assert [(run.planned, run.collected, run.shard) for run in runs(database)] == [(2, 2, None), (1, 1, None)]
        with database.transaction():  # what the new schema allows and the old one did not
            database.connection.execute("UPDATE result SET outcome = 'flaky' WHERE run_id = 2")
        assert next(iter(database.query("SELECT seq FROM sqlite_sequence WHERE name = 'run'"))) == (7,)


def test_a_migrated_database_has_statistics_for_the_query_planner(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    of_the_first_schema(path)
    with Database.create_or_open(path) as database:
        assert {"plan", "result", "test"} <= {name for (name,) in database.query("SELECT tbl FROM sqlite_stat1")}


def test_a_migrated_database_is_declared_as_a_new_one(tmp_path: Path) -> None:
    of_the_first_schema(tmp_path / "old.sqlite")
    shapes = []
    for name in ("old.sqlite", "new.sqlite"):
        with Database.create_or_open(tmp_path / name) as database:
            shapes.append(
                list(
                    database.query(
                        "SELECT type, name, replace(sql, '\"', '') FROM sqlite_master"
                        " WHERE name NOT LIKE 'sqlite%' ORDER BY 1, 2"
                    )
                )
            )
    assert shapes[0] == shapes[1]


def test_a_failed_migration_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance.store import migrations

    path = tmp_path / "a.sqlite"
    monkeypatch.setattr(migrations, "VIEWS", ("CREATE VIEW broken AS SELECT FROM",))
    with pytest.raises(ConformanceError, match="syntax error"):
        Database.create_or_open(path)
    monkeypatch.undo()
    with Database.create_or_open(path) as database:
        assert runs(database) == []


def test_a_folder_that_takes_no_files_is_told(tmp_path: Path) -> None:
    error = refused(Database.create_or_open, Path("/proc/conformance.sqlite"))
    assert isinstance(error, InfrastructureError)
    assert error.slug == "database-unwritable"


def test_a_read_only_folder_can_be_read_and_not_written(open_folder: Path) -> None:
    path = build_sample(open_folder / "a.sqlite", operators=3)
    open_folder.chmod(0o555)
    path.chmod(0o444)
    with without_privileges():
        with Database.open_existing(path) as database:
            assert resolve_run(database).planned == len(list(results(database, 1)))
        error = refused(Database.create_or_open, path)
        missing = refused(Database.create_or_open, open_folder / "b.sqlite")
    assert error.slug == missing.slug == "database-unwritable"
    assert [file.name for file in open_folder.iterdir()] == ["a.sqlite"]


def test_results_that_only_the_log_has_are_not_passed_over_in_silence(open_folder: Path) -> None:
    path = open_folder / "a.sqlite"
    with Database.create_or_open(path) as database:
        writer = writer_of(database, [planned("test_a")])
        writer.add(Result(id_of("test_a"), Outcome.PASSED))
        writer.flush()
        copy = open_folder / "copy.sqlite"
        shutil.copy(path, copy)
        shutil.copy(path.with_name("a.sqlite-wal"), open_folder / "copy.sqlite-wal")
    open_folder.chmod(0o555)
    with without_privileges():
        error = refused(Database.open_existing, copy)
    assert error.slug == "database-unwritable"
    assert "copy.sqlite-wal" in str(error)
    open_folder.chmod(0o755)
    with Database.open_existing(copy) as database:
        assert [row.outcome for row in results(database, 1)] == [Outcome.PASSED]


def test_an_unreadable_file_is_told(open_folder: Path) -> None:
    path = build_sample(open_folder / "a.sqlite", operators=1)
    path.chmod(0)
    with without_privileges():
        for opening in OPENINGS:
            assert refused(opening, path).slug == "database-unwritable"


def test_a_database_opened_for_reading_refuses_to_be_written(tmp_path: Path) -> None:
    path = build_sample(tmp_path / "a.sqlite", operators=1)
    with Database.open_existing(path) as database, pytest.raises(InfrastructureError, match="read-only"):
        writer_of(database, [])


def test_a_lock_that_is_never_released_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build_sample(tmp_path / "a.sqlite", operators=1)
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_S", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "another process" in str(refused(Database.create_or_open, path))
    other.close()


@pytest.mark.parametrize("name", ["a b.sqlite", "per%cent?.sqlite", "#1.sqlite", "ü.sqlite", "'quoted\".sqlite"])
def test_any_file_name_will_do(name: str, tmp_path: Path) -> None:
    build_sample(tmp_path / name, operators=1)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    with Database.open_existing(tmp_path / name) as database:
        assert len(runs(database)) == 1


def test_a_relative_path_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    build_sample(Path("a.sqlite"), operators=1)
    with Database.open_existing(Path("a.sqlite")) as database:
        assert database.path == Path("a.sqlite")


def test_sqlite_utils_opens_the_file_as_it_is(tmp_path: Path) -> None:
    path = build_sample(tmp_path / "a.sqlite", operators=12)
    database = sqlite_utils.Database(path)
    assert {"run", "test", "plan", "result", "text", "signature"} <= set(database.table_names())
    assert set(database.view_names()) == {
        *("test_results", "test_attempts", "operator_status", "module_status", "compile_results", "compile_status")
    }
    assert all(database.table(name).strict for name in database.table_names() if "sqlite" not in name)
    rows = list(database.query("SELECT * FROM operator_status WHERE run_id = 1 AND dtype IS NULL"))
    assert len(rows) == 12
    assert database["test_results"].count == database["plan"].count
    database.close()


def test_importing_the_store_loads_neither_torch_nor_sqlite_utils() -> None:
    code = (
        "import sys, conformance.store, conformance.analysis.groups; print({'torch', 'sqlite_utils'} & {*sys.modules})"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "set()\n"


def test_finishing_leaves_one_file(tmp_path: Path) -> None:
    with Database.create_or_open(tmp_path / "a.sqlite") as database:
        writer = writer_of(database, [planned("test_a")])
        writer.finish(RunState.COMPLETE, finished_at="2026-11-01T01:00:00Z")
    assert [file.name for file in tmp_path.iterdir()] == ["a.sqlite"]
