"""The doctor finds what is wrong with a database, says it in one line, and changes nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.store import Database
from conformance.store.doctor import Examination, examine
from conformance.store.schema import SCHEMA_VERSION
from tests.store.building import id_of, planned, writer_of
from tests.store.damage import as_killed, beside, edit, leaves, sample, select, zero_page

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 3, tzinfo=timezone.utc)
OLD_SCHEMA = Path(__file__).with_name("schema_1.sql")

HOLD = """
import sys
from pathlib import Path
from conformance.store import Database
from tests.store.building import planned, writer_of

database = Database.create_or_open(Path(sys.argv[1]))
writer_of(database, [planned("test_a")])
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return sample(tmp_path_factory.mktemp("healthy") / "a.sqlite").read_bytes()


@pytest.fixture
def path(healthy: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "a.sqlite"
    path.write_bytes(healthy)
    return path


def kinds(examination: Examination) -> list[str]:
    return sorted({finding.kind for finding in examination.findings})


def only_text(examination: Examination) -> str:
    (finding,) = examination.findings
    assert "\n" not in finding.text + finding.remedy
    assert finding.remedy
    return finding.text


def test_a_healthy_database_has_no_findings_and_stays_as_it_is(path: Path, healthy: bytes) -> None:
    examination = examine(path)
    assert examination.findings == []
    assert examination.notes == []
    assert (examination.runs, examination.schema_version, examination.holder) == (2, SCHEMA_VERSION, None)
    assert examination.results == select(path, "SELECT count(*) FROM result")[0][0]
    assert examination.size == len(healthy) == examination.pages * examination.page_size
    assert path.read_bytes() == healthy
    assert beside(path) == ["a.sqlite"]


def test_a_file_that_was_cut_off_is_told_with_what_is_missing(path: Path, healthy: bytes) -> None:
    size = select(path, "PRAGMA page_size")[0][0]
    path.write_bytes(healthy[: 20 * size])
    examination = examine(path)
    (cut,) = [finding for finding in examination.findings if finding.kind == "truncated"]
    assert f"the last {len(healthy) // size - 20} of its {len(healthy) // size} pages are missing" in cut.text
    damaged = {finding.table for finding in examination.findings if finding.kind == "damage"}
    assert {"plan", "result"} <= damaged
    assert "name" not in damaged
    assert len(path.read_bytes()) == 20 * size


def test_zeros_in_the_middle_are_told_with_the_table(path: Path) -> None:
    leaf = leaves(path, "result")[0]
    zero_page(path, leaf)
    before = path.read_bytes()
    examination = examine(path)
    assert kinds(examination) == ["damage", "integrity"]
    assert [(finding.table, finding.text) for finding in examination.findings if finding.kind == "damage"] == [
        ("result", "1 page of the table result cannot be read")
    ]
    assert path.read_bytes() == before
    assert beside(path) == ["a.sqlite"]


def test_noise_on_a_page_of_the_results_is_found(path: Path) -> None:
    leaf = leaves(path, "result")[0]
    data = bytearray(path.read_bytes())
    start = (leaf - 1) * 8192
    data[start : start + 600] = bytes(range(256)) * 2 + bytes(88)
    path.write_bytes(data)
    assert "integrity" in kinds(examine(path))


def test_an_overwritten_beginning_is_damage_and_not_another_kind_of_file(path: Path, healthy: bytes) -> None:
    for start in (bytes(100), bytes(8192), b"#!/bin/sh\n"):
        path.write_bytes(start + healthy[len(start) :])
        assert "header" in kinds(examine(path)), start[:10]
    path.write_bytes(healthy[:68] + b"abcd" + healthy[72:])
    assert only_text(examine(path)) == "the mark was overwritten by which this harness knows its databases"


def test_a_schema_that_sqlite_cannot_read_is_one_finding(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace(b"CREATE TABLE name (", b"CREATE T\xff\xfeLE name (", 1))
    assert "integrity" in kinds(examine(path))


def test_wrong_counts_are_told_with_both_numbers(path: Path) -> None:
    ((passed,),) = select(path, "SELECT tests FROM run_outcome WHERE run_id = 1 AND outcome = 'passed'")
    edit(path, "UPDATE run_outcome SET tests = tests + 5 WHERE run_id = 1 AND outcome = 'passed'")
    assert only_text(examine(path)) == (
        f"run 1: the outcomes kept for it are not those of its results: passed {passed + 5} instead of {passed}"
    )


def test_a_wrong_number_of_planned_tests_is_found(path: Path) -> None:
    ((count,),) = select(path, "SELECT planned FROM run WHERE run_id = 2")
    edit(path, "UPDATE run SET planned = planned + 3 WHERE run_id = 2")
    examination = examine(path)
    assert only_text(examination) == f"run 2 says that it planned {count + 3} tests, and its plan has {count}"
    assert examination.findings[0].run_id == 2


def test_results_that_are_missing_from_a_finished_run_are_found(path: Path) -> None:
    edit(
        path,
        "DELETE FROM result WHERE run_id = 1 AND test_ref IN (SELECT test_ref FROM result WHERE attempt = 1 LIMIT 4)",
    )
    examination = examine(path)
    assert kinds(examination) == ["counts", "results"]
    assert "4 of its planned tests have no result" in examination.findings[0].text


def test_an_interrupted_run_that_was_merged_from_shards_may_lack_results(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Database.create_or_open(path) as database:
        writer_of(database, [planned("test_a")])
    edit(path, "UPDATE run SET state = 'interrupted'")
    assert "1 of its planned tests have no result" in only_text(examine(path))
    edit(path, "INSERT INTO run_shard VALUES (1, 1, 'key', 'running', 'host', 'command', NULL, NULL, 1)")
    assert examine(path).findings == []


def test_rows_that_refer_to_nothing_are_found(path: Path) -> None:
    edit(path, "DELETE FROM plan WHERE run_id = 1 AND position < 3", "DELETE FROM text WHERE id = 1")
    found = [finding.text for finding in examine(path).findings if finding.kind == "references"]
    assert any(
        "3 rows of the table result refer to rows of the table plan that are not there" in text for text in found
    )
    assert any("to rows of the table text that are not there" in text for text in found)


def test_an_outcome_and_a_state_that_do_not_exist_are_found(path: Path) -> None:
    edit(
        path,
        "UPDATE result SET outcome = 'exploded' WHERE run_id = 1 AND outcome = 'passed'",
        "UPDATE run SET state = 'dreaming' WHERE run_id = 2",
    )
    texts = [finding.text for finding in examine(path).findings if finding.kind == "outcome"]
    assert any("have the outcome 'exploded', which does not exist" in text for text in texts)
    assert "run 2 is in the state 'dreaming', which does not exist" in texts


def test_a_text_that_was_changed_inside_its_row_is_found(path: Path) -> None:
    edit(path, "UPDATE text SET text = 'all is well' WHERE id IN (1, 2)")
    assert only_text(examine(path)) == "2 messages or tracebacks were changed after they were stored"


def test_a_schema_of_another_shape_is_found_and_other_tables_are_noted(path: Path) -> None:
    edit(path, "DROP VIEW operator_status", "DROP INDEX test_op", "CREATE TABLE mine (a)")
    examination = examine(path)
    assert [finding.text for finding in examination.findings] == [
        "the index test_op is missing",
        "the view operator_status is missing",
    ]
    assert examination.notes == ["not of this harness, and not looked at: table mine"]


def test_an_older_schema_is_found_and_the_rest_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(OLD_SCHEMA.read_text())
    connection.close()
    assert (
        only_text(examine(path))
        == f"the database has schema 1, this harness writes {SCHEMA_VERSION}: reports refuse it"
    )


@pytest.mark.parametrize(
    ("content", "error", "slug"),
    [
        (None, UsageError, "database-missing"),
        (b"", UsageError, "not-a-database"),
        (b"this is no database\n" * 500, UsageError, "not-a-database"),
    ],
)
def test_what_never_was_a_database_is_an_error(
    content: bytes | None, error: type[Exception], slug: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error) as caught:
        examine(path)
    assert caught.value.slug == slug  # type: ignore[attr-defined]
    assert content is None or path.read_bytes() == content


def test_a_database_of_another_program_and_a_newer_one_are_errors(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    edit(other, "CREATE TABLE t (a)")
    edit(path, "PRAGMA user_version = 99")
    for file, slug in ((other, "not-a-database"), (path, "database-newer"), (tmp_path, "not-a-database")):
        with pytest.raises(UsageError) as caught:
            examine(file)
        assert caught.value.slug == slug


def test_a_run_whose_process_is_gone_is_unfinished(tmp_path: Path) -> None:
    with Database.create_or_open(tmp_path / "a.sqlite") as database:
        writer_of(database, [planned("test_a")])
        database.connection.execute("UPDATE run SET owner = '1@2'")
    examination = examine(tmp_path / "a.sqlite", now=NOW)
    assert only_text(examination) == (
        "run 1 (running, begun 1 day ago) was not finished, and the process that carried it out is gone"
    )
    assert "--resume" in examination.findings[0].remedy


def test_a_run_that_goes_on_is_no_finding(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    examination = examine(path)
    assert examination.findings == []
    assert examination.holder == process.pid
    assert examination.log_size > 0
    (note,) = examination.notes
    assert f"is being carried out by process {process.pid}" in note

    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = {name: (tmp_path / name).read_bytes() for name in ("a.sqlite", "a.sqlite-wal")}
    examination = examine(path)
    assert kinds(examination) == ["log", "unfinished"]
    assert examination.runs == 1  # which stands in the log only
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def unfinished(folder: Path) -> Path:
    """Return a database whose last results are in its log, as a killed process leaves it."""
    with Database.create_or_open(folder / "live.sqlite") as database:
        database.connection.execute("PRAGMA wal_autocheckpoint = 0")
        writer = writer_of(database, [planned(f"test_{number}") for number in range(400)])
        database.connection.execute("UPDATE run SET owner = '1@2'")
        database.connection.execute("PRAGMA wal_checkpoint")
        for number in range(300):
            writer.add(Result(id_of(f"test_{number}"), Outcome.FAILED, message=f"message {number}"))
        writer.flush()
        copy = folder / "copy"
        copy.mkdir()
        return as_killed(folder / "live.sqlite", copy / "a.sqlite")


def test_a_log_that_was_removed_leaves_a_trace(tmp_path: Path) -> None:
    path = unfinished(tmp_path)
    assert kinds(examine(path)) == ["log", "unfinished"]
    path.with_name("a.sqlite-wal").unlink()
    examination = examine(path)
    assert [finding.text for finding in examination.findings if finding.kind == "log"] == [
        "a.sqlite-shm is there without a.sqlite-wal: the last results may have been removed with it"
    ]
    assert "unfinished" in kinds(examination)


def test_a_log_with_a_damaged_page_is_found(tmp_path: Path) -> None:
    path = unfinished(tmp_path)
    log = path.with_name("a.sqlite-wal")
    data = bytearray(log.read_bytes())
    data[500] ^= 0xFF  # the first page: all that follow are worth nothing with it
    log.write_bytes(data)
    path.with_name("a.sqlite-shm").unlink()
    texts = [finding.text for finding in examine(path).findings]
    assert any("a.sqlite-wal is damaged" in text for text in texts)


def test_half_a_change_beside_its_journal_is_found_and_left(path: Path) -> None:
    live = path.with_name("live.sqlite")
    live.write_bytes(path.read_bytes())
    connection = sqlite3.connect(live, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute("UPDATE result SET duration_us = 1")
    for suffix in ("", "-journal"):
        path.with_name(f"a.sqlite{suffix}").write_bytes(live.with_name(f"live.sqlite{suffix}").read_bytes())
    connection.close()
    before = path.read_bytes()
    assert "journal" in kinds(examine(path))
    assert path.read_bytes() == before
    assert path.with_name("a.sqlite-journal").exists()


def test_a_log_that_cannot_be_read_where_it_is_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = unfinished(tmp_path)
    # What SQLite answers in a read-only folder, which is none to a test that runs as root.
    monkeypatch.setattr("conformance.store.doctor._connect", lambda found: Unreadable())
    examination = examine(path)
    assert [finding.text for finding in examination.findings if "not looked at" in finding.text] == [
        "the rows were not looked at: SQLite cannot read the log in a folder that is read-only"
    ]
    assert examination.runs is None


class Unreadable:
    def close(self) -> None:
        pass

    def execute(self, sql: str) -> None:
        raise sqlite3.OperationalError("unable to open database file")
