"""Build the JSON files for programs; their form has a version, and fields are only ever added to it.

``docs/api.md`` describes every file and field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.operator import OperatorStatus
from conformance.publish.changed import changed_subjects
from conformance.publish.changes import CHANGES
from conformance.publish.choice import is_whole
from conformance.publish.compiled import compiled_fields, compiled_run_fields
from conformance.publish.frame import injected_faults
from conformance.publish.listed import entry_state, whole_list
from conformance.publish.marks import OUTCOME_SUMMARY_ORDER, STATUS_ORDER
from conformance.publish.models_document import models_fields
from conformance.publish.overview import outcome_tallies, status_tallies
from conformance.publish.pages import JsonFile
from conformance.publish.redaction import without_local_paths
from conformance.publish.trend import coverage_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.publish.context import Site
    from conformance.publish.findings import Findings, Standing, Subject
    from conformance.publish.listed import ListedCounts
    from conformance.publish.pages import Json
    from conformance.publish.registered import Measured
    from conformance.store import RunRow

SCHEMA = 1

# What each file is about, in the order of the list of files.
ABOUT: Mapping[str, str] = {
    "api/index.json": "this list",
    "api/run.json": "the run, its outcomes, how many operators and modules have which status",
    "api/operators.json": "every operator with its status, over all and for each dtype",
    "api/modules.json": "every module likewise",
    "api/overloads.json": "every ATen overload: what is registered, what tests saw",
    "api/models.json": "every architecture: which run as they are, what keeps the others from it",
    "api/failures.json": "the failures by signature",
    "api/causes.json": "what to fix, in the order in which it makes most operators native",
    "api/changes.json": "what changed since the run before",
    "api/skiplist.json": "the skiplist in force, entry by entry, and its burn-down",
    "api/runs.json": "all runs of the database",
}


def api_files(site: Site, measured: Sequence[Measured]) -> Iterator[JsonFile]:
    """Yield every file under api/."""
    documents = {
        "api/index.json": index_document(site),
        "api/run.json": run_document(site.findings),
        "api/operators.json": subjects_document(site, site.findings.operators, "operators"),
        "api/modules.json": subjects_document(site, site.findings.modules, "modules"),
        "api/overloads.json": overloads_document(site, measured),
        "api/models.json": models_document(site),
        "api/failures.json": failures_document(site),
        "api/causes.json": causes_document(site),
        "api/changes.json": changes_document(site),
        "api/skiplist.json": skiplist_document(site),
        "api/runs.json": runs_document(site),
    }
    for path in ABOUT:
        yield JsonFile(path, documents[path])


def _head(site: Site) -> dict[str, Json]:
    """Return what every file starts with: its form, and whether its figures are of a real device and a whole run."""
    run = site.run
    return {
        "schema": SCHEMA,
        "run": run.key,
        "device": run.device,
        "emulated": run.emulated,
        "complete": site.findings.whole,
        "fallback_observed": site.findings.fallback_observed,
    }


def index_document(site: Site) -> Json:
    """Return the list of files for programs."""
    return {**_head(site), "files": [{"path": path, "about": about} for path, about in ABOUT.items()]}


def run_document(findings: Findings) -> Json:
    """Return the run, its outcomes and how many operators and modules have which status."""
    run = findings.run
    return {
        "schema": SCHEMA,
        "run": _run(run),
        "tests": {
            "planned": run.planned,
            "outcomes": dict.fromkeys(OUTCOME_SUMMARY_ORDER, 0)
            | {tally.mark.code: tally.count for tally in outcome_tallies(run)},
        },
        "operators": _totals(findings.operators),
        "modules": _totals(findings.modules),
    }


def _run(run: RunRow) -> Json:
    return {
        "id": run.id,
        "key": run.key,
        "state": str(run.state),
        "complete": is_whole(run),
        "shard": run.shard,
        "shards": run.shards,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "device": run.device,
        "device_name": run.device_name,
        "emulated": run.emulated,
        "torch_version": run.torch_version,
        "backend": run.backend,
        "backend_version": run.backend_version,
        "versions": dict(run.versions),
        "harness_version": run.harness_version,
        "python_version": run.python_version,
        "suites": list(run.suites),
        "selection": without_local_paths(run.selection),
        "skiplist": without_local_paths(run.skiplist),
        "probe": run.probe,
        "injected_faults": injected_faults(run),
    }


def subjects_document(site: Site, subjects: Sequence[Subject], plural: str) -> Json:
    """Return every operator, or module, of the inventory with its status, over all and for each dtype."""
    return {
        **_head(site),
        "compiled_run": compiled_run_fields(site, plural.removesuffix("s")),
        plural: [_subject(site, subject) for subject in subjects],
    }


def _totals(subjects: Sequence[Subject]) -> Json:
    statuses = {tally.mark.code: tally.count for tally in status_tallies(subjects)}
    return {"total": len(subjects), "statuses": dict.fromkeys(STATUS_ORDER, 0) | statuses}


def _subject(site: Site, subject: Subject) -> Json:
    return {
        "name": subject.name,
        **({"aten_name": subject.aten_name, "group": subject.group} if subject.noun == "operator" else {}),
        "page": subject.href,
        **_standing(subject.overall),
        "fallback_ops": list(subject.overall.overloads),
        "dtypes": {
            dtype: {"declared": dtype in subject.dtypes, **_standing(standing)}
            for dtype, standing in sorted(subject.by_dtype.items())
        },
        **compiled_fields(site, subject),
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


def overloads_document(site: Site, measured: Sequence[Measured]) -> Json:
    """Return every overload; what is not known is null."""
    return {
        **_head(site),
        "registrations_recorded": bool(site.findings.registered),
        "overloads": [
            {
                "name": each.overload,
                "core": each.core,
                "registered": each.registered or None,
                "measured": each.measured.code,
                "tests_on_cpu": each.tests,
                "operators": list(each.operators),
                "blocks": list(each.callers.blocked) if each.callers else None,
                "called_by": [*each.callers.blocked, *each.callers.others] if each.callers else None,
            }
            for each in measured
        ],
    }


def models_document(site: Site) -> Json:
    """Return the architectures of the run, or of the newest run of its device that has results of any."""
    return {**_head(site), **models_fields(site)}


def failures_document(site: Site) -> Json:
    """Return the failures by signature, the most frequent first."""
    return {
        **_head(site),
        "failures": [
            {
                "signature": group.signature,
                "outcome": str(group.outcome),
                "tests": group.tests,
                "operators": list(group.operators),
                "modules": list(group.modules),
                "first": group.example,
                "message": without_local_paths(group.message),
                "page": site.href_of(group.example),
            }
            for group in site.groups
        ],
    }


def causes_document(site: Site) -> Json:
    """Return all causes in the order in which to fix them."""
    return {
        **_head(site),
        "causes": [
            {
                "kind": cause.kind,
                "title": cause.title,
                "outcome": cause.outcome or None,
                "tests": cause.tests,
                "concerned": [{"noun": noun, "name": name} for noun, name in cause.subjects],
                "alone": [{"noun": noun, "name": name} for noun, name in cause.alone],
                "architectures": None if cause.architectures is None else list(cause.architectures),
            }
            for cause in site.causes
        ],
    }


def changes_document(site: Site) -> Json:
    """Return what changed since the run before; ``before`` is null where there is none to hold it against."""
    history = site.findings.history
    step = history.last_step
    if step is None or step.after != site.run.id:
        return {
            **_head(site),
            "before": None,
            "counts": dict.fromkeys(map(str, CHANGES), 0),
            "subjects": [],
            "tests": [],
        }
    return {
        **_head(site),
        "before": history.run(step.before).key,
        "counts": {change.value: step.counts.get(change, 0) for change in CHANGES},
        "subjects": [
            {"name": each.link.text, "page": each.link.href, "before": each.before.code, "after": each.after.code}
            for each in changed_subjects(site, step.before, step.after)
        ],
        "tests": [
            {
                "test_id": history.matrix.tests[each.place].test_id,
                "change": each.change.value,
                "before": each.before or None,
                "after": each.after or None,
            }
            for each in step.changes
        ],
    }


def skiplist_document(site: Site) -> Json:
    """Return the entries in force and the burn-down over the runs of the series."""
    findings = site.findings
    whole = whole_list(each.counts for each in findings.entries)
    return {
        **_head(site),
        "skiplist": without_local_paths(site.run.skiplist),
        "listed": _listed(whole),
        "burn_down": [
            {
                "run": point.run_id,
                "entries": point.entries,
                **_listed(point.counts),
            }
            for point in findings.history.listed
        ],
        "entries": [
            {
                "id": each.entry.entry_id,
                "expect": each.entry.expect,
                "category": each.entry.category,
                "reason": without_local_paths(each.entry.reason),
                "link": each.entry.link,
                "owner": each.entry.owner,
                "added": each.entry.added or None,
                "expires": each.entry.expires or None,
                "guess": each.entry.guess,
                **_listed(each.counts),
                "state": entry_state(each.counts),
            }
            for each in findings.entries
        ],
    }


def _listed(counts: ListedCounts) -> dict[str, Json]:
    return {
        "tests": counts.tests,
        "holding": counts.holding,
        "improved": counts.improved,
        "passing": counts.passing,
        "unseen": counts.unseen,
    }


def runs_document(site: Site) -> Json:
    """Return every run with its outcomes; those of the series with the statuses of its operators too."""
    findings = site.findings
    series = {run.id for run in findings.history.series}
    return {
        **_head(site),
        "runs": [
            {
                **dict(_items(_run(run))),
                "planned": run.planned,
                "outcomes": {str(outcome): count for outcome, count in run.counts.items()},
                "series": run.id in series,
                "operators": _statuses(findings, run.id) if run.id in series else None,
            }
            for run in findings.runs
        ],
    }


def _statuses(findings: Findings, run_id: int) -> Json:
    counts = coverage_counts(findings, run_id)
    return {str(status): counts[status.value] for status in OperatorStatus}


def _items(document: Json) -> Mapping[str, Json]:
    assert isinstance(document, dict)
    return document
