"""Reading a file page by page gives what SQLite reads, and never fails on what SQLite refuses."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from conformance.store.pages import PAGE_SIZES, BadPageError, Losses, PageFile
from conformance.store.salvage import open_salvage
from tests.store.damage import TABLES, sample, select

VALUES = [
    *(None, 0, 1, -1, 127, -128, 128, 2**15, -(2**15), 2**23, -(2**31), 2**31, 2**47, -(2**47), 2**63 - 1, -(2**63)),
    *(0.0, 1.5, -1e300, "", "a", "ü\x01名", b"", b"\0\xff", "x" * 500, "y" * 9_000, b"z" * 70_000),
]


def build(path: Path, page_size: int, *, reserve_log: bool = False) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA page_size = {page_size}")
    if reserve_log:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (a, b)")
    connection.execute("CREATE TABLE k (a, b, PRIMARY KEY (b, a)) WITHOUT ROWID")
    connection.execute("BEGIN")
    chance = random.Random(page_size)
    rows = [(value, chance.choice(VALUES)) for value in VALUES]
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.executemany("INSERT INTO t (rowid, a) VALUES (?, 1)", [(-5,), (2**62,)])
    keys = [(number, chance.choice(["k" * chance.randrange(3_000), number])) for number in range(400)]
    connection.executemany("INSERT INTO k VALUES (?, ?)", keys)
    connection.execute("COMMIT")
    connection.close()


def read(path: Path) -> tuple[list[Any], list[Any], Losses]:
    roots = dict(select(path, "SELECT name, rootpage FROM sqlite_master"))
    losses = Losses()
    with PageFile(path) as pages:
        table = [(row.rowid, *row.values) for row in pages.tree(roots["t"], losses, is_table=True)]
        keyed = [row.values for row in pages.tree(roots["k"], losses, is_table=False)]
    return table, keyed, losses


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_every_kind_of_value_and_of_page_is_read_as_sqlite_reads_it(page_size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    build(path, page_size)
    table, keyed, losses = read(path)
    assert sorted(map(repr, table)) == sorted(map(repr, select(path, "SELECT rowid, a, b FROM t")))
    assert sorted(map(repr, keyed)) == sorted(map(repr, select(path, "SELECT b, a FROM k")))
    assert losses == Losses()


def test_a_whole_database_of_the_harness_is_read_as_sqlite_reads_it(tmp_path: Path) -> None:
    path = sample(tmp_path / "a.sqlite")
    with PageFile(path) as pages:
        salvage = open_salvage(pages)
        assert sorted(salvage.shapes) == sorted(TABLES)
        for table in TABLES:
            rows = [tuple(row.items()) for row in salvage.rows(pages, table)]
            connection = sqlite3.connect(path)
            connection.row_factory = sqlite3.Row
            want = [tuple(zip(row.keys(), row, strict=True)) for row in connection.execute(f"SELECT * FROM {table}")]
            connection.close()
            assert sorted(map(repr, map(sorted, rows))) == sorted(map(repr, map(sorted, want))), table
        assert all(losses == Losses() for losses in salvage.losses.values())
        assert list(salvage.strays(pages)) == []


def test_the_log_is_taken_in_as_sqlite_takes_it_in(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    build(path, 4096, reserve_log=True)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("UPDATE k SET b = 'changed' WHERE a % 2")
    want = connection.execute("SELECT b, a FROM k").fetchall()
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute("UPDATE k SET b = 'not committed' || a")  # spills into the log
    with PageFile(path) as pages:
        (root,) = [row.values[3] for row in pages.tree(1, Losses(), is_table=True) if row.values[:2] == ("table", "k")]
        assert isinstance(root, int)
        losses = Losses()
        got = [row.values for row in pages.tree(root, losses, is_table=False)]
    connection.close()
    assert sorted(map(repr, got)) == sorted(map(repr, want))
    assert losses == Losses()


@pytest.mark.parametrize("seed", range(60))
def test_noise_never_fails_and_is_counted(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    build(path, 1024)
    roots = dict(select(path, "SELECT name, rootpage FROM sqlite_master"))
    count = len(select(path, "SELECT 1 FROM t")) + len(select(path, "SELECT 1 FROM k"))
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 20, 300))):
        start = chance.randrange(100, len(data))
        data[start : start + chance.choice((1, 8, 700))] = chance.randbytes(1)
    path.write_bytes(data)
    losses = Losses()
    with PageFile(path) as pages:
        rows = sum(1 for name, root in roots.items() for _ in pages.tree(root, losses, is_table=name == "t"))
        list(pages.strays())
    if rows < count:
        assert losses.pages or losses.rows


def test_a_tree_that_leads_to_itself_comes_to_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    build(path, 1024)
    ((root,),) = select(path, "SELECT rootpage FROM sqlite_master WHERE name = 'k'")
    data = bytearray(path.read_bytes())
    start = (root - 1) * 1024
    assert data[start] == 2
    data[start + 8 : start + 12] = root.to_bytes(4, "big")
    path.write_bytes(data)
    losses = Losses()
    with PageFile(path) as pages:
        assert len(list(pages.tree(root, losses, is_table=False))) > 0
        assert losses.pages == {root}


def test_a_page_that_is_not_there_is_an_error_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    build(path, 1024)
    with PageFile(path) as pages:
        for number in (0, -1, pages.count + 1, 2**32):
            with pytest.raises(BadPageError):
                pages.page(number)
