"""Build the page of the skiplist in force: its burn-down, what it is about, and each entry."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date
from typing import TYPE_CHECKING

from conformance.analysis.burndown import announced
from conformance.publish.charts import Tally
from conformance.publish.listed import STATE_DEFINITIONS, entry_state, whole_list
from conformance.publish.marks import Mark
from conformance.publish.overview import no_burn_down
from conformance.publish.pages import Link
from conformance.publish.pages_runs import EntryRow, SkiplistPage, SkiplistSplit, SkiplistTable
from conformance.publish.redaction import without_local_paths
from conformance.publish.slugs import named_anchor
from conformance.publish.trend import burn_down_chart
from conformance.publish.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.publish.context import Site
    from conformance.publish.findings import EntryFinding

ENTRIES_SHOWN = 2000
_NONE = "(none)"

_STATE_LOOKS = {
    "stale": ("\u2713", "native"),
    "partly stale": ("\u00bd", "partial"),
    "improved": ("\u25b2", "partial"),
    "no tests": ("0", "partial"),
    "not seen": ("?", "untested"),
    "holds": ("H", "skipped"),
}
_AGES = ((30, "under 30 days"), (90, "30 to 89 days"), (365, "90 to 364 days"))
_OLDEST = "a year and more"
_UNDATED = "(no date)"


def state_mark(state: str) -> Mark:
    """Return how the state of an entry looks."""
    letter, shade = _STATE_LOOKS[state]
    return Mark(state.replace(" ", "-"), state, letter, shade, STATE_DEFINITIONS[state])


def skiplist_page(site: Site) -> SkiplistPage:
    """Return the page of the skiplist in force; the day of the run is what ages count to."""
    findings = site.findings
    entries = findings.entries
    today = _day(site.run.started_at or site.run.created_at)
    chart = burn_down_chart(findings)
    rows = sorted((_row(each, today) for each in entries), key=lambda row: (_order(row), -row.tests, row.entry))
    states = Counter(row.state.code for row in rows)
    marks = {row.state.code: row.state for row in rows}
    return SkiplistPage(
        lead=_lead(site),
        announced=_announced(site),
        chart=chart,
        no_chart="" if chart else no_burn_down(findings),
        states=tuple(
            Tally(marks[code], states[code])
            for code in (state_mark(state).code for state in _STATE_LOOKS)
            if code in marks
        ),
        tables=(
            _split("category", "By category", "Category", entries, lambda each: each.entry.category or _NONE),
            _split("owner", "By owner", "Owner", entries, lambda each: each.entry.owner or _NONE),
            _split("age", "By age", "Age", entries, lambda each: _age_name(_age(each, today))),
        )
        if entries
        else (),
        rows=tuple(rows[:ENTRIES_SHOWN]),
        more=max(len(rows) - ENTRIES_SHOWN, 0),
        without_reason=sum(not each.entry.reason.strip() for each in entries),
        guesses=sum(each.entry.guess for each in entries),
    )


def _lead(site: Site) -> str:
    entries = site.findings.entries
    if not entries:
        return "No skiplist was in force in this run: every test was held to pass."
    counts = whole_list(each.counts for each in entries)
    ran = " What it skips was run all the same." if site.run.run_skipped else ""
    lists = without_local_paths(site.run.skiplist)
    return (
        f"{counted(len(entries), 'entry', 'entries')} of {lists or 'the skiplist'} spoke of "
        f"{counted(counts.tests, 'planned test')}: {counts.holding:,} did as expected, {counts.improved:,} better, "
        f"{counts.passing:,} passed, {counts.unseen:,} were not seen.{ran}"
    )


def _announced(site: Site) -> str:
    """Return the starting point that somebody published, with what is not known of it."""
    found = announced(site.run.device)
    if found is None:
        return ""
    return (
        f"About {found.tests:,} skipped tests were announced for {found.device} by {found.day} ({found.source}); "
        f"{found.caveat}. That is a starting point to look back at, and no measurement of this harness."
    )


def _row(each: EntryFinding, today: date | None) -> EntryRow:
    entry = each.entry
    counts = each.counts
    expires = _day(entry.expires)
    return EntryRow(
        anchor=named_anchor("e", entry.entry_id),
        entry=entry.entry_id,
        expect=entry.expect,
        category=entry.category,
        reason=without_local_paths(entry.reason),
        link=Link(entry.link, entry.link) if entry.link.startswith(("https://", "http://")) else None,
        owner=entry.owner,
        added=entry.added,
        expires=entry.expires,
        expired=expires is not None and today is not None and expires < today,
        age=_age(each, today),
        guess=entry.guess,
        tests=counts.tests,
        passing=counts.passing,
        unseen=counts.unseen,
        state=state_mark(entry_state(counts)),
    )


def _order(row: EntryRow) -> int:
    """Put what can go first: stale, partly stale, without tests."""
    return list(_STATE_LOOKS).index(row.state.word)


def _split(
    id_: str, title: str, key_name: str, entries: Sequence[EntryFinding], key_of: Callable[[EntryFinding], str]
) -> SkiplistTable:
    parts: defaultdict[str, list[EntryFinding]] = defaultdict(list)
    for each in entries:
        parts[key_of(each)].append(each)
    rows = [
        SkiplistSplit(
            key=key,
            entries=len(part),
            tests=sum(each.counts.tests for each in part),
            passing=sum(each.counts.passing for each in part),
            without_reason=sum(not each.entry.reason.strip() for each in part),
        )
        for key, part in parts.items()
    ]
    ages = [name for _, name in _AGES] + [_OLDEST, _UNDATED]
    rows.sort(key=lambda row: (ages.index(row.key), "") if id_ == "age" else (-row.tests, row.key))
    return SkiplistTable(id_, title, key_name, tuple(rows))


def _age(each: EntryFinding, today: date | None) -> int | None:
    added = _day(each.entry.added)
    return max((today - added).days, 0) if added is not None and today is not None else None


def _age_name(age: int | None) -> str:
    if age is None:
        return _UNDATED
    return next((name for bound, name in _AGES if age < bound), _OLDEST)


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat((text or "")[:10])
    except ValueError:
        return None
