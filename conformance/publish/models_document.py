"""The file for programs about architectures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.operator import OperatorStatus
from conformance.publish.architectures import architecture_link
from conformance.publish.choice import is_whole
from conformance.publish.redaction import without_local_paths

if TYPE_CHECKING:
    from conformance.analysis.architectures import Architecture, Hindrance, Phase
    from conformance.publish.context import Site
    from conformance.publish.pages import Json


def models_fields(site: Site) -> dict[str, Json]:
    """Return what follows the head of the file; all of it is null where no run has a result of an architecture."""
    finding = site.findings.models
    if finding is None:
        names = ("models_run", "total", "as_is", "statuses", "phases", "record", "architectures", "hindrances")
        return dict.fromkeys(names)
    found = finding.found
    return {
        "models_run": {
            "key": finding.run.key,
            "complete": is_whole(finding.run),
            "selection": without_local_paths(finding.run.selection),
            "torch_version": finding.run.torch_version,
            "probe": finding.run.probe,
        },
        "total": finding.total,
        "as_is": found.as_is,
        "statuses": {str(status): found.count(status) for status in OperatorStatus},
        "phases": list(found.phases),
        "record": found.record or None,
        "architectures": [_architecture(each, found.phases, observed=found.observed) for each in found.items],
        "hindrances": [_hindrance(each) for each in found.hindrances],
    }


def _architecture(each: Architecture, names: tuple[str, ...], *, observed: bool) -> Json:
    return {
        "name": each.name,
        "page": architecture_link(each.name).href,
        "status": str(each.status),
        "as_is": each.as_is,
        "blocked_by": list(each.blockers),
        "fallback_ops": list(each.fallback) if observed else None,
        "reason": without_local_paths(each.reason),
        "tests": [_test(each.phases[name]) for name in names if name in each.phases],
    }


def _test(phase: Phase) -> Json:
    return {
        "phase": phase.name,
        "test_id": phase.test_id,
        "outcome": str(phase.outcome),
        "fallback_ops": None if phase.fallback is None else list(phase.fallback),
        "blocked_by": list(phase.blamed) if phase.failed else None,
        "signature": phase.signature,
        "message": without_local_paths(phase.message),
    }


def _hindrance(each: Hindrance) -> Json:
    return {
        "kind": each.kind,
        "title": each.name,
        "outcome": each.outcome or None,
        "blocks": list(each.blocks),
        "alone": list(each.alone),
        "on_cpu": list(each.on_cpu),
    }
