"""Show what changed between two runs: operators whose status differs, tests whose outcome does."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from conformance.analysis.compare import Change
from conformance.publish.changes import CHANGES
from conformance.publish.choice import FAULTS
from conformance.publish.findings import MODULE, OPERATOR
from conformance.publish.marks import STATUS_ORDER, Mark, outcome_mark, status_mark
from conformance.publish.matrix import subject_statuses
from conformance.publish.pages import Link
from conformance.publish.pages_overview import ChangeCount, Changes, SubjectChange
from conformance.publish.pages_runs import ChangedTest, ChangedTests, ComparePage, Comparison, Difference, RunChoice
from conformance.publish.redaction import without_local_paths
from conformance.publish.trend import run_name
from conformance.publish.wording import counted, number

if TYPE_CHECKING:
    from conformance.publish.changes import Step, TestChange
    from conformance.publish.context import Site
    from conformance.store import RunRow

_TESTS_LISTED = 200
_SUBJECTS_ON_FRONT = 6

# Arrows tell better from worse where colours do not.
_LOOKS = {
    Change.LOST: ("?", "untested"),
    Change.REGRESSED: ("\u25bc", "failing"),
    Change.NEW_FALLBACK: ("\u25bc", "fallback"),
    Change.NO_LONGER_RUN: ("\u25bd", "skipped"),
    Change.REMOVED: ("\u2212", "skipped"),
    Change.CHANGED: ("\u2194", "skipped"),
    Change.ADDED: ("+", "partial"),
    Change.FOUND: ("\u25b3", "partial"),
    Change.NOW_RUN: ("\u25b3", "partial"),
    Change.IMPROVED: ("\u25b2", "partial"),
    Change.VANISHED_FALLBACK: ("\u25b2", "native"),
    Change.FIXED: ("\u25b2", "native"),
}


def change_mark(change: Change) -> Mark:
    """Return how a change looks."""
    letter, shade = _LOOKS[change]
    return Mark(change.value, change.words, letter, shade, change.definition)


def front_changes(site: Site) -> Changes:
    """Return what the front page says about the run before."""
    step = site.findings.history.last_step
    if step is None or step.after != site.run.id:
        return Changes(_no_earlier_run(site), (), (), 0, (), 0)
    counts = tuple(
        ChangeCount(change_mark(change), tests, f"compare.html#c-{change.value}")
        for change, tests in step.counts.items()
    )
    subjects = changed_subjects(site, step.before, step.after)
    worse = tuple(each for each in subjects if is_worse(each))
    better = tuple(each for each in subjects if is_better(each))
    return Changes(
        sentence=_sentence(site, step),
        counts=counts,
        worse=worse[:_SUBJECTS_ON_FRONT],
        worse_more=max(len(worse) - _SUBJECTS_ON_FRONT, 0),
        better=better[:_SUBJECTS_ON_FRONT],
        better_more=max(len(better) - _SUBJECTS_ON_FRONT, 0),
    )


def _no_earlier_run(site: Site) -> str:
    if not site.findings.whole:
        return "The run is not complete: it is held against no other."
    return "No data: the database has no earlier complete run of the same device, suites and selection."


def _sentence(site: Site, step: Step) -> str:
    before = run_name(site.findings.history.run(step.before))
    if not step.changes:
        return f"No test has another outcome than in run {before}."
    failing = f" {number(step.added_failing)} of the added ones fail." if step.added_failing else ""
    return f"{counted(len(step.changes), 'test')} changed since run {before}.{failing}"


def is_worse(change: SubjectChange) -> bool:
    """Tell whether a status has become a graver one; one that was or is unknown, skipped or untested is neither."""
    places = _places(change)
    return places is not None and places[1] > places[0]


def is_better(change: SubjectChange) -> bool:
    """Tell whether a status has become a better one."""
    places = _places(change)
    return places is not None and places[1] < places[0]


# The statuses that say how well something works, from the best to the worst.
_RANKED = STATUS_ORDER[: STATUS_ORDER.index("crashing") + 1]


def _places(change: SubjectChange) -> tuple[int, int] | None:
    if change.before.code not in _RANKED or change.after.code not in _RANKED:
        return None
    return _RANKED.index(change.before.code), _RANKED.index(change.after.code)


def changed_subjects(site: Site, before: int, after: int) -> tuple[SubjectChange, ...]:
    """Return the operators and modules whose status differs between two runs of the matrix, the worse ones first."""
    matrix = site.findings.history.matrix
    found = []
    for noun in (OPERATOR, MODULE):
        old, new = (subject_statuses(matrix, run_id, noun) for run_id in (before, after))
        for name in sorted({*old, *new}):
            was, became = str(old.get(name, "untested")), str(new.get(name, "untested"))
            if was != became:
                link = Link(name, site.findings.links.get((noun, name), ""))
                found.append(SubjectChange(link, status_mark(was, noun), status_mark(became, noun)))
    return tuple(
        sorted(found, key=lambda each: (0 if is_worse(each) else 1 if is_better(each) else 2, each.link.text.lower()))
    )


def compare_page(site: Site) -> ComparePage:
    """Return the page that holds the last run against the one before, and offers all others."""
    history = site.findings.history
    step = history.last_step
    shown = step is not None and step.after == site.run.id
    return ComparePage(
        comparison=comparison(site, step) if step is not None and shown else None,
        nothing="" if shown else _no_earlier_run(site),
        runs=tuple(_choice(run) for run in reversed(history.selectable)),
        data=("data/tests.js", *(f"data/run-{run.id}.js" for run in history.selectable)),
    )


def _choice(run: RunRow) -> RunChoice:
    emulated = " EMULATED" if run.emulated else ""
    state = "" if str(run.state) == "complete" and run.shard is None else f", {run.state}"
    shard = f" shard {run.shard} of {run.shards}" if run.shard else ""
    selection = f", {without_local_paths(run.selection)}" if run.selection else ""
    about = f"{run.device}{emulated}, torch {run.torch_version}{state}{shard}{selection}"
    return RunChoice(run.id, f"{run_name(run)}: {about}")


def comparison(site: Site, step: Step) -> Comparison:
    """Return one step in full."""
    history = site.findings.history
    before, after = history.run(step.before), history.run(step.after)
    by_change: defaultdict[Change, list[TestChange]] = defaultdict(list)
    for each in step.changes:
        by_change[each.change].append(each)
    return Comparison(
        before=_choice(before),
        after=_choice(after),
        sentence=_sentence(site, step),
        differences=differences(before, after),
        subjects=changed_subjects(site, step.before, step.after),
        groups=tuple(
            ChangedTests(
                anchor=f"c-{change.value}",
                mark=change_mark(change),
                tests=tuple(_changed_test(site, each) for each in by_change[change][:_TESTS_LISTED]),
                more=max(len(by_change[change]) - _TESTS_LISTED, 0),
            )
            for change in CHANGES
            if by_change[change]
        ),
    )


def _changed_test(site: Site, each: TestChange) -> ChangedTest:
    test = site.findings.history.matrix.tests[each.place]
    href = site.test_href(test) if each.after else ""
    return ChangedTest(Link(test.test_id, href), planned_mark(each.before), planned_mark(each.after))


NOT_PLANNED = Mark("not_planned", "not planned", "\u00b7", "none", "The run did not plan this test.")


def planned_mark(code: str) -> Mark:
    """Return how an outcome looks, or that there was no such test."""
    return outcome_mark(code) if code else NOT_PLANNED


def run_facts_of(run: RunRow) -> dict[str, str]:
    """Return what may explain that two runs differ; a value that is not known is empty."""
    return {
        "Device": f"{run.device}{' EMULATED' if run.emulated else ''}",
        "Device name": run.device_name,
        "torch": run.torch_version,
        "Backend": f"{run.backend} {run.backend_version}".strip(),
        **dict(run.versions),
        "Harness": run.harness_version,
        "Python": run.python_version,
        "System": run.operating_system,
        "Suites": ", ".join(run.suites),
        "Selection": without_local_paths(run.selection),
        "Skiplist": without_local_paths(run.skiplist),
        "Injected faults": run.environment.get(FAULTS, "").strip(),
        "Fallbacks seen by": run.probe,
        "State": str(run.state),
        "Planned tests": number(run.planned),
    }


def differences(before: RunRow, after: RunRow) -> tuple[Difference, ...]:
    """Return the facts that differ between two runs."""
    old, new = run_facts_of(before), run_facts_of(after)
    return tuple(
        Difference(name, old.get(name, "") or "none", new.get(name, "") or "none")
        for name in dict.fromkeys((*old, *new))
        if old.get(name, "") != new.get(name, "")
    )
