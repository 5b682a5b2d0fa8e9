"""Run pytest with the plugin in a process of its own, and read what it recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import rows


def run_pytest(
    folder: Path, *options: str, environment: dict[str, str] | None = None, timeout_s: float = 120, **files: str
) -> subprocess.CompletedProcess[str]:
    """Write the files, run pytest over the folder into ``out.sqlite``."""
    for name, source in files.items():
        (folder / f"{name}.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--conformance-db", "out.sqlite", *options]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def attempts(folder: Path) -> list[tuple[str, int, str]]:
    """Return (name of the test, number, outcome) of every attempt of the newest run."""
    return [
        (test_id.rpartition("::")[2], attempt, outcome)
        for test_id, attempt, outcome in rows(
            folder / "out.sqlite",
            "select test_id, attempt, outcome from test_attempts where run_id = (select max(run_id) from run)"
            " order by test_id, attempt",
        )
    ]


def results(folder: Path) -> list[tuple[object, ...]]:
    """Return what must be equal in two runs of the same tests: all of the newest run that no clock decides."""
    return rows(
        folder / "out.sqlite",
        "select test_id, node_id, suite, outcome, attempt, reason, message, signature, samples, fallback_ops"
        " from test_results where run_id = (select max(run_id) from run) order by test_id",
    )
