"""Build the page of all tests, one page for each file of tests without a subject, and the page of the slowest."""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import TYPE_CHECKING

from conformance.analysis.repeat import repeat_command
from conformance.publish.breakdowns import by_file
from conformance.publish.changes import subject_of
from conformance.publish.marks import outcome_mark, outcome_rank
from conformance.publish.matrix import ABSENT, shown_code
from conformance.publish.pages import Link
from conformance.publish.pages_subjects import FilePage, ListedTest, SlowestPage, SlowGroup, TestsPage
from conformance.publish.redaction import published_environment
from conformance.publish.tested import split_tests, worst_first
from conformance.publish.wording import counted, duration, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.publish.charts import Tally
    from conformance.publish.context import Site
    from conformance.publish.findings import FileFinding
    from conformance.store import ResultRow

TESTS_SHOWN = 500
_SLOWEST = 100
_GROUPS = 30


def tests_page(site: Site, outcomes: tuple[Tally, ...]) -> TestsPage:
    """Return the page of all tests: the worst of them to be read without a script."""
    findings = site.findings
    worst = heapq.nsmallest(TESTS_SHOWN, _planned(site), key=lambda place: (_rank(site, place), place))
    return TestsPage(
        total=findings.run.planned,
        outcomes=outcomes,
        files=by_file(findings.files) if findings.files else None,
        rows=tuple(_listed(site, place) for place in worst),
        data=("data/tests.js", f"data/run-{findings.run.id}.js"),
    )


def _planned(site: Site) -> Iterable[int]:
    row = site.findings.history.matrix.rows[site.run.id].codes
    return (place for place, byte in enumerate(row) if byte != ABSENT)


def _rank(site: Site, place: int) -> int:
    return outcome_rank(shown_code(site.findings.history.matrix.rows[site.run.id].codes[place]))


def _listed(site: Site, place: int) -> ListedTest:
    matrix = site.findings.history.matrix
    test = matrix.tests[place]
    subject = subject_of(test)
    seconds = site.findings.durations_us[place] / 1e6
    return ListedTest(
        mark=outcome_mark(shown_code(matrix.rows[site.run.id].codes[place])),
        test=Link(test.test_id, site.test_href(test)),
        subject=Link(subject[1], site.findings.links.get(subject, "")) if subject else Link("", ""),
        dtype=test.dtype or "",
        duration=duration(seconds) if seconds else "",
    )


def file_page(site: Site, file: FileFinding, rows: Iterable[ResultRow]) -> FilePage:
    """Return the page of one file of tests that have neither operator nor module."""
    results = sorted(rows, key=worst_first)
    tests, more, plain = split_tests(site, results)
    table = by_file([file])
    run = site.run
    first = results[0] if results else None
    return FilePage(
        file=file.file,
        total=table.rows[0].total,
        row=table.rows[0],
        marks=table.marks,
        tests=tests,
        tests_more=more,
        plain=plain,
        command=repeat_command(
            first.test_id,
            first.suite,
            run.device,
            command=run.command,
            environment=published_environment(run.environment),
        )
        if first
        else "",
    )


def slowest_page(site: Site) -> SlowestPage:
    """Return where the time of the run went."""
    findings = site.findings
    times, tests = findings.durations_us, findings.history.matrix.tests
    total = sum(times)
    by_template: defaultdict[str, list[int]] = defaultdict(list)
    by_subject: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for test, time_us in zip(tests, times, strict=True):
        if time_us:
            by_template[test.template].append(time_us)
            subject = subject_of(test)
            if subject:
                by_subject[subject].append(time_us)
    slowest = heapq.nsmallest(
        _SLOWEST, (place for place in _planned(site) if times[place]), key=lambda place: (-times[place], place)
    )
    return SlowestPage(
        lead=_lead(site, total),
        tests=tuple(_listed(site, place) for place in slowest),
        templates=_groups({Link(name, ""): each for name, each in by_template.items()}, total),
        subjects=_groups(
            {Link(named[1], findings.links.get(named, "")): each for named, each in by_subject.items()}, total
        ),
    )


def _lead(site: Site, total_us: int) -> str:
    if not total_us:
        return "No data: no test of this run has a duration."
    count = sum(1 for time_us in site.findings.durations_us if time_us)
    return (
        f"{counted(count, 'test')} took {duration(total_us / 1e6)} together, setup and teardown included. Workers side "
        "by side make a run shorter than that."
    )


def _groups(times: Mapping[Link, Sequence[int]], total: int) -> tuple[SlowGroup, ...]:
    ordered = sorted(times.items(), key=lambda item: (-sum(item[1]), item[0].text))[:_GROUPS]
    most = max((sum(each) for _, each in ordered), default=0)
    return tuple(
        SlowGroup(
            link=link,
            tests=len(each),
            total=duration(sum(each) / 1e6),
            mean=duration(sum(each) / len(each) / 1e6),
            share=share(sum(each), total),
            width=f"{100 * sum(each) / most:.2f}%",
        )
        for link, each in ordered
    )
