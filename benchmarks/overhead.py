"""Compare what recording costs with plain pytest, on the same tests in one run.

Usage: python benchmarks/overhead.py [--tests 20000] [--rounds 3] [--crashes 0]

Prints user + system CPU seconds (all processes) and wall seconds of each way to run the tests: the median over the
rounds, and the ratio to plain pytest of the same round.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = {
    "plain pytest": [],
    "recorded, one process": ["--conformance-db", "{db}"],
    "recorded, 2 workers": ["--conformance-db", "{db}", "--conformance-workers", "2"],
    "pytest -n 2": ["-n", "2"],
    "recorded, pytest -n 2": ["--conformance-db", "{db}", "-n", "2"],
}


def write_tests(folder: Path, *, tests: int, crashes: int) -> None:
    """Write files of 500 trivial tests each; ``crashes`` of them abort."""
    every = tests // crashes if crashes else 0
    for number in range(0, tests, 500):
        lines = ["import os", "import torch", "import torch.testing._internal.common_device_type", ""]
        for index in range(number, min(number + 500, tests)):
            dies = every and index % every == every - 1
            lines.append(f"def test_{index}(): {'os.abort()' if dies else 'assert True'}")
        (folder / f"test_file{number // 500:03}.py").write_text("\n".join(lines) + "\n")


def measure(folder: Path, options: list[str]) -> tuple[float, float]:
    """Return CPU and wall seconds of one run."""
    database = folder / "results.sqlite"
    for leftover in folder.glob("results.sqlite*"):
        leftover.unlink()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    command = [word.format(db=database) for word in command]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--crashes", type=int, default=0, help="tests that abort; plain pytest cannot run these")
    arguments = parser.parse_args()
    ways = {name: options for name, options in WAYS.items() if not arguments.crashes or "workers" in name}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tests(folder, tests=arguments.tests, crashes=arguments.crashes)
        seen: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(arguments.rounds):
            for way, options in ways.items():
                seen[way].append(measure(folder, options))
    print(f"{arguments.tests} tests, {arguments.crashes} of them abort, {arguments.rounds} rounds")
    print(f"{'way':<24}{'CPU s':>8}{'wall s':>8}{'CPU ratio':>11}{'wall ratio':>12}")
    base = seen.get("plain pytest") or next(iter(seen.values()))
    for way, figures in seen.items():
        cpu, wall = (statistics.median(column) for column in zip(*figures, strict=True))
        cpu_ratio, wall_ratio = (
            statistics.median(mine[column] / theirs[column] for mine, theirs in zip(figures, base, strict=True))
            for column in (0, 1)
        )
        print(f"{way:<24}{cpu:>8.1f}{wall:>8.1f}{cpu_ratio:>11.2f}{wall_ratio:>12.2f}")


if __name__ == "__main__":
    main()
