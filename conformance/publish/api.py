"""Build the two files for programs; their form has a version, and fields are only ever added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.publish.frame import injected_faults
from conformance.publish.marks import OUTCOME_SUMMARY_ORDER, STATUS_ORDER
from conformance.publish.overview import outcome_tallies, status_tallies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.publish.findings import Findings, Standing, Subject
    from conformance.publish.pages import Json

SCHEMA = 1


def run_document(findings: Findings) -> Json:
    """Return the run, its outcomes and how many operators and modules have which status."""
    run = findings.run
    return {
        "schema": SCHEMA,
        "run": {
            "id": run.id,
            "key": run.key,
            "state": str(run.state),
            "created_at": run.created_at,
            "started_at": run.started_at,
            "finished_at": run.finished_at,
            "device": run.device,
            "device_name": run.device_name,
            "emulated": run.emulated,
            "torch_version": run.torch_version,
            "backend": run.backend,
            "backend_version": run.backend_version,
            "harness_version": run.harness_version,
            "python_version": run.python_version,
            "suites": list(run.suites),
            "selection": run.selection,
            "probe": run.probe,
            "injected_faults": injected_faults(run),
        },
        "tests": {
            "planned": run.planned,
            "outcomes": dict.fromkeys(OUTCOME_SUMMARY_ORDER, 0)
            | {tally.mark.code: tally.count for tally in outcome_tallies(run)},
        },
        "operators": _totals(findings.operators),
        "modules": _totals(findings.modules),
    }


def operators_document(findings: Findings) -> Json:
    """Return every operator of the inventory with its status, over all and for each dtype."""
    return {
        "schema": SCHEMA,
        "run": findings.run.key,
        "device": findings.run.device,
        "emulated": findings.run.emulated,
        "fallback_observed": findings.fallback_observed,
        "operators": [_operator(operator) for operator in findings.operators],
    }


def _totals(subjects: Sequence[Subject]) -> Json:
    statuses = {tally.mark.code: tally.count for tally in status_tallies(subjects)}
    return {"total": len(subjects), "statuses": dict.fromkeys(STATUS_ORDER, 0) | statuses}


def _operator(operator: Subject) -> Json:
    return {
        "name": operator.name,
        "aten_name": operator.aten_name,
        "group": operator.group,
        "page": operator.href,
        **_standing(operator.overall),
        "fallback_ops": list(operator.overall.overloads),
        "dtypes": {
            dtype: {"declared": dtype in operator.dtypes, **_standing(standing)}
            for dtype, standing in sorted(operator.by_dtype.items())
        },
    }


def _standing(standing: Standing) -> dict[str, Json]:
    return {
        "status": standing.status,
        "planned": standing.planned,
        "passed": standing.passed,
        "failed": standing.failed,
        "skipped": standing.skipped,
        "xfailed": standing.xfailed,
        "crashed": standing.crashed,
        "not_run": standing.not_run,
        "flaky": standing.flaky,
        "fallback": standing.fallback,
    }
