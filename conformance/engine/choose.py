"""Choose tests by id, and complain about names that fit nothing."""

from __future__ import annotations

import difflib
import fnmatch

import pytest

from conformance.devices import DeviceAdapter
from conformance.engine.identify import identity_of
from conformance.errors import UsageError
from conformance.suites.selection import Selection


def choose(items: list[pytest.Item], selection: Selection) -> list[pytest.Item]:
    """Keep only the tests that ``selection.tests`` names, in place; return those that were dropped.

    Raises ``UsageError`` for an id that no collected test has.
    """
    if not selection.tests:
        return []
    wanted = set(selection.tests)
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    ids = set()
    for item in items:
        test_id = identity_of(item).test_id
        ids.add(test_id)
        (kept if test_id in wanted else dropped).append(item)
    unknown = [test_id for test_id in selection.tests if test_id not in ids]
    if unknown:
        near = difflib.get_close_matches(unknown[0], sorted(ids), n=2)
        hint = f"; near: {', '.join(near)}" if near else "; `conformance collect` lists the ids"
        raise UsageError("unknown-test", f"no collected test has the id {unknown[0]}{hint}")
    items[:] = kept
    return dropped


def complain_about_names(items: list[pytest.Item], selection: Selection, *, adapter: DeviceAdapter) -> None:
    """Raise ``UsageError`` if a pattern of ``selection.ops`` fits no operator and no module of this torch."""
    if not selection.ops:
        return
    names: set[str] = set()
    for item in items:
        identity = identity_of(item)
        names.update(name for name in (identity.op, identity.module) if name is not None)
    if all(fnmatch.filter(names, pattern) for pattern in selection.ops):
        return
    from conformance.suites import inventory

    known = {info.name for info in inventory.operators(adapter.device)}
    known |= {info.name for info in inventory.modules(adapter.device)}
    selection.check_names(known)
