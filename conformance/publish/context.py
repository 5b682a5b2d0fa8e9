"""What is worked out once for all pages: causes, failures, where each test stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.analysis.groups import failure_groups
from conformance.model.overload import Phase
from conformance.publish.architectures import by_operator
from conformance.publish.causes import Blame, Cause, ranked_causes
from conformance.publish.changes import bad_since
from conformance.publish.registered import reached_phases
from conformance.publish.slugs import anchor, hashed_anchor
from conformance.publish.trend import run_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.analysis.groups import FailureGroup as Group
    from conformance.publish.architectures import Callers
    from conformance.publish.findings import Findings
    from conformance.publish.matrix import TestKey
    from conformance.store import RunRow


@dataclass(frozen=True, slots=True)
class Site:
    """The findings, with what several pages need of them.

    ``address`` is where the site will be on the web, with a slash at its end, or empty. ``groups`` are the run's
    failures by signature. ``phases`` has for each operator the overloads that it reaches, ``forward`` those of its
    forward alone; ``owned`` its own overloads that architectures are known to call.
    ``places`` has the index of each test in the history's matrix, ``files`` the page of each file.
    """

    findings: Findings
    address: str
    groups: Sequence[Group]
    causes: Sequence[Cause]
    phases: Mapping[str, Mapping[Phase, Sequence[str]]]
    forward: Mapping[str, Sequence[str]]
    owned: Mapping[str, Callers]
    places: Mapping[str, int]
    files: Mapping[str, str]

    @property
    def run(self) -> RunRow:
        """Return the run that the site shows."""
        return self.findings.run

    def test_href(self, test: TestKey) -> str:
        """Return the path of a test's permalink from the site's root."""
        links = self.findings.links
        page = ""
        if test.op:
            page = links.get(("operator", test.op), "")
        elif test.module:
            page = links.get(("module", test.module), "")
        else:
            page = self.files.get(test.file, "")
        return f"{page}#{anchor(test.test_id)}" if page else ""

    def href_of(self, test_id: str) -> str:
        """Return the same for a test by its id, empty where the site does not know it."""
        place = self.places.get(test_id)
        return "" if place is None else self.test_href(self.findings.history.matrix.tests[place])

    def since(self, test_id: str) -> str:
        """Say since which run of the series a test has failed; empty where there is no series or it is not in it."""
        history = self.findings.history
        chain = [run.id for run in history.series]
        place = self.places.get(test_id)
        if place is None or len(chain) < 2 or chain[-1] != self.run.id:
            return ""
        first = bad_since(history.matrix, chain, place)
        if first is None:
            return ""
        if first == chain[-1]:
            return "new in this run"
        name = run_name(history.run(first))
        return f"since run {name}, or longer" if first == chain[0] else f"since run {name}"


def signature_anchor(signature: str, outcome: str) -> str:
    """Return the fragment that names a group of failures; the same group has the same one in every site."""
    return hashed_anchor("s", f"{outcome} {signature}")


def survey(findings: Findings, *, address: str = "") -> Site:
    """Work out what the pages share; reads the failures of the run once."""
    blame = Blame.empty()
    groups = failure_groups(blame.noting(findings.bad_results()))
    phases = reached_phases(findings)
    forward = {name: reached.get(Phase.FORWARD, ()) for name, reached in phases.items()}
    return Site(
        findings=findings,
        address=address,
        groups=groups,
        causes=ranked_causes(
            blame,
            findings.overloads,
            (*findings.operators, *findings.modules),
            architectures=findings.models.found if findings.models else None,
        ),
        phases=phases,
        forward=forward,
        owned=by_operator(findings, forward),
        places={test.test_id: place for place, test in enumerate(findings.history.matrix.tests)},
        files={file.file: file.href for file in findings.files},
    )
