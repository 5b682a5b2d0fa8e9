from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.report.findings import collect_findings
from conformance.report.markdown import render_markdown
from conformance.report.skips import SkippedBy, SkipReason
from conformance.report.text import render_text
from conformance.store import Database
from tests.report.listed_runs import id_of, listed_entry, write_listed_run

if TYPE_CHECKING:
    from pathlib import Path


def skipped(op: str, dtype: str, reason: str) -> tuple[str, Result]:
    return id_of(op, dtype), Result(id_of(op, dtype), Outcome.SKIPPED, reason=reason)


def test_skips_are_grouped_by_reason_and_told_by_who_said_so(tmp_path: Path) -> None:
    entries = [listed_entry("hangs", expect="skip"), listed_entry("wrong")]
    listed = {id_of("sin", "float32"): "hangs", id_of("cos", "float32"): "hangs", id_of("cos", "int8"): "wrong"}
    ends = dict(
        [
            skipped("sin", "float32", "skiplist entry hangs: because"),
            skipped("cos", "float32", "skiplist entry hangs: because"),
            skipped("cos", "int8", "Only runs on cuda"),  # listed as failing, and skipped by itself
            skipped("add", "float32", "fewer than 2 devices detected"),
            skipped("add", "int8", "fewer than 4 devices detected"),
            skipped("sub", "float32", ""),
        ]
    )
    path = write_listed_run(tmp_path / "db", "2026-11-01", listed, entries=entries, ends=ends)
    with Database.open_existing(path) as db:
        findings = collect_findings(db, 1)
    assert findings.skips == (
        SkipReason(SkippedBy.SKIPLIST, "hangs: because", 2, id_of("cos", "float32")),
        SkipReason(SkippedBy.TEST, "fewer than N devices detected", 2, id_of("add", "float32")),
        SkipReason(SkippedBy.TEST, "", 1, id_of("sub", "float32")),
        SkipReason(SkippedBy.TEST, "Only runs on cuda", 1, id_of("cos", "int8")),
    )
    assert sum(group.tests for group in findings.skips) == findings.whole.counts[Outcome.SKIPPED]
    text = render_text(findings)
    assert "Skips: 6 tests for 4 reasons" in text
    assert "  2      skiplist  hangs: because\n" in text
    assert "  1      test      (no reason given)\n" in text
    assert "| 2 | skiplist | `hangs: because` |" in render_markdown(findings)
