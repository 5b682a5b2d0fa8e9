"""Read and write PyTorch's list of disabled tests, which Ascend's torch_npu has in the same form.

``{"test_x (__main__.TestFoo)": ["issue url", ["platform"]]}``; torch/testing/_internal/common_utils.py reads it in
``check_if_enable``, from the file that the variable DISABLED_TESTS_FILE names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from conformance.errors import UsageError
from conformance.skiplist.entry import ANY_FILE, Entry, split_test_id
from conformance.skiplist.formats.exported import Exported, LeftOut, listed_tests
from conformance.skiplist.formats.imported import ImportOptions, Listed, Reading, split_link
from conformance.skiplist.known import Known
from conformance.skiplist.names import neutral, on_device, other_device
from conformance.skiplist.vocabulary import Expectation

_NAME = re.compile(r"(\S+) \(([^()\s]+)\)")

# check_if_enable knows these; a list that names others only holds everywhere, as far as PyTorch is concerned.
_ELSEWHERE = {
    "mac": "macOS",
    "macos": "macOS",
    "win": "Windows",
    "windows": "Windows",
    "rocm": "ROCm",
    "asan": "the address sanitizer",
    "dynamo": "Dynamo",
    "dynamo_wrapped": "Dynamo",
    "inductor": "Inductor",
    "slow": "the slow tests",
    "xpu": "XPU",
}


def read(text: str, source: str, options: ImportOptions) -> Reading:
    """Return what the list says; raises UsageError (``bad-import``) for what is no such list."""
    pairs = _pairs(text, source)
    reading = Reading()
    seen: dict[str, int] = {}
    for position, (name, _) in enumerate(pairs):
        seen[name] = position
    for position, (name, value) in enumerate(pairs):
        if seen[name] != position:
            reading.leave_out(name, "it is named again further down, and there it counts")
            continue
        _read_one(reading, name, value, options)
    return reading


def _pairs(text: str, source: str) -> list[tuple[str, Any]]:
    try:
        # Pairs, since a name that a list has twice would otherwise be lost.
        document = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        raise UsageError("bad-import", f"{source} is not valid JSON: {error}") from None
    if not isinstance(document, _Pairs):
        raise UsageError("bad-import", f"{source} is no list of disabled tests: it must be one JSON object")
    return document


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with all its keys, told from a JSON array."""


def _read_one(reading: Reading, name: str, value: Any, options: ImportOptions) -> None:
    found = _NAME.fullmatch(name)
    if found is None:
        reading.leave_out(name, "it is not of the form 'test (module.Class)'")
        return
    match value:
        case [str(remark), [*platforms]] if all(isinstance(platform, str) for platform in platforms):
            where = [platform.strip() for platform in platforms if platform.strip()]
        case _:
            reading.leave_out(name, "its value is not of the form [text, [platform, ...]]")
            return
    only = [_ELSEWHERE[platform] for platform in where if platform in _ELSEWHERE and platform != options.device]
    if only and len(only) == len(where):
        reading.leave_out(name, f"it is disabled under {', '.join(only)} only")
        return
    others = [platform for platform in where if platform not in ("linux", options.device) and " " not in platform]
    others = [platform for platform in others if platform not in _ELSEWHERE]
    remarks = [remark.strip(), *(platform for platform in where if " " in platform)]
    if others:
        reading.note("it is disabled on some devices only, which no entry expresses: it holds on all", name)
        remarks.append(f"Listed for {', '.join(others)} only.")
    reason, link = split_link(" ".join(filter(None, remarks)))
    class_name, method = _neutral(reading, name, _class_of(found[2]), found[1], options.device)
    test = f"{ANY_FILE}{class_name}::{method}"
    expect = options.expect or Expectation.SKIP
    reading.listed.append(Listed(expect, class_name, test=test, reason=reason, link=link))


def _class_of(path: str) -> str:
    """Return the class in ``jit.test_tracer.TestTracer``; the name of a parametrised class may hold dots itself."""
    parts = path.split(".")
    while len(parts) > 1 and (parts[0] == "__main__" or parts[0].islower()):
        parts.pop(0)
    return ".".join(parts)


def _neutral(reading: Reading, name: str, class_name: str, method: str, device: str) -> tuple[str, str]:
    plain = neutral(class_name, method, device)
    if plain is not None:
        return plain
    other = other_device(class_name, device)
    if other:
        reading.note("it is spelt for another device and kept as it is: it matches nothing here", name)
    else:
        reading.note("it names no device: taken as one test, though PyTorch would disable all its dtypes", name)
    return class_name, method


def write(
    entries: Iterable[Entry],
    device: str,
    expects: Collection[Expectation],
    *,
    known: Known | None = None,
    node_ids: Mapping[str, str] | None = None,
) -> Exported:
    """Return the list as DISABLED_TESTS_FILE takes it.

    PyTorch looks at class and method only, whatever the file. With the tests of a run and what pytest calls them, each
    is written as it is spelt on the device; without, it is taken for a test of a device-generic class.
    """
    names: dict[str, list[Any]] = {}
    left_out: list[LeftOut] = []
    notes: dict[str, int] = {}
    tests = 0
    for test, entry in listed_tests(entries, expects, known, left_out):
        file, class_name, method = split_test_id(test)
        if file in ("opinfo", "modules"):
            left_out.append(LeftOut(test, entry.id, "it is a test of this harness, not of PyTorch"))
            continue
        if not class_name:
            left_out.append(LeftOut(test, entry.id, "it has no class, and PyTorch disables methods of classes"))
            continue
        spelt = _spelt(test, class_name, method, device, node_ids)
        if spelt is None:
            note = "taken for a test of a device-generic class; --run would tell"
            notes[note] = notes.get(note, 0) + 1
            classes, method = on_device(class_name, method, device)
            spelt = [(name, method) for name in classes]
        tests += 1
        for name, spelt_method in spelt:
            names[f"{spelt_method} (__main__.{name})"] = [entry.link or entry.reason, []]
    text = json.dumps(dict(sorted(names.items())), indent=2) + "\n"
    return Exported(text, tests, tuple(left_out), tuple(sorted(notes.items())))


def _spelt(
    test: str, class_name: str, method: str, device: str, node_ids: Mapping[str, str] | None
) -> list[tuple[str, str]] | None:
    """Return class and method as a process on the device has them, if a run tells."""
    node_id = node_ids.get(test) if node_ids else None
    if node_id is None:
        return None
    if split_test_id(node_id)[1:] == (class_name, method):
        return [(class_name, method)]
    # Which of the two spellings of a class a process uses depends on what it imported before.
    classes, spelt = on_device(class_name, method, device)
    return [(name, spelt) for name in classes]
