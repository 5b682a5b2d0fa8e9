"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

Run = Callable[..., subprocess.CompletedProcess[str]]


def run_conformance(
    *arguments: str, cwd: Path, env: dict[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "conformance", *arguments],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.fixture
def conformance(tmp_path: Path) -> Run:
    """Return a function that runs the command line in an empty folder."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return run_conformance(*arguments, cwd=tmp_path, **options)

    return run


def rows(database: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return what a query gives, through SQLite alone: what users' scripts do."""
    connection = sqlite3.connect(database)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def outcomes(database: Path) -> dict[str, str]:
    """Return test id -> outcome for every row of the newest run."""
    return dict(
        rows(
            database,
            "select test_id, outcome from test_results where run_id = (select max(run_id) from test_results)",
        )
    )
