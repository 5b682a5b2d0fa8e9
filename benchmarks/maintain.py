"""Measure what looking after a database costs: merging a run into another file, checking it, rescuing it.

``python benchmarks/maintain.py`` writes two runs of 150,000 results (``--tests`` makes it smaller) and times each
command as its user meets it, in a process of its own, by the processor, so that other work does not count.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from history import build, identities, skiplist


def measure(name: str, *arguments: str) -> None:
    """Time a command in a process of its own, once: none of them can be repeated on the same files."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-m", "conformance", *arguments], capture_output=True, check=True)
    after, wall = os.times(), time.perf_counter() - start
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"  {name:<40} {spent:6.2f} s of the processor, {wall:6.2f} s by the clock")


def main() -> int:
    """Write the runs, time the commands, and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=150_000)
    arguments = parser.parse_args()
    tests = identities(arguments.tests)
    entries = skiplist(tests)
    with tempfile.TemporaryDirectory() as folder:
        one, two, target = (Path(folder) / f"{name}.sqlite" for name in ("one", "two", "target"))
        build(one, tests, entries, 1)
        build(two, tests, entries, 2)
        print(f"runs of {arguments.tests:,} results:")
        measure("merge of one run into a new file", "merge", str(one), "--into", str(target))
        measure("merge of two runs, one of them there", "merge", str(two), "--into", str(target))
        measure("doctor on two runs", "doctor", "--db", str(two))
        measure("doctor --rescue of two runs", "doctor", "--db", str(two), "--rescue", str(Path(folder) / "rescued"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
