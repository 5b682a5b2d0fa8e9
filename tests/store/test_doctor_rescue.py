"""A rescue keeps what can be read, says what was lost, and never touches what it rescues."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.errors import ConformanceError
from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.model.run import RunState
from conformance.store import Database, resolve_run, results
from conformance.store.doctor import examine
from conformance.store.mending import LOST_RESULT
from conformance.store.rescue import Rescue, rescue
from tests.store.building import id_of, planned, writer_of
from tests.store.damage import RESULTS, TABLES, as_killed, beside, edit, is_sound, leaves, page_size, sample, select
from tests.store.damage import zero_page as zero

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample(tmp_path_factory.mktemp("healthy") / "original.sqlite")


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    path = tmp_path / "a.sqlite"
    path.write_bytes(original.read_bytes())
    return path


def saved(path: Path) -> tuple[Path, Rescue]:
    """Rescue into a new file; check that the old one stayed, that nothing else was left, and that the new is sound."""
    new = path.with_name("new.sqlite")
    new.unlink(missing_ok=True)
    before, files = path.read_bytes(), beside(path)
    done = rescue(path, new)
    assert path.read_bytes() == before
    assert beside(path) == sorted([*files, "new.sqlite"])
    assert is_sound(new)
    assert examine(new).findings == []
    return new, done


def lost(done: Rescue) -> dict[str, tuple[int, int, int]]:
    return {
        table.table: (table.lost_rows, table.lost_pages, table.placeholders)
        for table in done.tables
        if table.lost_rows or table.lost_pages or table.placeholders
    }


def test_a_healthy_database_is_copied_whole(path: Path) -> None:
    new, done = saved(path)
    assert done.lost_nothing
    assert lost(done) == {}
    for table in TABLES:
        assert select(new, f"SELECT * FROM {table}") == select(path, f"SELECT * FROM {table}"), table


def test_with_the_first_page_gone_everything_is_still_found(path: Path, original: Path) -> None:
    zero(path, 1)
    new, done = saved(path)
    assert lost(done) == {}
    assert select(new, RESULTS) == select(original, RESULTS)
    assert len(select(new, RESULTS)) > 400


def test_whatever_page_is_lost_the_plan_stays_and_every_other_row_is_kept(path: Path, original: Path) -> None:
    want = set(select(original, RESULTS))
    runs = select(original, "SELECT run_id, planned FROM run")
    silent = []
    for number in range(1, original.stat().st_size // page_size(original) + 1):
        path.write_bytes(original.read_bytes())
        zero(path, number) if number > 1 else path.write_bytes(bytes(8192) + original.read_bytes()[8192:])
        new, done = saved(path)
        got = set(select(new, RESULTS))
        assert select(new, "SELECT run_id, planned FROM run") == runs, number
        assert len(got) == len(want), number
        # At most what lies on one page of results, or what refers to one page of texts or names.
        assert len(want - got) < 300, number
        if want - got and done.lost_nothing:
            silent.append(number)
    assert silent == []


@pytest.mark.parametrize("seed", range(40))
def test_noise_anywhere_gives_a_sound_file_or_one_clear_error(path: Path, original: Path, seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(original.read_bytes())
    for _ in range(chance.choice((1, 10, 100))):
        start = chance.randrange(len(data))
        length = chance.choice((1, 4, 100, 2_000))
        data[start : start + length] = chance.randbytes(min(length, len(data) - start))
    path.write_bytes(data)
    slug = ""
    try:
        saved(path)
    except ConformanceError as error:
        slug = error.slug
    assert slug in ("", "nothing-to-rescue", "not-a-database", "database-newer")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.999])
def test_a_file_that_was_cut_off_keeps_what_was_before(path: Path, original: Path, share: float) -> None:
    data = original.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    new, done = saved(path)
    assert not done.lost_nothing
    want, got = set(select(original, RESULTS)), set(select(new, RESULTS))
    assert {row[2] for row in got - want} <= {"not_run", *(row[2] for row in want)}
    if share > 0.8:  # the results come last
        assert len(got) == len(want)
    if share > 0.99:
        assert len(want & got) > len(want) // 2


def test_lost_results_of_a_finished_run_are_not_run_and_say_why(path: Path) -> None:
    leaf = leaves(path, "result")[-1]
    before = set(select(path, RESULTS))
    zero(path, leaf)
    new, done = saved(path)
    changed = [row for row in select(new, RESULTS) if row not in before]
    assert len(changed) > 50
    assert {(row[2], row[3]) for row in changed} == {("not_run", LOST_RESULT)}
    assert any(
        f"the results of {len(changed)} planned tests were lost; they count as not run, the run as interrupted" in n
        for n in done.notes
    )
    with Database.open_existing(new) as database:
        run = resolve_run(database, "2")
        assert sum(run.counts.values()) == run.planned
        assert run.state is RunState.INTERRUPTED
        assert run.counts[Outcome.NOT_RUN] >= len(changed)


def test_lost_tests_keep_their_id_operator_and_template_by_the_indexes(path: Path) -> None:
    columns = "SELECT test_id, op, module, dtype, template, outcome FROM test_results WHERE op IS NOT NULL ORDER BY 1"
    before = select(path, columns)
    zero(path, leaves(path, "test")[0])
    new, done = saved(path)
    assert select(new, columns) == before
    assert lost(done)["test"][2] > 20


def test_a_lost_run_is_shown_as_unknown_and_as_emulated(path: Path) -> None:
    ((root,),) = select(path, "SELECT rootpage FROM sqlite_master WHERE name = 'run'")
    keys = select(path, "SELECT run_id, key, planned FROM run")
    zero(path, root)
    new, done = saved(path)
    assert select(new, "SELECT run_id, key, planned FROM run") == keys  # the keys by their index
    assert select(new, "SELECT DISTINCT device, emulated, state FROM run") == [("(lost)", 1, "interrupted")]
    assert "of 2 runs only plan and results are known; they are shown as emulated" in done.notes


def test_a_lost_inventory_row_keeps_later_runs_from_sharing_the_rest(path: Path) -> None:
    before = select(path, "SELECT digest FROM inventory")
    ((root,),) = select(path, "SELECT rootpage FROM sqlite_master WHERE name = 'inventory_operator'")
    zero(path, root)
    new, done = saved(path)
    assert not set(select(new, "SELECT digest FROM inventory")) & set(before)
    assert any("the inventories" in note for note in done.notes)


def test_a_lost_name_is_replaced_by_one_that_says_so(path: Path) -> None:
    edit(path, "PRAGMA foreign_keys = OFF", "DELETE FROM name WHERE name = 'add'")
    new, done = saved(path)
    assert lost(done) == {"name": (0, 0, 1)}
    assert len(select(new, "SELECT 1 FROM test_results WHERE op GLOB '(lost name *)'")) > 0


def test_lost_fallbacks_count_as_not_observed_and_never_as_none_or_one(path: Path) -> None:
    fell_back = "SELECT count(*) FROM test_results WHERE fallback_ops <> ''"
    ((before,),) = select(path, fell_back)
    victims = "SELECT id FROM fallback_set WHERE overloads <> '' ORDER BY id LIMIT 2"
    edit(
        path,
        f"DELETE FROM fallback_set_overload WHERE fallback_set_id IN ({victims})",
        f"DELETE FROM fallback_set WHERE id IN ({victims})",
    )
    new, done = saved(path)
    ((unobserved,),) = select(new, "SELECT count(*) FROM test_results WHERE fallback_ops IS NULL")
    ((after,),) = select(new, fell_back)
    assert after < before
    assert unobserved >= before - after
    assert any("count as not observed" in note for note in done.notes)


def test_a_set_of_fallbacks_is_rebuilt_from_its_members(path: Path) -> None:
    before = select(path, RESULTS)
    edit(path, "DELETE FROM fallback_set WHERE id = (SELECT max(fallback_set_id) FROM fallback_set_overload)")
    new, _ = saved(path)
    assert select(new, RESULTS) == before


def test_wrong_counts_are_counted_anew(path: Path) -> None:
    right = select(path, "SELECT * FROM run_outcome")
    edit(path, "UPDATE run_outcome SET tests = 7", "DELETE FROM run_outcome WHERE outcome = 'failed'")
    new, done = saved(path)
    assert select(new, "SELECT * FROM run_outcome") == right
    assert done.lost_nothing


def test_a_changed_text_is_marked(path: Path) -> None:
    edit(path, "UPDATE text SET text = 'all is well' WHERE id = 2")
    new, done = saved(path)
    assert select(new, "SELECT text FROM text WHERE id = 2") == [("(damaged 2) all is well",)]
    assert not done.lost_nothing


def test_an_outcome_that_does_not_exist_is_a_lost_row(path: Path) -> None:
    edit(path, "UPDATE result SET outcome = 'exploded' WHERE (run_id, test_ref, attempt) = (1, 1, 1)")
    new, done = saved(path)
    assert lost(done) == {"result": (1, 0, 0)}
    assert select(new, "SELECT outcome FROM result WHERE (run_id, test_ref) = (1, 1)") == [("not_run",)]


def test_a_number_of_planned_tests_that_cannot_be_is_not_believed(path: Path) -> None:
    before = select(path, "SELECT planned FROM run")
    edit(path, "UPDATE run SET planned = 4000000000000")
    new, _ = saved(path)
    assert select(new, "SELECT planned FROM run") == before


def test_a_rescued_database_that_is_damaged_again_is_rescued_again(path: Path) -> None:
    for table in ("result", "test", "text"):
        zero(path, leaves(path, table)[0])
    new, first = saved(path)
    assert not first.lost_nothing
    again = path.with_name("again.sqlite")
    new.rename(again)
    # A table that has become small is a single page.
    damaged = [found[0] for table in ("result", "test", "text") if (found := leaves(again, table))]
    assert damaged
    for page in damaged:
        zero(again, page)
    saved(again)


def unfinished(folder: Path) -> Path:
    """Return a database of which the last 300 results are in its log only, as a killed process leaves it."""
    with Database.create_or_open(folder / "live.sqlite") as database:
        database.connection.execute("PRAGMA wal_autocheckpoint = 0")
        writer = writer_of(database, [planned(f"test_{number}") for number in range(400)])
        database.connection.execute("UPDATE run SET owner = '1@2'")
        database.connection.execute("PRAGMA wal_checkpoint")
        for number in range(300):
            writer.add(Result(id_of(f"test_{number}"), Outcome.FAILED, message=f"message {number}"))
        writer.flush()
        (folder / "copy").mkdir()
        return as_killed(folder / "live.sqlite", folder / "copy" / "a.sqlite")


def test_what_only_the_log_holds_is_rescued_and_an_unfinished_run_stays_so(tmp_path: Path) -> None:
    path = unfinished(tmp_path)
    new = path.with_name("new.sqlite")
    before = {name: (path.parent / name).read_bytes() for name in ("a.sqlite", "a.sqlite-wal")}
    done = rescue(path, new)
    assert done.lost_nothing
    assert {name: (path.parent / name).read_bytes() for name in before} == before
    with Database.open_existing(new) as database:
        assert sum(1 for row in results(database, 1) if row.attempt) == 300
    assert [finding.kind for finding in examine(new).findings] == ["unfinished"]


def test_a_damaged_log_is_used_up_to_the_damage(tmp_path: Path) -> None:
    path = unfinished(tmp_path)
    log = path.with_name("a.sqlite-wal")
    data = bytearray(log.read_bytes())
    data[500] ^= 0xFF
    log.write_bytes(data)
    done = rescue(path, path.with_name("new.sqlite"))
    assert any("the write-ahead log has" in note for note in done.notes)
    assert select(done.path, "SELECT count(*) FROM result") == [(0,)]
    assert select(done.path, "SELECT count(*) FROM plan") == [(400,)]


def test_a_database_of_an_older_schema_becomes_one_of_the_present(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(Path(__file__).with_name("schema_1.sql").read_text())
    connection.close()
    new, done = saved(path)
    assert done.lost_nothing
    for table in TABLES:
        columns = ", ".join(name for (name,) in select(path, f"SELECT name FROM pragma_table_info('{table}')"))
        if columns:  # the others came later
            assert select(new, f"SELECT {columns} FROM {table}") == select(path, f"SELECT {columns} FROM {table}")
    assert select(new, "SELECT 1 FROM run WHERE collected <> planned OR planned = 0") == []


def refused(damaged: Path, new: Path) -> str:
    files = beside(damaged)
    with pytest.raises(ConformanceError) as caught:
        rescue(damaged, new)
    assert beside(damaged) == files
    return caught.value.slug


def test_nothing_is_ever_overwritten(path: Path) -> None:
    (path.parent / "there").write_text("precious")
    (path.parent / "link").symlink_to("nowhere")
    assert refused(path, path) == "rescue-exists"
    assert refused(path, path.parent / "there") == "rescue-exists"
    assert refused(path, path.parent / "link") == "rescue-exists"
    assert refused(path, path.parent / "no" / "folder") == "database-unwritable"
    assert (path.parent / "there").read_text() == "precious"


def test_a_file_with_nothing_in_it_leaves_nothing_behind(path: Path) -> None:
    path.write_bytes(bytes(80_000))
    assert refused(path, path.parent / "new.sqlite") == "nothing-to-rescue"
    path.write_bytes(b"")
    assert refused(path, path.parent / "new.sqlite") == "not-a-database"
    path.write_text("a shopping list\n" * 1000)
    assert refused(path, path.parent / "new.sqlite") == "not-a-database"


def test_a_database_in_use_is_left_to_its_user(path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from conformance.store import Database\n"
        "database = Database.create_or_open(Path(sys.argv[1])); print('ready', flush=True); sys.stdin.readline()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    try:
        assert refused(path, path.parent / "new.sqlite") == "database-in-use"
    finally:
        process.communicate("\n")
