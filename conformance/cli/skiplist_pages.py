"""Put what was found about skiplists into words and tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from conformance.report.page import Block, Lines, Page, Paragraph, Row, Table, limited
from conformance.report.words import counted, number, share
from conformance.skiplist.lint import Finding, Level, LintReport
from conformance.skiplist.stats import By, Count, Stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.skiplist.diff import ChangedEntry, Difference
    from conformance.skiplist.entry import Entry
    from conformance.skiplist.explain import Explanation
    from conformance.skiplist.formats.exported import Exported
    from conformance.skiplist.formats.imported import Imported


def lint_page(report: LintReport, *, top: int) -> Page:
    """Return the findings: how many of each rule, then each of them, errors first."""
    counts = ", ".join(
        counted(report.count(level), level.value, "advice" if level is Level.ADVICE else "") for level in Level
    )
    title = f"{_list_of(report.entries, report.tests, report.files)}: {counts}"
    blocks: list[Block] = []
    if report.held_against:
        blocks.append(Paragraph(f"Held against {report.held_against}."))
    blocks += [Paragraph(f"Not checked: {text}.") for text in report.not_checked]
    if report.findings:
        rules = Counter(finding.rule for finding in report.findings)
        tests = Counter[str]()
        for finding in report.findings:
            tests[finding.rule] += finding.tests
        rows: list[Row] = [
            (f"{rule} ({rule.level})", number(count), number(tests[rule]) if tests[rule] else "")
            for rule, count in rules.items()
        ]
        blocks.append(Table("Rules", ("rule", "findings", "tests"), tuple(rows)))
        few, more = limited([_line(finding) for finding in report.findings], top)
        blocks.append(Lines("Findings", few, more))
    return Page(title, tuple(blocks))


def _line(finding: Finding) -> str:
    entry = f"entry '{finding.entry_id}': " if finding.entry_id else ""
    return f"{finding.place}: {finding.rule.level}: {entry}{finding.text} ({finding.rule})"


def lint_document(report: LintReport) -> dict[str, object]:
    """Return the findings for scripts."""
    return {
        "entries": report.entries,
        "tests": report.tests,
        "files": report.files,
        "held_against": report.held_against,
        "not_checked": report.not_checked,
        "counts": {level: report.count(level) for level in Level},
        "findings": [
            {
                "rule": finding.rule,
                "level": finding.rule.level,
                "file": finding.place.file,
                "line": finding.place.line,
                "entry": finding.entry_id,
                "text": finding.text,
                "tests": finding.tests,
            }
            for finding in report.findings
        ],
    }


def stats_page(found: Stats, *, top: int) -> Page:
    """Return the counts of a list."""
    whole = found.whole
    without = f"{number(whole.without_reason)} of {number(whole.listed)}"
    sentences = [f"Without a reason: {without} ({share(whole.without_reason, whole.listed)})."]
    if whole.rules:
        sentences.append(f"{counted(whole.rules, 'entry has', 'entries have')} patterns, counted as one rule each.")
    if found.inactive:
        sentences.append(f"{counted(found.inactive, 'entry is', 'entries are')} not active here.")
    if found.oldest:
        sentences.append(f"The oldest entry is of {found.oldest}.")
    if found.tests_planned is not None and whole.planned is not None:
        sentences.append(
            f"Of the {number(found.tests_planned)} tests of {found.source} the list holds {number(whole.planned)} "
            f"({share(whole.planned, found.tests_planned)})."
        )
    blocks: list[Block] = [Paragraph(" ".join(sentences))]
    blocks += [_count_table(prop, counts, top=top) for prop, counts in found.by.items()]
    return Page(_list_of(whole.entries, whole.tests, found.files), tuple(blocks))


def _count_table(prop: By, counts: Sequence[Count], *, top: int) -> Table:
    with_run = any(count.planned is not None for count in counts)
    headings = (str(prop), "entries", "ids", "rules", "without\nreason") + (("tests of\nthe run",) if with_run else ())
    rows = [
        (
            *(count.key, number(count.entries), number(count.tests), number(count.rules)),
            number(count.without_reason),
            *((number(count.planned or 0),) if with_run else ()),
        )
        for count in counts
    ]
    few, more = limited(rows, top)
    return Table(f"By {prop}", headings, few, more)


def explain_page(found: Explanation) -> Page:
    """Return which entry counts for a test, and the others that concern it."""
    test = found.test
    known = [
        f"{name} {value}"
        for name, value in (
            ("template", test.template if "templates" not in found.unknown else ""),
            *(("operator", test.op), ("module", test.module), ("dtype", test.dtype)),
        )
        if value
    ]
    blocks: list[Block] = []
    if known:
        blocks.append(Paragraph(f"It has the {', '.join(known)}."))
    if found.unknown:
        blocks.append(
            Paragraph(
                f"Not known of it: {', '.join(found.unknown)}. Give --run for a run that planned the test, or the "
                "options --op, --module, --dtype and --template."
            )
        )
    lines = [
        f"{e.standing}: '{e.entry.id}' ({e.entry.expect}) at {e.entry.place}: {'; '.join(filter(None, (e.by, e.why)))}"
        for e in found.entries
    ]
    if lines:
        blocks.append(Lines("Entries", tuple(lines)))
    entry = found.counts
    if entry is None:
        return Page(f"No entry counts for {test.test_id}", tuple(blocks))
    blocks.insert(0, Paragraph(f"{entry.category}: {entry.reason or '(no reason)'} {entry.link}".strip()))
    return Page(f"{test.test_id}: expected to {_verb(str(entry.expect))}, by '{entry.id}'", tuple(blocks))


def explain_document(found: Explanation) -> dict[str, object]:
    """Return the same for scripts."""
    return {
        "test_id": found.test.test_id,
        "unknown": found.unknown,
        "counts": found.counts.id if found.counts else None,
        "entries": [
            {
                "entry": explained.entry.id,
                "standing": explained.standing,
                "by": explained.by,
                "why": explained.why,
                "expect": explained.entry.expect,
                "category": explained.entry.category,
                "reason": explained.entry.reason,
                "link": explained.entry.link,
                "file": explained.entry.place.file,
                "line": explained.entry.place.line,
            }
            for explained in found.entries
        ],
    }


def import_page(found: Imported, *, source: str, target: str, top: int) -> Page:
    """Return the account of an import: nothing that the source says is missing in it."""
    title = (
        f"{source}: of {number(found.read)} {number(found.mapped)} mapped, to "
        f"{counted(len(found.entries), 'entry', 'entries')}; {number(len(found.unmapped))} not mapped"
    )
    blocks: list[Block] = [Paragraph(f"Written to {target}.")]
    if found.notes:
        lines = [f"{number(note.count)}: {note.text}; the first is '{note.example}'" for note in found.notes]
        blocks.append(Lines("Not to the letter", tuple(lines)))
    whys = Counter(one.why for one in found.unmapped)
    blocks.append(Lines("Not mapped", tuple(f"{number(count)}: {why}" for why, count in whys.most_common())))
    if found.unmapped:
        lines = [f"'{one.text}'{f' (line {one.line})' if one.line else ''}: {one.why}" for one in found.unmapped]
        few, more = limited(lines, top)
        blocks.append(Lines("Each of them", few, more))
    return Page(title, tuple(blocks))


def import_document(found: Imported, *, source: str, target: str) -> dict[str, object]:
    """Return the same for scripts."""
    return {
        "source": source,
        "target": target,
        "read": found.read,
        "mapped": found.mapped,
        "entries": len(found.entries),
        "tests": sum(len(entry.tests) for entry in found.entries),
        "rules": sum(bool(entry.match) for entry in found.entries),
        "notes": found.notes,
        "unmapped": found.unmapped,
    }


def export_page(found: Exported, *, target: str, top: int) -> Page:
    """Return the account of an export."""
    title = f"{target}: {number(found.written)} written, {number(len(found.left_out))} left out"
    blocks: list[Block] = []
    if found.notes:
        blocks.append(Lines("Notes", tuple(f"{number(count)}: {note}" for note, count in found.notes)))
    whys = Counter(one.why for one in found.left_out)
    blocks.append(Lines("Left out", tuple(f"{number(count)}: {why}" for why, count in whys.most_common())))
    if found.left_out:
        few, more = limited([f"'{one.text}' of '{one.entry_id}': {one.why}" for one in found.left_out], top)
        blocks.append(Lines("Each of them", few, more))
    return Page(title, tuple(blocks))


def export_document(found: Exported, *, target: str) -> dict[str, object]:
    """Return the same for scripts."""
    return {"target": target, "written": found.written, "notes": dict(found.notes), "left_out": found.left_out}


def diff_page(found: Difference, *, before: str, after: str, top: int) -> Page:
    """Return what changed between two states of a list, what was added first."""
    title = (
        f"{before} to {after}: entries {number(found.entries_before)} to {number(found.entries_after)}, test ids "
        f"{number(found.tests_before)} to {number(found.tests_after)} "
        f"(+{number(found.tests_added)} -{number(found.tests_removed)})"
    )
    blocks: list[Block] = []
    for name, entries in (("Added", found.added), ("Removed", found.removed)):
        if entries:
            few, more = limited([_described(entry) for entry in entries], top)
            blocks.append(Lines(name, few, more))
    if found.renamed:
        few, more = limited([f"'{old.id}' to '{new.id}'" for old, new in found.renamed], top)
        blocks.append(Lines("Renamed", few, more))
    if found.changed:
        few, more = limited([line for change in found.changed for line in _changes(change, top)], top)
        blocks.append(Lines("Changed", few, more))
    if not found:
        blocks.append(Paragraph("No difference."))
    return Page(title, tuple(blocks))


def diff_document(found: Difference, *, before: str, after: str) -> dict[str, object]:
    """Return the same for scripts."""
    return {
        "before": {"source": before, "entries": found.entries_before, "tests": found.tests_before},
        "after": {"source": after, "entries": found.entries_after, "tests": found.tests_after},
        "tests_added": found.tests_added,
        "tests_removed": found.tests_removed,
        "added": [entry.id for entry in found.added],
        "removed": [entry.id for entry in found.removed],
        "renamed": [{"before": old.id, "after": new.id} for old, new in found.renamed],
        "changed": [
            {
                "entry": change.after.id,
                "weakened": change.weakened,
                "fields": change.changes,
                "tests_added": change.tests_added,
                "tests_removed": change.tests_removed,
            }
            for change in found.changed
        ],
    }


def _described(entry: Entry) -> str:
    what = [counted(len(entry.tests), "test")] if entry.tests else []
    what += (
        ["; ".join(f"{field} {', '.join(patterns)}" for field, patterns in entry.match.fields)] if entry.match else []
    )
    return f"'{entry.id}' ({entry.expect}, {entry.category}): {', '.join(what)}: {entry.reason or '(no reason)'}"


def _changes(change: ChangedEntry, top: int) -> list[str]:
    name = f"'{change.after.id}'"
    lines = [f"{name}: {one.field}: {one.before or '(none)'} -> {one.after or '(none)'}" for one in change.changes]
    for sign, tests in (("+", change.tests_added), ("-", change.tests_removed)):
        few, more = limited(tests, top)
        lines += [f"{name}: {sign} {test}" for test in few]
        lines += [f"{name}: {sign} {number(more)} more tests"] if more else []
    return lines


def _verb(expect: str) -> str:
    return {
        "skip": "be skipped",
        "timeout": "time out",
        "fallback": "fall back to the CPU",
        "flaky": "pass or fail",
    }.get(expect, expect)


def _list_of(entries: int, tests: int, files: Sequence[str]) -> str:
    return f"{counted(entries, 'entry', 'entries')} with {counted(tests, 'test id')} in {counted(len(files), 'file')}"
