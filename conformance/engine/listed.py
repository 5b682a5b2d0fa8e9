"""Hold the collected tests against the skiplists in force."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.devices import DeviceAdapter
from conformance.engine.identify import identity_of
from conformance.errors import UsageError
from conformance.model.listed import ListedEntry
from conformance.skiplist import Context, Expectation, compile_skiplist, load_skiplist, skiplist_of_device
from conformance.skiplist.recorded import recorded

AUTO = "auto"
NONE = "none"


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries in force, and which of them speaks of each collected test, by node id.

    ``label`` names the files; it is empty where there is no list.
    """

    label: str = ""
    entries: tuple[ListedEntry, ...] = ()
    of_test: dict[str, ListedEntry] | None = None

    def entry_of(self, node_id: str) -> ListedEntry | None:
        """Return the entry that speaks of a test."""
        return (self.of_test or {}).get(node_id)


def listing_of(items: Sequence[pytest.Item], sources: Sequence[str], *, adapter: DeviceAdapter, torch: str) -> Listing:
    """Return what the lists say about the tests.

    ``sources`` are paths, or one word: ``auto`` for the lists that come with the harness for this device, ``none``.
    Raises ``UsageError`` for a list that cannot be read.
    """
    paths = _paths(sources, adapter.device)
    if not paths:
        return Listing()
    skiplist = load_skiplist(paths)
    description = adapter.describe()
    context = Context(
        torch_version=torch,
        device_version=description.backend_version,
        device_name=description.device_name,
        emulated=description.emulated,
        today=datetime.datetime.now(datetime.timezone.utc).date(),
    )
    matcher = compile_skiplist(skiplist.entries, context)
    listed = {entry.id: recorded(entry) for entry in skiplist.entries}
    of_test = {}
    for item in items:
        found = matcher.match(identity_of(item))
        if found is not None:
            of_test[item.nodeid] = listed[found.entry.id]
    return Listing(", ".join(skiplist.files), tuple(listed.values()), of_test)


def skip_listed(items: Sequence[pytest.Item], listing: Listing) -> None:
    """Let the tests be skipped whose entry says so; the reason names the entry."""
    for item in items:
        entry = listing.entry_of(item.nodeid)
        if entry is not None and entry.expect == Expectation.SKIP.value:
            item.add_marker(pytest.mark.skip(reason=f"skiplist entry {entry.entry_id}: {entry.reason}"), append=False)


def _paths(sources: Sequence[str], device: str) -> list[Path]:
    paths: list[Path] = []
    for source in sources or (AUTO,):
        if source == NONE:
            continue
        if not source.strip():
            raise UsageError("empty-option", "--skiplist '' names nothing; give a path, 'auto' or 'none'")
        if source == AUTO:
            own = skiplist_of_device(device)
            paths += [own] if own is not None else []
        else:
            paths.append(Path(source))
    return paths
