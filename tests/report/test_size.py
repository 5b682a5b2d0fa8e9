"""A job summary stays under GitHub's limit, whatever a run holds, and keeps its totals."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli.compare import command as compare
from conformance.cli.gate import command as gate
from conformance.cli.report import command as report
from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.report.findings import collect_findings, narrowed
from conformance.report.fitting import SUMMARY_LIMIT
from conformance.report.markdown import render_markdown
from conformance.store import Database
from tests.report.runs import write_run
from tests.sample_run import build_sample

TESTS = 4_000


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return two runs in which each of 4,000 tests fails for a cause of its own, or is lost."""
    path = tmp_path_factory.mktemp("huge") / "huge.sqlite"
    for key, skew in (("1" * 32, 0), ("2" * 32, 1)):
        rows = [
            Result(
                f"opinfo::TestX::test_{'x' * 200}{number}", Outcome.FAILED, message="é" * 900, signature=f"s{number}"
            )
            for number in range(TESTS)
            if (number + skew) % 2
        ]
        ids = [f"test_{'x' * 200}{number}" for number in range(TESTS)]
        write_run(path, rows, planned=ids, key=key)
    return path


def test_the_report_is_cut_to_fit(huge: Path) -> None:
    done = CliRunner().invoke(report, ["--db", str(huge), "--format", "md", "--top", "0"], catch_exceptions=False)
    assert done.exit_code == 0
    assert 10_000 < len(done.stdout.encode()) <= SUMMARY_LIMIT
    assert "2,000 tests with 2,000 signatures" in done.stdout
    assert done.stdout.count("<details>") == done.stdout.count("</details>")
    assert "... and 1,800 more" in done.stdout


def test_gate_and_compare_are_cut_to_fit(huge: Path) -> None:
    words = ["--db", str(huge), "--format", "md", "--top", "0"]
    judged = CliRunner().invoke(gate, [*words, "--baseline", "1"], catch_exceptions=False)
    compared = CliRunner().invoke(compare, [*words, "#1", "#2"], catch_exceptions=False)
    for done, code in ((judged, 1), (compared, 0)):
        assert done.exit_code == code
        assert 10_000 < len(done.stdout.encode()) <= SUMMARY_LIMIT
    assert "4,000" in judged.stdout


def test_narrowing_is_asking_for_less(tmp_path: Path) -> None:
    path = build_sample(tmp_path / "sample.sqlite", runs=1, operators=40)
    with Database.open_existing(path) as database:
        everything = collect_findings(database, 1, top=0)
        for top in (1, 3, 1000):
            asked = collect_findings(database, 1, top=top)
            assert render_markdown(narrowed(everything, top)) == render_markdown(asked)
        assert narrowed(everything, 0) is everything
