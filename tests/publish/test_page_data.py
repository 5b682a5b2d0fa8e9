from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.publish import all_tests
from conformance.publish.all_tests import slowest_page
from conformance.publish.changed import compare_page
from conformance.publish.context import Site, survey
from conformance.publish.failures import failures_page, shown_failures
from conformance.publish.frame import frame
from conformance.publish.overloads import overloads_page
from conformance.publish.overview import index_page, tallies_of_tests
from conformance.publish.reference import runs_page
from conformance.publish.registered import measured_overloads
from conformance.publish.skiplist import skiplist_page
from conformance.publish.source import read_findings
from conformance.publish.subject import subject_page
from conformance.publish.subject_history import subject_histories
from conformance.publish.subjects import subjects_page
from conformance.store import Database
from tests.publish.golden import check

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conformance.publish.pages_subjects import SubjectPage


@pytest.fixture(scope="module")
def site(series_database: Path) -> Iterator[Site]:
    with Database.open_existing(series_database) as database:
        yield survey(read_findings(database))


def test_the_front_page(site: Site) -> None:
    check("index", index_page(site))


def test_the_frame(site: Site) -> None:
    check("frame", frame(site, section="operators", title="add", path="operators/add.html"))


def test_the_table_of_operators(site: Site) -> None:
    check("operators", subjects_page(site, site.findings.operators, noun="operator"))


def _subject(site: Site, name: str, noun: str = "operator") -> SubjectPage:
    subjects = site.findings.operators if noun == "operator" else site.findings.modules
    (subject,) = (one for one in subjects if one.name == name)
    history = subject_histories(site.findings)[noun, name]
    return subject_page(
        site, subject, site.findings.results_of(subject), history=history, previous=None, following=None
    )


@pytest.mark.parametrize("name", ["linalg.qr", "sin", "argmax", "clamp", "gather"])
def test_an_operator(site: Site, name: str) -> None:
    check(f"operator-{name}", _subject(site, name))


def test_a_module(site: Site) -> None:
    check("module-nn.LSTM", _subject(site, "nn.LSTM", "module"))


def test_the_overloads(site: Site) -> None:
    measured = [each for each in measured_overloads(site.findings) if each.registered or each.tests]
    check("overloads", overloads_page(site, measured))


def test_all_tests(site: Site) -> None:
    page = all_tests.tests_page(site, tallies_of_tests(site.findings))
    check("tests", replace(page, rows=page.rows[:12]))


def test_the_slowest_tests(site: Site) -> None:
    page = slowest_page(site)
    check("slowest", replace(page, tests=page.tests[:5]))


def test_the_failures(site: Site) -> None:
    check("failures", failures_page(site, shown_failures(site)))


def test_the_skiplist(site: Site) -> None:
    check("skiplist", skiplist_page(site))


def test_the_comparison(site: Site) -> None:
    check("compare", compare_page(site))


def test_the_runs(site: Site) -> None:
    check("runs", runs_page(site.findings))
