"""Measure what each probe costs on the suite `opinfo`, on the emulated neuron device, in CPU time.

Usage: python benchmarks/probe_cost.py [--ops 'a*,add'] [--rounds 5] [--dtypes one] [--template forward] [--everywhere]

Every test runs without a probe and with each of them, one right after the other, and in another order each round; the
least CPU time (user and system, all threads) of the rounds counts, which leaves out what else the machine does. The
share is the extra time of all tests against the CPU time of a whole `conformance run` of the same tests: starting,
collecting, running and recording. The built-in suites are watched in their windows only; `--everywhere` watches whole
tests, as files are that the harness does not know.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any

PROBES = ("none", "backend", "observer", "profiler")


def tests_of(ops: str | None, template: str, dtypes: str) -> list[Any]:
    """Instantiate the selected tests for the emulated device in this process."""
    from conformance import emulator
    from conformance.suites.selection import ACTIVE, parse_selection

    emulator.load()
    from conformance.suites.device_base import use_device

    use_device("neuron")
    ACTIVE.device = "neuron"
    ACTIVE.selection = parse_selection(ops=ops, dtypes=dtypes, templates=template)
    from conformance.suites import opinfo

    names = [name for name in vars(opinfo) if name.startswith("TestOperators") and name != "TestOperators"]
    return [case for name in names for case in unittest.defaultTestLoader.loadTestsFromTestCase(vars(opinfo)[name])]


def run(case: Any, probe: Any, *, only_windows: bool) -> float:
    """Run one test under a probe and return its CPU seconds."""
    from conformance.probes import watch_with

    watch_with(probe)
    again = type(case)(case._testMethodName)
    result = unittest.TestResult()
    began = time.process_time()
    probe.begin_test(has_subject=True, only_windows=only_windows)
    again.run(result)
    probe.end_test()
    return time.process_time() - began


def whole_run(arguments: argparse.Namespace) -> float:
    """Return the CPU seconds of `conformance run` on the same tests, in one worker."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "conformance", "run", "opinfo", "--device", "neuron", "--workers", "1"]
        command += ["--templates", arguments.template, "--dtypes", arguments.dtypes, "--db", f"{folder}/results.sqlite"]
        command += ["--ops", arguments.ops] if arguments.ops else []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", help="operators, as for `conformance run`; default: all")
    parser.add_argument("--template", default="forward")
    parser.add_argument("--dtypes", default="one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--everywhere", action="store_true", help="watch the whole test, not only its windows")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"

    import torch

    torch.set_num_threads(1)
    cases = tests_of(arguments.ops, arguments.template, arguments.dtypes)
    from conformance.devices import adapter_for
    from conformance.probes import probe_for

    probes = [probe_for(adapter_for("neuron"), name) for name in PROBES]
    only_windows = not arguments.everywhere
    seconds = {name: [float("inf")] * len(cases) for name in PROBES}
    for case in cases:
        run(case, probes[0], only_windows=only_windows)  # the first time fills caches for all the others
    gc.collect()
    gc.disable()  # or a collection hits one of them by chance
    for turn in range(arguments.rounds):
        for number, case in enumerate(cases):
            for position in range(len(PROBES)):
                index = (position + number + turn) % len(PROBES)
                least = seconds[PROBES[index]]
                least[number] = min(least[number], run(case, probes[index], only_windows=only_windows))
            if number % 50 == 0:
                gc.collect()
    suite = whole_run(arguments)
    count = len(cases)
    where = "in windows" if only_windows else "everywhere"
    print(f"torch {torch.__version__}, {count} tests, {arguments.rounds} rounds, watched {where}")
    print(f"the whole run takes {suite:.2f} s of CPU, {suite / count * 1000:.2f} ms a test")
    print(f"{'probe':<10}{'ms a test':>11}{'extra ms':>10}{'of the run':>12}")
    base = sum(seconds["none"])
    for name, least in seconds.items():
        extra = sum(least) - base
        print(f"{name:<10}{sum(least) / count * 1000:>11.3f}{extra / count * 1000:>10.3f}{extra / suite:>12.1%}")


if __name__ == "__main__":
    main()
