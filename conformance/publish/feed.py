"""Write the Atom feed: one entry for each run of the series, with what regressed and what was fixed in it."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

from markupsafe import escape

from conformance.analysis.compare import Change
from conformance.publish.marks import outcome_mark
from conformance.publish.pages import TextFile
from conformance.publish.trend import run_name
from conformance.publish.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.publish.changes import Step, TestChange
    from conformance.publish.context import Site
    from conformance.store import RunRow

PATH = "feed.xml"
_ENTRIES = 20
_TESTS = 50

_NOT_XML = re.compile("[\x00-\x1f\ud800-\udfff\ufffe\uffff]")

# What a subscriber wants to hear of, in this order.
_TOLD = (
    Change.LOST,
    Change.REGRESSED,
    Change.NEW_FALLBACK,
    Change.FIXED,
    Change.IMPROVED,
    Change.VANISHED_FALLBACK,
)


def feed_file(site: Site) -> TextFile:
    """Return the feed, the newest run first; its instants are those of the runs, its ids made of their keys."""
    run = site.run
    history = site.findings.history
    title = f"{_device(run)} conformance: regressions and fixes"
    by_after = {step.after: step for step in history.steps}
    entries = [one for one in reversed(history.series) if one.id in by_after][:_ENTRIES]
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{escape(title)}</title>",
        f"<id>{_id(f'{run.device} {run.emulated} {run.selection} {sorted(run.suites)}')}</id>",
        f"<updated>{_instant(entries[0] if entries else run)}</updated>",
        f'<link rel="self" href="{escape(site.address)}{PATH}"/>',
        f'<link rel="alternate" href="{escape(site.address)}index.html"/>',
        "<author><name>torch-conformance</name></author>",
    ]
    for one in entries:
        lines.extend(_entry(site, one, by_after[one.id]))
    return TextFile(PATH, "\n".join([*lines, "</feed>", ""]))


def _entry(site: Site, run: RunRow, step: Step) -> Iterator[str]:
    told = [(change, step.counts.get(change, 0)) for change in _TOLD]
    summary = ", ".join(f"{number(count)} {change.words}" for change, count in told if count) or "nothing worth telling"
    address = f"compare.html#from={step.before}&to={step.after}"
    yield "<entry>"
    yield f"<title>{escape(f'{_device(run)}, run {run_name(run)}: {summary}')}</title>"
    yield f"<id>{_id(run.key)}</id>"
    yield f"<updated>{_instant(run)}</updated>"
    yield f'<link rel="alternate" href="{escape(site.address)}{escape(address)}"/>'
    content = "".join(_list(site, change, [each for each in step.changes if each.change is change]) for change in _TOLD)
    mark = "<p>EMULATED: not measured on the real device.</p>" if run.emulated else ""
    yield f'<content type="html">{escape(mark + (content or "<p>Nothing regressed, nothing was fixed.</p>"))}</content>'
    yield "</entry>"


def _list(site: Site, change: Change, changes: list[TestChange]) -> str:
    if not changes:
        return ""
    items = "".join(
        f"<li>{escape(_printable(site.findings.history.matrix.tests[each.place].test_id))}: "
        f"{escape(outcome_mark(each.before).word if each.before else 'not planned')} \u2192 "
        f"{escape(outcome_mark(each.after).word if each.after else 'not planned')}</li>"
        for each in changes[:_TESTS]
    )
    more = f"<li>and {counted(len(changes) - _TESTS, 'more test')}</li>" if len(changes) > _TESTS else ""
    return f"<h2>{escape(change.words.capitalize())} ({number(len(changes))})</h2><ul>{items}{more}</ul>"


def _device(run: RunRow) -> str:
    return f"{_printable(run.device)}{' (EMULATED)' if run.emulated else ''}"


def _printable(text: str) -> str:
    """Put a sign in place of what XML 1.0 cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def _id(text: str) -> str:
    return f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, text.encode('utf-8', 'backslashreplace').decode())}"


def _instant(run: RunRow) -> str:
    """Return when the run ended; the feed's format wants an instant whatever a run has written."""
    text = run.finished_at or run.started_at or run.created_at
    return text if text.endswith("Z") and len(text) == 20 else "1970-01-01T00:00:00Z"
