"""Merges that are killed, and processes that merge and write at the same time."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.model.run import RunState
from conformance.store import Database, runs
from tests.store.building import assert_sound
from tests.store.merging import actions, contents, finish_all, merged, plan, run_of, write, write_shard

ROOT = Path(__file__).parents[2]

MERGE = """
import sys
from pathlib import Path
from conformance.store.merge import merge

print("ready", flush=True)
sys.stdin.readline()
for one in merge(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]]):
    print(one.action.value, flush=True)
    if one.error is not None:
        raise one.error
"""

# Dies where all rows of a run are written and none is committed.
DYING = """
import os, signal
from conformance.store import merge_copy, merge_join, merge_rows

def die(*arguments, **options):
    merge_rows.copy_rows(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

merge_copy.copy_rows = die
merge_join.copy_rows = die
"""

# The shards come together in a temporary database first: only the last step is to die.
DYING_AT_THE_END = DYING.replace("merge_copy.copy_rows = die\n", "")

# Dies after so many steps of SQLite's machine, in a thousand, and else says how many there were.
DYING_AT = """
import atexit, os, signal, sys
from conformance.store import Database

last = int(sys.argv.pop(1))
steps = 0
opened = Database.create_or_open

def step():
    global steps
    steps += 1
    if steps == last:
        os.kill(os.getpid(), signal.SIGKILL)

def counting(path):
    database = opened(path)
    database.connection.set_progress_handler(step, 1000)
    return database

Database.create_or_open = counting
atexit.register(lambda: print(steps))
"""

WRITE = """
import sys
from pathlib import Path
from conformance.model.run import RunState
from conformance.store import Database, RunWriter
from tests.store.building import run_info
from tests.store.merging import outcome_of, plan

print("ready", flush=True)
sys.stdin.readline()
with Database.create_or_open(Path(sys.argv[1])) as database:
    writer = RunWriter(database, flush_interval_s=0.01)
    writer.begin(run_info(key=sys.argv[2]))
    writer.write_plan(plan(1500))
    writer.start()
    for test in plan(1500):
        for result in outcome_of(test):
            writer.add(result)
    writer.finish(RunState.COMPLETE, finished_at="2026-11-01T01:00:00Z")
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    # A merge that is killed leaves its temporary files behind.
    scratch = next(argument for argument in arguments if isinstance(argument, Path)).parent
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def go(*processes: subprocess.Popen[str]) -> None:
    """Let processes that are ready begin at the same moment."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def shards(folder: Path, count: int, tests: int) -> list[Path]:
    paths = [folder / f"shard-{number}.sqlite" for number in range(1, count + 1)]
    for number, path in enumerate(paths, start=1):
        write_shard(path, plan(tests), number, count, launch="GITHUB_RUN_ID=1")
    return paths


def test_eight_processes_merge_and_write_into_one_file(tmp_path: Path) -> None:
    target = tmp_path / "target.sqlite"
    whole = [tmp_path / f"whole-{number}.sqlite" for number in range(3)]
    keys = [write(path, plan(1200 + number)) for number, path in enumerate(whole)]
    parts = shards(tmp_path, 3, 900)
    processes = [
        start(MERGE, target, *whole),
        start(MERGE, target, *reversed(whole)),
        start(MERGE, target, whole[1]),
        start(MERGE, target, *parts),
        start(MERGE, target, *reversed(parts)),
        start(MERGE, target, *parts, *whole),
        start(WRITE, target, "a" * 32),
        start(WRITE, target, "b" * 32),
    ]
    go(*processes)
    said = "".join(finish_all(processes)).splitlines()
    assert {word: said.count(word) for word in ("copied", "joined")} == {"copied": 3, "joined": 1}
    with Database.open_existing(target) as database:
        assert_sound(database)
        found = {run.key: (run.state, run.planned) for run in runs(database)}
    assert len(found) == 6
    for key, planned in zip([*keys, "a" * 32, "b" * 32], (1200, 1201, 1202, 1500, 1500), strict=True):
        assert found[key] == (RunState.COMPLETE, planned)
    for key, path in zip(keys, whole, strict=True):
        assert contents(target, key) == contents(path)
    write(tmp_path / "undisturbed.sqlite", plan(900))
    (joined,) = set(found) - {*keys, "a" * 32, "b" * 32}
    assert contents(target, joined) == contents(tmp_path / "undisturbed.sqlite")
    write(tmp_path / "written.sqlite", plan(1500))
    for key in ("a" * 32, "b" * 32):
        assert contents(target, key)["attempts"] == contents(tmp_path / "written.sqlite")["attempts"]


def test_two_merges_of_the_same_new_shard_add_it_once(tmp_path: Path) -> None:
    target = tmp_path / "target.sqlite"
    parts = shards(tmp_path, 3, 1500)
    merged(target, *parts[:2], allow_missing=True)
    processes = [start(MERGE, target, *parts), start(MERGE, target, parts[2])]
    go(*processes)
    said = sorted("".join(finish_all(processes)).split())
    assert said == ["unchanged", "updated"]
    write(tmp_path / "whole.sqlite", plan(1500))
    assert contents(target) == contents(tmp_path / "whole.sqlite")
    with Database.open_existing(target) as database:
        assert_sound(database)
        assert len(runs(database)) == 1


@pytest.mark.parametrize("kind", ["copied", "joined", "updated"])
def test_a_merge_that_dies_before_it_commits_leaves_no_row(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "target.sqlite"
    write(target, plan(10), key="c" * 32)
    sources = [tmp_path / "whole.sqlite"]
    code = DYING
    if kind == "copied":
        write(sources[0], plan(400))
    else:
        sources = shards(tmp_path, 2, 400)
        code = DYING_AT_THE_END
    if kind == "updated":
        merged(target, sources[0], allow_missing=True)
    before = rows_of(target)
    process = start(code + MERGE, target, *sources)
    go(process)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, errors
    assert rows_of(target) == before
    with Database.open_existing(target) as database:
        assert_sound(database)
    assert actions(merged(target, *sources)) == [kind]
    write(tmp_path / "expected.sqlite", plan(400))
    assert contents(target, run_of(target).key) == contents(tmp_path / "expected.sqlite")


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with Database.open_existing(path) as database:
        tables = [name for (name,) in database.query("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: list(database.query(f"SELECT * FROM {name}")) for name in tables if not name.startswith("sqlite_stat")
        }


def test_a_merge_killed_at_any_moment_is_finished_by_the_next(tmp_path: Path) -> None:
    sources = [*shards(tmp_path, 2, 1500), tmp_path / "whole.sqlite"]
    key = write(sources[-1], plan(2000), created_at="2026-12-01T00:00:00Z")
    process = start(DYING_AT + MERGE, 0, tmp_path / "undisturbed.sqlite", *sources)
    go(process)
    ((*_, steps),) = (text.split() for text in finish_all([process]))
    expected = contents(tmp_path / "undisturbed.sqlite", "1"), contents(tmp_path / "undisturbed.sqlite", "2")
    chance = random.Random(1)
    found = []
    for attempt in range(8):
        target = tmp_path / f"{attempt}.sqlite"
        process = start(DYING_AT + MERGE, chance.randint(1, int(steps) * 95 // 100), target, *sources)
        go(process)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        if target.exists():
            with Database.create_or_open(target) as database:
                assert_sound(database)
                found.append([(run.planned, run.state) for run in runs(database)])
        merged(target, *sources)
        assert (contents(target, "1"), contents(target, "2")) == expected
        assert run_of(target).key == key
    whole = [(1500, RunState.COMPLETE), (2000, RunState.COMPLETE)]
    assert all(each == whole[: len(each)] for each in found)
    assert len({len(each) for each in found}) > 1  # some had a run, others none
