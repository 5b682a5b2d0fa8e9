"""The options of the pytest plugin; all carry the prefix, so that no other plugin's options are taken."""

from __future__ import annotations

import pytest


def add_options(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("conformance", "conformance of a PyTorch device (torch-conformance)")
    add = group.addoption
    add("--conformance-device", metavar="DEVICE", help="torch device type under test, such as neuron or cpu")
    add("--conformance-db", metavar="FILE", help="record plan and results in this SQLite file")
    add(
        "--conformance-workers",
        metavar="N",
        default="0",
        help="run in N crash-proof workers, 'auto' for one a processor; 0 (default): in this process",
    )
    add(
        "--conformance-timeout",
        metavar="SECONDS",
        type=float,
        help="kill a test that takes longer and record it as timed_out (needs workers; default: 300; 0: no limit)",
    )
    add(
        "--conformance-retries",
        metavar="N",
        type=int,
        default=0,
        help="try a test up to N more times after a failure, crash or time-out; a pass is then flaky (needs workers)",
    )
    add(
        "--conformance-resume",
        action="store_true",
        help="continue the newest run of the same tests if it was killed or interrupted",
    )
    add("--conformance-shard", metavar="I/N", help="run only part I of N; conformance merge joins the databases")
    add(
        "--conformance-start",
        choices=("auto", "fork", "spawn"),
        default="auto",
        help="how workers start; auto (default): by fork, or anew where the device is in use after collection",
    )
    add(
        "--conformance-health",
        choices=("auto", "on", "off"),
        default="auto",
        help="look at the device after each failure and replace the worker of a sick one; auto: where it is cheap",
    )
    add("--conformance-ops", metavar="GLOB,..", help="built-in suites: only these operators or modules")
    add(
        "--conformance-dtypes",
        metavar="DTYPE,..",
        help="built-in suites: these dtypes; 'all' those an operator declares, 'one' float32 or the first it has",
    )
    add(
        "--conformance-templates",
        metavar="NAME,..",
        help="built-in suites: only these templates, such as forward; compile and compile_dynamic run only if named",
    )
    add(
        "--conformance-skiplist",
        metavar="auto|none|PATH",
        action="append",
        default=[],
        help="skiplists in force: those that come for the device (auto, default), none, or files and folders",
    )
    add("--conformance-run-skipped", action="store_true", help="run the tests too that a skiplist says to skip")
    add("--conformance-listed-only", action="store_true", help="run only tests that an entry of a skiplist speaks of")
    add("--conformance-slow", action="store_true", help="run the tests too that PyTorch marks as slow")
    add(
        "--conformance-include-cuda-only",
        action="store_true",
        help="run tests too that PyTorch restricts to other devices, where the installed torch can lift that",
    )
    add(
        "--conformance-fallback",
        choices=("allow", "record", "fail"),
        default="record",
        help="CPU fallbacks of the operator under test: not looked for, recorded (default), or a failure of the test",
    )
    add(
        "--conformance-probe",
        choices=("auto", "backend", "observer", "profiler", "none"),
        default="auto",
        help="how fallbacks are seen: by the backend's own account, an observer of PyTorch's dispatcher (needs a C++ "
        "compiler), the profiler, or not; auto (default): the first of these that there is",
    )
    add(
        "--conformance-test",
        metavar="TEST_ID",
        action="append",
        default=[],
        help="only the test with this id (may be repeated)",
    )
