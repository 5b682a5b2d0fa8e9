"""Turn an entry into what a run records of it."""

from __future__ import annotations

from conformance.model.listed import ListedEntry
from conformance.skiplist.entry import Entry


def recorded(entry: Entry) -> ListedEntry:
    """Return the entry in plain texts, without its tests and conditions: what it says, not when it counts."""
    return ListedEntry(
        entry_id=entry.id,
        expect=entry.expect.value,
        category=entry.category.value,
        reason=entry.reason,
        link=entry.link,
        owner=entry.owner,
        added=entry.added.isoformat(),
        expires=entry.expires.isoformat() if entry.expires is not None else "",
        message=entry.message,
        guess=entry.guess,
    )
