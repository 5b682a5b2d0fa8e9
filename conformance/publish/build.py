"""Turn the findings of one run into the files of its site; pure, and one page at a time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from conformance.publish import api, badges, feed, plain, tables
from conformance.publish.all_tests import file_page, slowest_page, tests_page
from conformance.publish.changed import compare_page
from conformance.publish.context import Site, survey
from conformance.publish.failures import failures_page, shown_failures
from conformance.publish.findings import MODULE, OPERATOR
from conformance.publish.frame import frame, sections
from conformance.publish.models import models_page
from conformance.publish.overloads import overloads_page
from conformance.publish.overview import index_page, tallies_of_tests
from conformance.publish.pages import HtmlPage, JsonFile, Link, SiteFile, TextFile
from conformance.publish.reference import method_page, runs_page
from conformance.publish.registered import measured_overloads
from conformance.publish.script_data import script_files
from conformance.publish.skiplist import skiplist_page
from conformance.publish.subject import subject_page
from conformance.publish.subject_history import SubjectHistory, subject_histories
from conformance.publish.subjects import subjects_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.publish.findings import Findings


def site_files(findings: Findings, *, address: str = "") -> Iterator[SiteFile]:
    """Yield every file of the site but the static ones, always in the same order.

    ``address`` is where the site will be on the web, with a slash at its end; with it the map for search engines is
    written, and the addresses in the feed are whole.
    """
    site = survey(findings, address=address)
    paths = []
    for file in itertools.chain(_pages(site), _subjects(site), _files(site)):
        paths.append(file.path)
        yield file
    yield from _for_programs(site)
    if address:
        yield plain.map_file(site, ["", *paths])


def _page(site: Site, path: str, template: str, title: str, page: object, section: str = "") -> HtmlPage:
    return HtmlPage(path, template, frame(site, section=section or title.lower(), title=title, path=path), page)


def _pages(site: Site) -> Iterator[HtmlPage]:
    findings = site.findings
    tallies = tallies_of_tests(findings)
    yield _page(site, "index.html", "index.html.j2", "Coverage", index_page(site), "overview")
    for noun, title, subjects in ((OPERATOR, "Operators", findings.operators), (MODULE, "Modules", findings.modules)):
        yield _page(site, f"{noun}s.html", "subjects.html.j2", title, subjects_page(site, subjects, noun=noun))
    yield _page(
        site, "overloads.html", "overloads.html.j2", "Overloads", overloads_page(site, measured_overloads(findings))
    )
    yield _page(site, "models.html", "models.html.j2", "Models", models_page(site))
    yield _page(site, "tests.html", "tests.html.j2", "Tests", tests_page(site, tallies))
    yield _page(site, "slowest.html", "slowest.html.j2", "Slowest tests", slowest_page(site), "tests")
    yield _page(site, "failures.html", "failures.html.j2", "Failures", failures_page(site, shown_failures(site)))
    yield _page(site, "skiplist.html", "skiplist.html.j2", "Skiplist", skiplist_page(site))
    yield _page(site, "compare.html", "compare.html.j2", "Compare", compare_page(site))
    yield _page(site, "runs.html", "runs.html.j2", "Runs", runs_page(findings))
    yield _page(site, "method.html", "method.html.j2", "Method", method_page(site, files_for_programs(site)))


def _subjects(site: Site) -> Iterator[HtmlPage]:
    findings = site.findings
    histories = subject_histories(findings)
    for noun, subjects in ((OPERATOR, findings.operators), (MODULE, findings.modules)):
        for place, subject in enumerate(subjects):
            page = subject_page(
                site,
                subject,
                findings.results_of(subject),
                history=histories.get((noun, subject.name), SubjectHistory()),
                previous=subjects[place - 1] if place else None,
                following=subjects[place + 1] if place + 1 < len(subjects) else None,
            )
            yield _page(site, subject.href, "subject.html.j2", subject.name, page, f"{noun}s")


def _files(site: Site) -> Iterator[HtmlPage]:
    for file in site.findings.files:
        page = file_page(site, file, site.findings.file_results(file.file))
        yield _page(site, file.href, "file.html.j2", file.file, page, "tests")


def files_for_programs(site: Site) -> tuple[tuple[Link, str], ...]:
    """Return the files for programs, with what each is about."""
    known = {
        **api.ABOUT,
        **tables.ABOUT,
        feed.PATH: "an Atom feed of regressions and fixes, one entry a run",
        **badges.ABOUT,
        plain.SUMMARY: "a plain summary",
        **({plain.MAP: "the map for search engines"} if site.address else {}),
    }
    return tuple((Link(path, path), about) for path, about in known.items())


def _for_programs(site: Site) -> Iterator[TextFile | JsonFile]:
    measured = measured_overloads(site.findings)
    yield from api.api_files(site, measured)
    yield from tables.table_files(site, measured)
    yield from script_files(site, measured)
    yield feed.feed_file(site)
    yield from badges.badge_files(site)
    yield plain.summary_file(site, sections(site.findings), files_for_programs(site))
