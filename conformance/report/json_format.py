"""A report as JSON, for scripts.

The document is one object with sorted keys, in ASCII, ended by a newline. ``schema`` is 1: keys may be added under that
number, but none is removed, renamed or given another meaning. All keys are always there. Times are UTC in ISO 8601, or
null before they are known.

``schema``
    The number 1.
``run``
    ``id`` (in this database), ``key`` (unique across machines), ``state``, ``created_at``, ``started_at``,
    ``finished_at``, ``suites`` (list), ``device``, ``device_name``, ``emulated`` (boolean), ``torch_version``,
    ``backend``, ``backend_version``, ``harness_version``, ``python_version``, ``host``, ``operating_system``,
    ``command``, ``selection`` (empty: everything), ``probe`` (empty: nobody looked for fallbacks), ``seed``,
    ``environment`` (object of strings).
``notes``
    List of ``kind`` (``emulated``, ``incomplete``, ``selection``, ``unobserved``) and ``text``: what has to be known
    before reading any number.
``tests``
    A tally of the whole run. A tally has ``planned``; ``outcomes``, each outcome with its number of tests, adding up to
    ``planned``; and ``fell_back``, the number of tests in whose window something ran on the CPU, null where no probe
    looked. Tests without a result count as ``not_run``, in a run that still goes on too.
``templates``, ``groups``
    ``rows``: tallies with a ``key`` (empty for tests that have none), most failures first; ``hidden``: how many
    rows ``--top`` left out, never 1, here and below; ``rest``: the tally of those, or null.
``operators``, ``modules``
    ``statuses``: how many have each status; ``total``: their sum; ``declared``: the size of the inventory, smaller
    than ``total`` where tests name more, and 0 where the run has none. A total of 0 means that there is no data.
``by_dtype``
    Where the run tests at most ten operators and modules, each of them, and else an empty list: ``noun`` (``operator``
    or ``module``), ``name``, ``status``, and ``dtypes``: each status that occurs with a list of dtypes.
``fallbacks``
    Those of operators (or modules) under test: ``rows``: ``overload``, ``tests``, ``operators`` (list of names), most
    tests first; ``hidden``. ``without_operator``: the tests that have none: ``tests``, in how many of them anything ran
    on the CPU, null where no probe looked; ``rows`` of ``overload`` and ``tests``; ``hidden``.
``failures``
    ``tests``: how many tests failed in any way; ``rows``, one for each signature, most tests first: ``signature``
    (empty: no text), ``tests``, ``outcomes``, ``operators`` and ``modules`` (how many), and of the first test
    ``test_id``, ``outcome``, ``message``, ``sample`` (the first that failed), ``samples`` and ``samples_passed`` (how
    many; null: not counted), ``frames`` (of a process that died the innermost
    three, the latest call first; of an exception the one that raised it), ``repeat`` (the command that
    runs it again); ``hidden``.
``skips``
    ``rows``, one for each reason, most tests first: ``by`` (``skiplist``, or ``test``: PyTorch's own decorators and
    SkipTest), ``reason``, ``tests``, and of one of them ``test_id``; ``hidden``.
``compiled``
    What torch.compile did; empty lists where the run has no such test. ``rows``, one for each suite and template:
    ``suite``, ``template`` (``compile`` or ``compile_dynamic``), ``planned`` tests, of which ``passed``, ``failed`` (in
    any way) and ``others`` add up to it; ``in_eager``: how many of those that passed compiled no graph; ``compiled``:
    how many have numbers, and over these the sums ``graphs``, ``breaks``, ``recompilations``, the median compile time
    ``median_s`` in seconds, and the highest memory peak ``peak_bytes``, each null where nobody could tell.
    ``subjects``, one for each operator and module with such a test: ``noun``, ``name``, and its statuses ``eager``,
    ``compile`` and ``dynamic``, null where it has no test of that mode; ``compile_graphs`` and ``dynamic_graphs``: how
    many graphs were compiled, 0 where all was left to eager mode, null where there are no numbers.
``lost``
    ``total``: planned tests that had no result when the run ended; ``test_ids``; ``hidden``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias, Union

from conformance.model.compilation import CompileMode
from conformance.report.rows import shown
from conformance.report.words import outcome_word, status_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.model.outcome import Outcome
    from conformance.report.compiled import Compiled
    from conformance.report.failures import FailureGroup
    from conformance.report.fallbacks import Fallbacks
    from conformance.report.findings import RunFindings, Tally, TallyTable
    from conformance.report.skips import SkipReason
    from conformance.report.statuses import StatusCounts, SubjectStatus
    from conformance.store import RunRow

SCHEMA = 1

Json: TypeAlias = Union["dict[str, Json]", "list[Json]", str, int, float, bool, None]


def render_json(findings: RunFindings) -> str:
    """Return the report as JSON text."""
    return json.dumps(document(findings), indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"


def document(findings: RunFindings) -> dict[str, Json]:
    """Return the report as the object that this module's docstring describes."""
    return {
        "schema": SCHEMA,
        "run": _run(findings.run),
        "notes": [{"kind": note.kind.value, "text": note.text} for note in findings.notes],
        "tests": _tally(findings.whole),
        "templates": _table(findings.templates),
        "groups": _table(findings.groups),
        "operators": _statuses(findings.operators),
        "modules": _statuses(findings.modules),
        "by_dtype": [_subject(subject) for subject in findings.by_dtype],
        "fallbacks": _fallbacks(findings.fallbacks, findings.limit),
        "failures": {
            "tests": findings.failed_tests,
            "rows": [_failure(group) for group in findings.failures],
            "hidden": findings.failures_total - len(findings.failures),
        },
        "skips": _skips(findings.skips, findings.limit),
        "compiled": _compiled(findings.compiled),
        "lost": {
            "total": findings.lost_total,
            "test_ids": list(findings.lost),
            "hidden": findings.lost_total - len(findings.lost),
        },
    }


def _run(run: RunRow) -> dict[str, Json]:
    return {
        "id": run.id,
        "key": run.key,
        "state": run.state.value,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "suites": list(run.suites),
        "device": run.device,
        "device_name": run.device_name,
        "emulated": run.emulated,
        "torch_version": run.torch_version,
        "backend": run.backend,
        "backend_version": run.backend_version,
        "harness_version": run.harness_version,
        "python_version": run.python_version,
        "host": run.host,
        "operating_system": run.operating_system,
        "command": run.command,
        "selection": run.selection,
        "probe": run.probe,
        "seed": run.seed,
        "environment": dict(run.environment),
    }


def _tally(tally: Tally) -> dict[str, Json]:
    return {
        "planned": tally.planned,
        "outcomes": _outcomes(tally.counts),
        "fell_back": tally.fell_back,
    }


def _table(table: TallyTable) -> dict[str, Json]:
    return {
        "rows": [{"key": tally.key, **_tally(tally)} for tally in table.rows],
        "hidden": table.hidden,
        "rest": _tally(table.rest) if table.rest else None,
    }


def _statuses(statuses: StatusCounts) -> dict[str, Json]:
    counts: dict[str, Json] = {status_word(status): count for status, count in statuses.counts.items()}
    return {"total": statuses.total, "declared": statuses.declared, "statuses": counts}


def _subject(subject: SubjectStatus) -> dict[str, Json]:
    return {
        "noun": subject.noun,
        "name": subject.name,
        "status": status_word(subject.status),
        "dtypes": {status_word(status): list(dtypes) for status, dtypes in subject.dtypes.items()},
    }


def _fallbacks(fallbacks: Fallbacks | None, limit: int | None) -> dict[str, Json]:
    every = fallbacks.overloads if fallbacks else ()
    others = fallbacks.other_overloads if fallbacks else ()
    rows, other_rows = shown(every, limit), shown(others, limit)
    return {
        "rows": [{"overload": row.overload, "tests": row.tests, "operators": list(row.operators)} for row in rows],
        "hidden": len(every) - len(rows),
        "without_operator": {
            "tests": fallbacks.in_others if fallbacks else None,
            "rows": [{"overload": row.overload, "tests": row.tests} for row in other_rows],
            "hidden": len(others) - len(other_rows),
        },
    }


def _skips(skips: Sequence[SkipReason], limit: int | None) -> dict[str, Json]:
    rows = shown(skips, limit)
    return {
        "rows": [
            {"by": row.by.value, "reason": row.reason, "tests": row.tests, "test_id": row.test_id} for row in rows
        ],
        "hidden": len(skips) - len(rows),
    }


def _compiled(compiled: Compiled) -> dict[str, Json]:
    return {
        "rows": [
            {
                "suite": row.suite,
                "template": row.template,
                "planned": row.planned,
                "passed": row.passed,
                "failed": row.failed,
                "others": row.others,
                "in_eager": row.in_eager,
                "compiled": row.compiled,
                "graphs": row.graphs,
                "breaks": row.breaks,
                "recompilations": row.recompilations,
                "median_s": None if row.median_s is None else round(row.median_s, 6),
                "peak_bytes": row.peak_bytes,
            }
            for row in compiled.tallies
        ],
        "subjects": [
            {
                "noun": one.noun,
                "name": one.name,
                "eager": one.eager.value,
                **{mode.value: one.modes[mode].value if mode in one.modes else None for mode in CompileMode},
                **{f"{mode.value}_graphs": one.graphs.get(mode) for mode in CompileMode},
            }
            for one in compiled.subjects
        ],
    }


def _failure(group: FailureGroup) -> dict[str, Json]:
    return {
        "signature": group.signature,
        "tests": group.tests,
        "outcomes": _outcomes(group.counts),
        "operators": group.operators,
        "modules": group.modules,
        "test_id": group.test_id,
        "outcome": group.outcome.value,
        "message": group.message,
        "sample": group.sample,
        "samples": group.samples,
        "samples_passed": group.samples_passed,
        "frames": list(group.frames),
        "repeat": group.repeat,
    }


def _outcomes(counts: Mapping[Outcome, int]) -> dict[str, Json]:
    for outcome in counts:
        outcome_word(outcome)
    return {outcome.value: count for outcome, count in counts.items()}
