"""Turn the findings of one run into the files of its site; pure, and one page at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.publish.api import operators_document, run_document
from conformance.publish.failures import failures_page, shown_failures
from conformance.publish.findings import MODULE, OPERATOR, Findings
from conformance.publish.frame import frame
from conformance.publish.overview import index_page
from conformance.publish.pages import HtmlPage, JsonFile, SiteFile
from conformance.publish.reference import method_page, runs_page
from conformance.publish.subject import subject_page
from conformance.publish.subjects import subjects_page
from conformance.publish.tested import tests_page, worst_others

if TYPE_CHECKING:
    from collections.abc import Iterator


def site_files(findings: Findings) -> Iterator[SiteFile]:
    """Yield every file of the site but the static ones, always in the same order."""
    others = worst_others(findings)
    groups = shown_failures(findings, {row.test_id for row in others})
    yield HtmlPage(
        "index.html",
        "index.html.j2",
        frame(findings, section="overview", title="Coverage"),
        index_page(findings, groups),
    )
    yield HtmlPage(
        "failures.html",
        "failures.html.j2",
        frame(findings, section="failures", title="Failures"),
        failures_page(groups),
    )
    if findings.files:
        yield HtmlPage(
            "tests.html",
            "tests.html.j2",
            frame(findings, section="tests", title="Tests"),
            tests_page(findings, others),
        )
    for noun, title in ((OPERATOR, "Operators"), (MODULE, "Modules")):
        yield from _subject_files(findings, noun=noun, title=title)
    yield HtmlPage("runs.html", "runs.html.j2", frame(findings, section="runs", title="Runs"), runs_page(findings))
    yield HtmlPage(
        "method.html", "method.html.j2", frame(findings, section="method", title="Method"), method_page(findings)
    )
    yield JsonFile("api/run.json", run_document(findings))
    yield JsonFile("api/operators.json", operators_document(findings))


def _subject_files(findings: Findings, *, noun: str, title: str) -> Iterator[SiteFile]:
    section = f"{noun}s"
    subjects = findings.operators if noun == OPERATOR else findings.modules
    yield HtmlPage(
        f"{section}.html",
        "subjects.html.j2",
        frame(findings, section=section, title=title),
        subjects_page(findings, subjects, noun=noun),
    )
    for place, subject in enumerate(subjects):
        yield HtmlPage(
            subject.href,
            "subject.html.j2",
            frame(findings, section=section, title=subject.name, depth=1),
            subject_page(
                findings,
                subject,
                findings.results_of(subject),
                previous=subjects[place - 1] if place else None,
                following=subjects[place + 1] if place + 1 < len(subjects) else None,
            ),
        )
