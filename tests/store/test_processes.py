"""What happens to the file when processes die or write at the same time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.model.run import RunState
from conformance.store import Database, results, runs
from tests.store.building import assert_sound

ROOT = Path(__file__).parents[2]

SLOWLY = """
import sys, time
from pathlib import Path
from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.store import Database
from tests.store.building import id_of, planned, writer_of

writer = writer_of(Database.create_or_open(Path(sys.argv[1])), [planned(f"test_{n}") for n in range(20_000)])
for number in range(20_000):
    writer.add(Result(id_of(f"test_{number}"), Outcome.FAILED, message=f"message {number}"))
    print(number, time.time(), flush=True)
    time.sleep(float(sys.argv[2]))
"""

WHOLE_RUN = """
import sys
from pathlib import Path
from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.model.run import RunState
from conformance.store import Database
from tests.store.building import id_of, planned, writer_of

print("ready", flush=True)
sys.stdin.readline()
with Database.create_or_open(Path(sys.argv[1])) as database:
    writer = writer_of(database, [planned(f"test_{n}", op=f"op {n % 50}") for n in range(6_000)], batch_rows=50)
    for number in range(6_000):
        writer.add(Result(id_of(f"test_{number}"), Outcome.FAILED, message=f"message {number % 700}"))
    writer.finish(RunState.COMPLETE, finished_at="2026-11-01T01:00:00Z")
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("pause_s", [0.004, 0.0])
def test_a_killed_process_leaves_all_but_the_last_half_second(pause_s: float, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    process = start(SLOWLY, str(path), str(pause_s))
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    begun = time.monotonic()
    while time.monotonic() - begun < 1.3 and lines[-1]:
        lines.append(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    lines += rest.splitlines(keepends=True)
    assert process.returncode == -signal.SIGKILL
    added = [line.split() for line in lines if line.endswith("\n")]
    last = float(added[-1][1])
    # A commit itself takes a moment in which nothing is added: hence a tenth more than the half second.
    owed = sum(1 for _, moment in added if float(moment) < last - 0.6)
    assert owed > 50

    with Database.open_existing(path) as database:
        kept = sum(1 for row in results(database, 1) if row.attempt)
        assert kept >= owed
        assert_sound(database)
        (run,) = runs(database)
        assert (run.state, run.planned) == (RunState.RUNNING, 20_000)
    with Database.create_or_open(path) as database:
        assert sum(1 for row in results(database, 1) if row.attempt) == kept


def test_two_processes_write_two_runs_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    processes = [start(WHOLE_RUN, str(path)) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    with Database.open_existing(path) as database:
        assert [(run.state, run.planned) for run in runs(database)] == [(RunState.COMPLETE, 6_000)] * 2
        assert list(database.query("SELECT count(*) FROM test")) == [(6_000,)]
        assert list(database.query("SELECT count(*) FROM text")) == [(700,)]
        assert_sound(database)


def test_a_run_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    process = start(SLOWLY, str(path), "0.001")
    assert process.stdout is not None
    process.stdout.readline()
    seen = []
    with Database.open_existing(path) as database:
        for _ in range(3):
            time.sleep(0.3)
            (run,) = runs(database)
            seen.append(sum(1 for row in results(database, run.id) if row.attempt))
    process.kill()
    process.communicate()
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]
