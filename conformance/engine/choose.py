"""Choose tests by id, and complain about names that fit nothing."""

from __future__ import annotations

import difflib
import fnmatch

import pytest

from conformance.devices import DeviceAdapter
from conformance.engine.identify import identity_of
from conformance.errors import UsageError
from conformance.model.identity import Suite
from conformance.suites.selection import Selection

# They instantiate only what was asked for, and have tests without a dtype that go through those that were.
_SELECT_BY_THEMSELVES = (Suite.OPINFO, Suite.MODULES, Suite.MODELS)


def choose(items: list[pytest.Item], selection: Selection, *, device: str) -> list[pytest.Item]:
    """Keep the tests that are for this device and that ``selection.tests`` names, in place; return the others.

    Files that instantiate with ``include_lazy`` bring tests of the device ``lazy`` whatever the bases are. Raises
    ``UsageError`` for an id that no collected test has.
    """
    foreign = [item for item in items if not (_is_for(item, device) and _is_selected(item, selection))]
    if foreign:
        away = set(foreign)
        items[:] = [item for item in items if item not in away]
    if not selection.tests:
        return foreign
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
    return [*foreign, *dropped]


def _is_selected(item: pytest.Item, selection: Selection) -> bool:
    """Tell whether a test of a file that is none of the suites' is of an operator, module and dtype asked for."""
    if not (selection.ops or selection.dtypes):
        return True
    identity = identity_of(item)
    if identity.suite in _SELECT_BY_THEMSELVES:
        return True
    return selection.names(identity.op or identity.module) and selection.has_dtype(identity.dtype)


def _is_for(item: pytest.Item, device: str) -> bool:
    of_class = getattr(getattr(item, "cls", None), "device_type", device)
    return of_class in (device, "privateuse1") or not isinstance(of_class, str)


def complain_about_names(items: list[pytest.Item], selection: Selection, *, adapter: DeviceAdapter) -> None:
    """Raise ``UsageError`` if a pattern of ``selection.ops`` fits no operator and no module of this torch."""
    if not selection.ops:
        return
    names: set[str] = set()
    for item in items:
        identity = identity_of(item)
        names.update(name for name in (identity.op, identity.module, identity.architecture) if name is not None)
    if all(fnmatch.filter(names, pattern) for pattern in selection.ops):
        return
    from conformance.suites import inventory

    known = {info.name for info in inventory.operators(adapter.device)}
    known |= {info.name for info in inventory.modules(adapter.device)}
    selection.check_names(known)
