"""Import a text and look at what became of it."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from conformance.skiplist.formats import import_list
from conformance.skiplist.formats.imported import Imported, ImportOptions
from conformance.skiplist.load import parse_files
from conformance.skiplist.write import render_list

if TYPE_CHECKING:
    from conformance.skiplist.entry import Entry


def imported(format_name: str, text: str, *, source: str = "list.txt", device: str = "npu", **options: Any) -> Imported:
    """Import, and check what must hold for every import: the counts add up, and the entries are a valid list."""
    settings = ImportOptions(device=device, added=date(2026, 11, 1), prefix=options.pop("prefix", ""), **options)
    found = import_list(format_name, text, source, settings)
    assert found.read == found.mapped + len(found.unmapped)
    skiplist, problems = parse_files([("list.toml", render_list(found.entries))])
    assert problems == ()
    assert skiplist.entries == found.entries
    return found


def told(entry: Entry) -> tuple[str, str, str, str, dict[str, tuple[str, ...]], tuple[str, ...]]:
    return entry.id, str(entry.expect), entry.reason, entry.link, dict(entry.match.fields), entry.tests


def left_out(found: Imported) -> list[tuple[str, int, str]]:
    return [(one.text, one.line, one.why) for one in found.unmapped]


def notes(found: Imported) -> dict[str, int]:
    return {note.text.partition(":")[0]: note.count for note in found.notes}
