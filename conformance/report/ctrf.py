"""A run in the Common Test Report Format (CTRF, https://ctrf.io), as JSON."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from conformance import __version__
from conformance.analysis.verdict import Verdict
from conformance.model.outcome import Outcome
from conformance.report.exporting import ExportedTest, Status, exported_tests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.report.exporting import Export
    from conformance.store import RunRow

SPEC_VERSION = "0.1.0"
_STATUSES = ("passed", "failed", "skipped", "pending", "other")


def render_ctrf(export: Export) -> Iterator[str]:
    """Yield the document in pieces, one test a line.

    What fails as expected (by PyTorch's mark, or by verdict) has the status ``other``; ``rawStatus`` is the outcome.
    """
    counts = dict.fromkeys(_STATUSES, 0)
    flaky = 0
    tests = []
    for test in exported_tests(export):
        record = _test(test, export.run)
        counts[str(record["status"])] += 1
        flaky += test.row.outcome is Outcome.FLAKY
        tests.append(json.dumps(record, ensure_ascii=True, separators=(",", ":")))
    run = export.run
    start = _milliseconds(run.started_at or run.created_at)
    summary = {
        "tests": len(tests),
        **counts,
        "flaky": flaky,
        "start": start,
        "stop": max(start, _milliseconds(run.finished_at)),
    }
    head = {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "reportId": str(uuid.UUID(hex=run.key)) if _is_uuid(run.key) else str(uuid.uuid5(uuid.NAMESPACE_URL, run.key)),
        "generatedBy": f"torch-conformance {__version__}",
    }
    yield json.dumps(head, indent=1)[:-2] + ',\n "results": {\n'
    yield f'  "tool": {json.dumps({"name": "torch-conformance", "version": run.harness_version or "unknown"})},\n'
    yield f'  "summary": {json.dumps(summary)},\n'
    yield f'  "environment": {json.dumps(_environment(run))},\n'
    yield '  "tests": [' + ",".join(f"\n   {test}" for test in tests) + "\n  ]\n }\n}\n"


def _test(test: ExportedTest, run: RunRow) -> dict[str, object]:
    row = test.row
    record: dict[str, object] = {
        "name": row.test_id,
        "status": _status(test),
        "duration": round(row.duration_s * 1000),
        "suite": [row.suite, row.file, *([row.class_name] if row.class_name else [])],
        "filePath": row.file,
        "rawStatus": row.outcome.value,
        "device": run.device,
    }
    if row.message or test.reason:
        record["message"] = row.message or test.reason
    if row.details:
        record["trace"] = row.details
    if row.outcome is Outcome.FLAKY:
        record["flaky"] = True
    if row.attempt > 1:
        record["retries"] = row.attempt - 1
    extra = {
        "verdict": test.verdict.value,
        **{name: value for name, value in (("op", row.op), ("module", row.module), ("dtype", row.dtype)) if value},
        **({"entry": row.entry} if row.entry else {}),
        **({"fallback_ops": list(row.fallback_ops)} if row.fallback_ops else {}),
    }
    if test.verdict is not Verdict.AS_EXPECTED or len(extra) > 1:
        record["extra"] = extra
    return record


def _status(test: ExportedTest) -> str:
    if test.status is Status.SKIPPED and test.row.outcome is not Outcome.SKIPPED:
        return "other"
    return test.status.value


def _environment(run: RunRow) -> dict[str, object]:
    return {
        "appName": run.backend or run.device,
        "appVersion": run.backend_version,
        "osPlatform": run.operating_system.partition(" ")[0].lower(),
        "osRelease": run.operating_system.partition(" ")[2],
        "testEnvironment": f"{run.device}{' EMULATED' if run.emulated else ''}",
        "extra": {
            "device": run.device,
            "device_name": run.device_name,
            "emulated": run.emulated,
            "torch": run.torch_version,
            "python": run.python_version,
            "run": run.key,
            "selection": run.selection,
        },
    }


def _milliseconds(moment: str | None) -> int:
    """Return an instant in ISO 8601 as milliseconds since 1970, 0 where it is not known or no instant."""
    try:
        parsed = datetime.fromisoformat((moment or "").replace("Z", "+00:00"))
    except ValueError:
        return 0
    return round((parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)).timestamp() * 1000)


def _is_uuid(key: str) -> bool:
    try:
        uuid.UUID(hex=key)
    except ValueError:
        return False
    return True
