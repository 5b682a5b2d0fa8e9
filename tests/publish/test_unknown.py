from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

from conformance.publish.build import site_files
from conformance.publish.source import read_findings
from conformance.publish.write import write_site
from conformance.store import Database
from tests.publish.reading import page

if TYPE_CHECKING:
    from pathlib import Path


def test_codes_of_a_newer_database_are_loud_on_every_page(sample_database: Path, tmp_path: Path) -> None:
    with Database.open_existing(sample_database) as database:
        findings = read_findings(database, "1")
        first = findings.operators[0]
        strange = dataclasses.replace(first, overall=dataclasses.replace(first.overall, status="quantum"))
        outcome = cast("Any", "tunnelled")
        counts = {**findings.run.counts, outcome: 1}
        run = dataclasses.replace(findings.run, state=cast("Any", "superposed"), counts=counts)
        changed = dataclasses.replace(
            findings,
            operators=(strange, *findings.operators[1:]),
            run=run,
            runs=(run, *findings.runs[1:]),
            results_of=lambda subject: (
                dataclasses.replace(row, outcome=outcome) if subject is strange else row
                for row in findings.results_of(subject)
            ),
        )
        write_site(site_files(changed), tmp_path / "site")
    table = page(tmp_path / "site" / "operators.html").one("table")
    assert table.one("span", class_="mark-unknown").text == "!?unknown: quantum"
    operator = page(tmp_path / "site" / strange.href)
    assert operator.one("span", class_="big").text == "!?unknown: quantum"
    assert "Unknown status" in operator.one("p", class_="lead").text
    assert len(operator.one("table", class_="matrix").all("td", class_="mark-unknown")) == 9
    index = page(tmp_path / "site" / "index.html")
    assert "unknown: tunnelled" in page(tmp_path / "site" / "runs.html").text
    assert "unknown: quantum" in index.text
    assert any("Unknown run state" in notice.text for notice in index.all("p", class_="notice"))
    assert index.one("h1").text.startswith("No coverage figure")
