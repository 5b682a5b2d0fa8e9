"""Write the plain summary for language models and other hurried readers, and the map for search engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import escape

from conformance.publish.frame import notices
from conformance.publish.models import models_sentence, most_blocking
from conformance.publish.overview import headline, status_tallies, tallies_of_tests
from conformance.publish.pages import TextFile
from conformance.publish.wording import counted, instant, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.publish.causes import Cause
    from conformance.publish.context import Site
    from conformance.publish.pages import Link
    from conformance.store import RunRow

SUMMARY = "llms.txt"
MAP = "sitemap.xml"
_CAUSES = 10


def summary_file(site: Site, sections: Sequence[Link], files: Iterable[tuple[Link, str]]) -> TextFile:
    """Return the summary in the form of llms.txt: a title, a quotation, and lists of links."""
    findings, run = site.findings, site.run
    emulated = " (EMULATED)" if run.emulated else ""
    lines = [
        f"# PyTorch conformance of the device {run.device}{emulated}",
        "",
        f"> {_headline(site)}",
        "",
        _run_line(run),
        "",
        *(f"- {_line(notice.title)}: {_line(notice.text)}" for notice in notices(findings)),
        "",
        "## Figures",
        "",
        *(f"- operators {tally.mark.word}: {number(tally.count)}" for tally in status_tallies(findings.operators)),
        *(f"- modules {tally.mark.word}: {number(tally.count)}" for tally in status_tallies(findings.modules)),
        *(f"- tests {tally.mark.word}: {number(tally.count)}" for tally in tallies_of_tests(findings)),
        *_architectures(site),
        "",
        "## What to fix next",
        "",
        *(
            f"- {_line(cause.title) or '(no message)'}: {number(len(cause.alone))} of {number(len(cause.subjects))} "
            f"operators and modules need nothing else ({cause.outcome or 'ran on the CPU'}, "
            f"{counted(cause.tests, 'test')}{_concerned(cause)})"
            for cause in site.causes[:_CAUSES]
        ),
        "",
        "## Pages",
        "",
        *(f"- [{link.text}]({site.address}{link.href})" for link in sections),
        "",
        "## Files for programs",
        "",
        *(f"- [{link.text}]({site.address}{link.href}): {about}" for link, about in files),
        "",
    ]
    return TextFile(SUMMARY, "\n".join(lines))


def _architectures(site: Site) -> list[str]:
    if site.findings.models is None:
        return []
    blocking = most_blocking(site.findings.models.found)
    lines = [f"- architectures: {_line(models_sentence(site))}"]
    return [*lines, f"- {_line(blocking.text)}"] if blocking else lines


def _run_line(run: RunRow) -> str:
    return (
        f"Run {run.id}, {run.state}, started {instant(run.started_at or run.created_at)}; torch {run.torch_version}; "
        f"{run.backend} {run.backend_version}; {counted(run.planned, 'planned test')}."
    )


def _headline(site: Site) -> str:
    findings = site.findings
    found = headline(findings, findings.operators, coverage=findings.operator_coverage, noun="operator")
    if not findings.whole:
        return f"No coverage figure: the run is not complete. So far: {found.sentence}"
    return f"{found.sentence} {found.share}".strip()


def _concerned(cause: Cause) -> str:
    return f", {counted(len(cause.architectures), 'architecture')}" if cause.architectures else ""


def _line(text: str) -> str:
    return " ".join(text.split())


def map_file(site: Site, paths: Iterable[str]) -> TextFile:
    """Return the map of the pages; its form wants whole addresses, so it needs the site's own."""
    entries = [f"<url><loc>{escape(site.address)}{escape(path)}</loc></url>" for path in paths]
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
        *entries,
        "</urlset>",
        "",
    ]
    return TextFile(MAP, "\n".join(lines))
