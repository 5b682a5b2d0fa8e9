"""Measure how fast questions about many runs are answered: burn-down, comparison, statistics, lint, the gate.

``python benchmarks/history.py --db history.sqlite`` writes 30 runs of 150,000 results, 22,000 of them listed in a
skiplist that shrinks, and keeps them for the next time; without ``--db`` they go to a temporary folder. Each command is
then timed as its user meets it, in a process of its own. ``--tests`` and ``--runs`` make it smaller. Times are of the
processor, so that other work on the machine does not count; the exit code is 1 where one is over the limit.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.model.identity import Identity, PlannedTest, Suite
from conformance.model.listed import ListedEntry
from conformance.model.operator import OperatorInfo
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result, SampleAccount
from conformance.model.run import RunInfo, RunState
from conformance.skiplist.entry import Entry
from conformance.skiplist.vocabulary import Category, Expectation
from conformance.skiplist.write import render_list
from conformance.store import Database, RunWriter, runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LIMIT_S = 2.0
OPERATORS = 702
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64")
FIRST_DAY = date(2026, 11, 1)
ENTRIES = 300
OWNERS = ("compiler", "runtime", "kernels", "")
_EXPECTED = {
    Expectation.SKIP: Outcome.SKIPPED,
    Expectation.FAIL: Outcome.FAILED,
    Expectation.CRASH: Outcome.CRASHED,
    Expectation.TIMEOUT: Outcome.TIMED_OUT,
}


def identities(tests: int) -> list[Identity]:
    """Return tests of PyTorch's shape: templates over operators over dtypes."""
    made = []
    for number in range(tests):
        dtype = DTYPES[number % len(DTYPES)]
        op = f"nn.functional.op{number // len(DTYPES) % OPERATORS}"
        template = f"test_property_{number // (len(DTYPES) * OPERATORS)}"
        name = f"{template}_{op.replace('.', '_')}_{dtype}"
        made.append(Identity("test_ops.py", "TestCommon", name, Suite.UPSTREAM, template, op, None, dtype))
    return made


def skiplist(tests: Sequence[Identity]) -> list[Entry]:
    """Return entries that list 22,000 of 150,000 tests by their ids, causes of very different sizes."""
    chance = random.Random(0)
    listed = chance.sample(range(len(tests)), len(tests) * 22 // 150)
    sizes = [1.0 / (number + 5) for number in range(ENTRIES)]
    ids: list[list[str]] = [[] for _ in range(ENTRIES)]
    for index, number in zip(listed, chance.choices(range(ENTRIES), sizes, k=len(listed)), strict=True):
        ids[number].append(tests[index].test_id)
    categories, expectations = list(Category), list(_EXPECTED)
    return [
        Entry(
            id=f"cause-{number}",
            expect=expectations[number % len(expectations)],
            category=categories[number % len(categories)],
            reason="" if number % 17 == 0 else f"The device does not support what cause {number} needs.",
            link="https://example.org/issues/1",
            added=FIRST_DAY - timedelta(days=number),
            owner=OWNERS[number % len(OWNERS)],
            tests=tuple(sorted(found)),
        )
        for number, found in enumerate(ids)
        if found
    ]


def listed_at(entries: Sequence[Entry], number: int) -> list[Entry]:
    """Return the list at a run: each day one entry in thirteen has lost an eighth of its tests."""
    left = []
    for position, entry in enumerate(entries):
        times = len(range(position % 13, number, 13))
        kept = entry.tests[: round(len(entry.tests) * 0.875**times)]
        if kept:
            left.append(replace(entry, tests=kept))
    return left


def observe(tests: Sequence[Identity], listed: Mapping[str, Entry], seed: int) -> Iterator[Result]:
    """Yield what the entries expect of the listed tests, but passes of a few; 8 % of the others skip themselves.

    What a test does is its own from run to run, but for one in a thousand.
    """
    chance, luck = random.Random(0), random.Random(seed)
    quiet, samples = FallbackAccount(), SampleAccount(8, 8)
    for test in tests:
        nature, duration_s, worker = chance.random(), luck.uniform(0.001, 0.3), f"w{luck.randrange(16)}"
        entry = listed.get(test.test_id)
        fallback = quiet
        if test.op is not None and test.op.endswith(("3", "7")):
            overload = (f"aten::{test.op}.out",)
            fallback = FallbackAccount(overload, (*overload, "aten::equal"))
        outcome = Outcome.PASSED if nature < 0.92 else Outcome.SKIPPED
        if luck.random() < 0.001:
            outcome = Outcome.FAILED
        elif entry is not None and nature > 0.05:
            outcome = _EXPECTED[entry.expect]
        if outcome is Outcome.PASSED:
            yield Result(test.test_id, outcome, duration_s, samples=samples, fallback=fallback, worker=worker)
        elif outcome is Outcome.SKIPPED:
            reason = f"Skipped! reason {int(nature * 5000) % 300}"
            yield Result(test.test_id, outcome, duration_s, reason=reason, fallback=quiet, worker=worker)
        else:
            cause = entry.id if entry is not None else f"other {luck.randrange(50)}"
            message = f"RuntimeError: {cause} in {test.op}, {luck.randrange(999)} of 1000 elements"
            signature = f"RuntimeError: {cause}, N of N elements"
            yield Result(test.test_id, outcome, duration_s, message=message, signature=signature, worker=worker)


def write_run(path: Path, tests: Sequence[Identity], entries: Sequence[Entry], number: int) -> None:
    day = FIRST_DAY + timedelta(days=number)
    info = RunInfo(
        key=hashlib.sha256(f"history {number}".encode()).hexdigest()[:32],
        created_at=f"{day}T02:00:00Z",
        suites=("upstream",),
        device="neuron",
        device_name="benchmark",
        emulated=True,
        torch_version="2.13.0",
        backend="none",
        backend_version="0",
        harness_version="0",
        python_version="3",
        host="host",
        operating_system="Linux",
        command="benchmarks/history.py",
        probe="observer",
        skiplist="skiplists/neuron",
    )
    now = listed_at(entries, number)
    listed = {test: entry for entry in now for test in entry.tests}
    planned = []
    for test in tests:
        method = f"{test.name.removesuffix(f'_{test.dtype}')}_neuron_{test.dtype}"
        entry = listed.get(test.test_id)
        node_id = f"test/test_ops.py::TestCommonNEURON::{method}"
        planned.append(PlannedTest(node_id, test, entry.id if entry is not None else ""))
    inventory = [
        OperatorInfo(f"nn.functional.op{operator}", f"op{operator}", f"group {operator % 12}", (*DTYPES, "complex128"))
        for operator in range(OPERATORS)
    ]
    with Database.create_or_open(path) as database:
        writer = RunWriter(database)
        writer.begin(info)
        writer.write_inventory(operators=inventory, modules=[])
        writer.write_skiplist(
            ListedEntry(
                entry.id,
                str(entry.expect),
                str(entry.category),
                entry.reason,
                entry.link,
                entry.owner,
                entry.added.isoformat(),
            )
            for entry in now
        )
        writer.write_plan(planned)
        writer.start(started_at=f"{day}T02:00:05Z")
        for result in observe(tests, listed, number):
            writer.add(result)
        writer.finish(RunState.COMPLETE, finished_at=f"{day}T03:00:00Z")


def build(path: Path, tests: Sequence[Identity], entries: Sequence[Entry], count: int) -> None:
    """Fill the database up to that many runs; those that are there are kept."""
    there = 0
    if path.exists():
        with Database.open_existing(path) as database:
            there = len(runs(database))
    start = time.perf_counter()
    for number in range(there, count):
        write_run(path, tests, entries, number)
    if there < count:
        size = path.stat().st_size
        print(f"wrote {count - there} runs in {time.perf_counter() - start:.0f} s; {size / 1e6:.0f} MB")


def write_lists(folder: Path, entries: Sequence[Entry], count: int) -> Path:
    """Write the list of each run as a commit of its own, and return the folder that the list is in."""

    def git(*arguments: str, day: date = FIRST_DAY) -> None:
        moment = f"{day}T01:00:00+00:00"
        people = {f"GIT_{who}_{what}": "benchmark" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        subprocess.run(["git", *arguments], cwd=folder, check=True, env={**os.environ, **people, **dates})

    lists = folder / "neuron"
    lists.mkdir(parents=True)
    git("init", "--quiet")
    for number in range(count):
        (lists / "list.toml").write_text(render_list(listed_at(entries, number)), encoding="utf-8")
        git("add", "--all")
        git("commit", "--quiet", "--message", f"change {number}", day=FIRST_DAY + timedelta(days=number))
    return lists


def measure(name: str, *arguments: str) -> bool:
    """Time a command in a process of its own, the best of three; tell whether it is under the limit."""
    best = (float("inf"), float("inf"))
    for _ in range(3):
        before = os.times()
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "conformance", *arguments],
            capture_output=True,
            check=False,
        )
        wall, after = time.perf_counter() - start, os.times()
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr.decode())
        used = after.children_user + after.children_system - before.children_user - before.children_system
        best = min(best, (used, wall))
    fits = best[0] < LIMIT_S
    print(
        f"  {name:<44} {best[0]:5.2f} s of the processor, {best[1]:5.2f} s by the clock{'' if fits else '  TOO SLOW'}"
    )
    return fits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=150_000)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--db", type=Path, help="keep the database here; a temporary folder otherwise")
    options = parser.parse_args()
    tests = identities(options.tests)
    entries = skiplist(tests)
    with tempfile.TemporaryDirectory() as folder:
        path = (options.db or Path(folder) / "history.sqlite").resolve()
        build(path, tests, entries, options.runs)
        lists = write_lists(Path(folder) / "lists", entries, options.runs)
        db = ("--db", str(path))
        print(f"{options.runs} runs of {options.tests:,} results; the limit is {LIMIT_S:.0f} s of the processor:")
        fits = [
            measure("burndown", "burndown", *db),
            measure("burndown --by op --format svg", "burndown", *db, "--by", "op", "--format", "svg"),
            measure(
                "burndown with the list's history", "burndown", *db, "--lists", "neuron", "--repo", str(lists.parent)
            ),
            measure("compare of two runs", "compare", "#1", f"#{options.runs}", *db),
            measure("compare of two databases", "compare", f"{path}#1", f"{path}#{options.runs}"),
            measure("gate with a baseline", "gate", *db, "--baseline", "previous"),
            measure("skiplist stats --run latest", "skiplist", "stats", str(lists), *db, "--run", "latest"),
            measure("skiplist lint --run latest", "skiplist", "lint", str(lists), *db, "--run", "latest"),
        ]
    return 0 if all(fits) else 1


if __name__ == "__main__":
    sys.exit(main())
