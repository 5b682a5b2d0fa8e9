"""What a backend reports to PyTorch's Cross-Repository CI Relay (RFC-0050, and RFC-0054 for its limits)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.report.exporting import Status, exported_tests, first_line
from conformance.report.words import outcome_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.report.exporting import Export, ExportedTest

# RFC-0054, "Payload Caps".
BODY_LIMIT = 2_000_000
FAILED_LIMIT = 1_000
MESSAGE_LIMIT = 1_024
STACK_LIMIT = 4_096

# The relay's action hands its inputs on in environment variables, and Linux takes 128 KiB for one (MAX_ARG_STRLEN).
OUTPUT_LIMIT = 120_000


@dataclass(frozen=True, slots=True)
class Relayed:
    """What the relay gets of a run; ``left_out`` is how many failed tests its limits have no room for."""

    conclusion: str
    counts: dict[str, int]
    failed: tuple[dict[str, object], ...]
    left_out: int
    artifact_url: str
    environment: dict[str, str]


def relayed(export: Export, *, conclusion: str, artifact_url: str) -> Relayed:
    """Return the counts of a run, and its failed tests, those that the run fails for first.

    ``conclusion`` is ``success`` or ``failure``: the verdict on the whole run, not whether any test failed.
    """
    counts = dict.fromkeys((status.value for status in Status), 0)
    failed: list[ExportedTest] = []
    for test in exported_tests(export):
        counts[test.status.value] += 1
        if test.status is Status.FAILED:
            failed.append(test)
    failed.sort(key=lambda test: (not test.verdict.is_unexpected, test.row.test_id))
    run = export.run
    environment = {
        "device": f"{run.device_name}{' EMULATED' if run.emulated else ''}",
        "sdk": f"{run.backend} {run.backend_version}".strip(),
        "torch": run.torch_version,
        **dict(run.versions),
    }
    details = tuple(_detail(test) for test in failed[:FAILED_LIMIT])
    return Relayed(conclusion, counts, details, len(failed) - len(details), artifact_url, environment)


def _detail(test: ExportedTest) -> dict[str, object]:
    row = test.row
    name = row.test_id[len(row.file) + 2 + (len(row.class_name) + 2 if row.class_name else 0) :]
    message = first_line(row.message) or f"{test.verdict.words}: {outcome_word(row.outcome)}"
    detail: dict[str, object] = {
        "name": name,
        "classname": f"{row.file}::{row.class_name}" if row.class_name else row.file,
        "message": _cut(message, MESSAGE_LIMIT),
        "duration": round(row.duration_s, 6),
    }
    if row.details:
        detail["stacktrace"] = _cut(row.details, STACK_LIMIT)
    return detail


def _cut(text: str, limit: int) -> str:
    """Return the text in at most so many bytes."""
    data = text.encode("utf-8")
    return text if len(data) <= limit else data[: limit - 3].decode("utf-8", "ignore") + "..."


def relay_document(found: Relayed) -> str:
    """Return the fields of the callback's ``workflow`` as JSON, in less than the relay's limit for a whole body."""
    head: dict[str, object] = {
        "status": "completed",
        "conclusion": found.conclusion,
        "test_results": found.counts,
        "environment": found.environment,
    }
    if found.artifact_url:
        head["artifact_url"] = found.artifact_url
    # The relay adds the event that it answers: a tenth is left for that.
    failed, left_out = _fitting(found, BODY_LIMIT * 9 // 10)
    return json.dumps({**head, "failed_tests": failed, "failed_tests_left_out": left_out}, indent=1) + "\n"


def relay_outputs(found: Relayed) -> str:
    """Return lines for ``$GITHUB_OUTPUT``, named as the inputs of the relay's callback action."""
    failed, _ = _fitting(found, OUTPUT_LIMIT)
    lines = {
        "conclusion": found.conclusion,
        "test-results": json.dumps(found.counts),
        "failed-tests-detail": json.dumps(failed),
        "artifact-url": " ".join(found.artifact_url.split()),
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def _fitting(found: Relayed, limit: int) -> tuple[Sequence[dict[str, object]], int]:
    """Return as many of the failed tests as fit, without their stacks where those take the room; and the rest."""
    failed: Sequence[dict[str, object]] = found.failed
    if len(json.dumps(failed, indent=1)) > limit:
        failed = [{name: value for name, value in test.items() if name != "stacktrace"} for test in failed]
    while failed and len(json.dumps(failed, indent=1)) > limit:
        failed = failed[: len(failed) * 9 // 10]
    return failed, found.left_out + len(found.failed) - len(failed)
