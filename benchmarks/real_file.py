"""Run one real test file with `pytest -n 2` and with two of our workers, and compare what each costs.

Usage: python benchmarks/real_file.py FILE [-k EXPR] [--device cpu] [--rounds 1]

FILE is a test file of a PyTorch checkout, such as test/test_unary_ufuncs.py of v2.6. Prints user + system CPU seconds
of all processes, wall seconds, and the largest sum of the proportional set sizes (PSS, Linux) of all processes, with
the ratio of ours to xdist's: the median over the rounds. Ours records every outcome in SQLite, xdist's records nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took."""

    cpu_s: float
    wall_s: float
    memory_mib: float
    summary: str


def descendants(pid: int) -> list[int]:
    """Return a process and all below it."""
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        for children in Path(f"/proc/{found[-1]}/task").glob("*/children"):
            try:
                waiting.extend(map(int, children.read_text(encoding="ascii").split()))
            except OSError:
                continue
    return found


def memory_mib(pid: int) -> float:
    """Return the proportional set size of a process and all below it: shared pages count once, divided among them."""
    total = 0
    for each in descendants(pid):
        try:
            text = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            continue
        found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
        total += int(found[1]) if found else 0
    return total / 1024


def measure(command: list[str], folder: Path, environment: dict[str, str]) -> Cost:
    """Run the command and watch it."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    largest = [0.0]

    def watch() -> None:
        while process.poll() is None:
            largest[0] = max(largest[0], memory_mib(process.pid))
            time.sleep(EVERY_S)

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    watcher.join()
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{output[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall, largest[0], output.strip().splitlines()[-1].strip("= "))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("-k", dest="keyword", default="")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    pytest = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-c", "/dev/null", "-p", "no:cacheprovider"]
    pytest += ["--rootdir", str(arguments.file.resolve().parent), str(arguments.file.resolve())]
    if arguments.keyword:
        pytest += ["-k", arguments.keyword]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTORCH_TESTING_DEVICE_ONLY_FOR": arguments.device}
    # On the CPU xdist's run does without our plugin; another device needs it, to be there at all.
    device = [] if arguments.device == "cpu" else ["--conformance-device", arguments.device]
    ours: list[Cost] = []
    theirs: list[Cost] = []
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as name:
            theirs.append(measure([*pytest, *device, "-n", "2"], Path(name), environment))
            options = ["--conformance-device", arguments.device, "--conformance-db", "out.sqlite"]
            ours.append(measure([*pytest, *options, "--conformance-workers", "2"], Path(name), environment))
    print(f"{arguments.file.name} on {arguments.device}, {arguments.keyword or 'all tests'}, {arguments.rounds} rounds")
    print(f"{'way':<22}{'CPU s':>9}{'wall s':>9}{'PSS MiB':>9}  outcome")
    for way, costs in (("pytest -n 2", theirs), ("recorded, 2 workers", ours)):
        figures = [statistics.median(column) for column in zip(*map(_figures, costs), strict=True)]
        print(f"{way:<22}{figures[0]:>9.1f}{figures[1]:>9.1f}{figures[2]:>9.0f}  {costs[-1].summary}")
    ratios = [
        statistics.median(a / b for a, b in zip(mine, other, strict=True))
        for mine, other in zip(
            zip(*map(_figures, ours), strict=True), zip(*map(_figures, theirs), strict=True), strict=True
        )
    ]
    print(f"{'ratio':<22}{ratios[0]:>9.2f}{ratios[1]:>9.2f}{ratios[2]:>9.2f}")


def _figures(cost: Cost) -> tuple[float, float, float]:
    return cost.cpu_s, cost.wall_s, cost.memory_mib


if __name__ == "__main__":
    main()
