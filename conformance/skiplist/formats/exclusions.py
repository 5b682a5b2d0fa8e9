"""Write PyTorch's ``test_exclusions``: the methods that a device's test base does not instantiate, by class.

torch/testing/_internal/common_device_type.py compares the names of generic methods (templates), before operators and
dtypes are filled in: ``{"TestCommon": {"test_out"}, "TestSparse": "*"}``. Only what is listed as a whole can be said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from conformance.skiplist.entry import Entry
from conformance.skiplist.formats.exported import Exported, LeftOut
from conformance.skiplist.known import Known
from conformance.skiplist.matching import Matcher
from conformance.skiplist.patterns import is_literal
from conformance.skiplist.vocabulary import Expectation

_HARNESS = ("opinfo", "modules")


def write(entries: Iterable[Entry], expects: Collection[Expectation], *, known: Known | None = None) -> Exported:
    """Return the dictionary as Python source.

    With the tests of a run a method is excluded if every one of its tests is listed. Without, only patterns over
    classes and templates, without wildcards, can be taken over.
    """
    every = list(entries)
    left_out: list[LeftOut] = []
    excluded = _from_run(every, expects, known, left_out) if known else _from_patterns(every, expects, left_out)
    lines = ["test_exclusions = {"]
    for class_name, methods in sorted(excluded.items()):
        value = '"*"' if "*" in methods else f"{{{', '.join(_quoted(name) for name in sorted(methods))}}}"
        lines.append(f"    {_quoted(class_name)}: {value},")
    written = sum(len(methods) for methods in excluded.values())
    return Exported("\n".join([*lines, "}"]) + "\n", written, tuple(left_out))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _from_patterns(
    entries: list[Entry], expects: Collection[Expectation], left_out: list[LeftOut]
) -> dict[str, set[str]]:
    excluded: dict[str, set[str]] = {}
    for entry in entries:
        if entry.expect not in expects:
            _leave_out_all(entry, f"its entry expects '{entry.expect}'", left_out)
            continue
        left_out += [
            LeftOut(test, entry.id, "of which method it is made only a run tells: give --run") for test in entry.tests
        ]
        if not entry.match:
            continue
        given = dict(entry.match.fields)
        only = set(given) <= {"classes", "templates"} and "classes" in given
        if only and all(is_literal(pattern) for patterns in given.values() for pattern in patterns):
            for class_name in given["classes"]:
                excluded.setdefault(class_name, set()).update(given.get("templates", ("*",)))
        else:
            text = "; ".join(f"{field} {', '.join(patterns)}" for field, patterns in entry.match.fields)
            why = "only classes and templates without wildcards can be said: give --run to fill the patterns in"
            left_out.append(LeftOut(text, entry.id, why))
    return excluded


def _leave_out_all(entry: Entry, why: str, left_out: list[LeftOut]) -> None:
    left_out += [LeftOut(test, entry.id, why) for test in entry.tests]
    if entry.match:
        text = "; ".join(f"{field} {', '.join(patterns)}" for field, patterns in entry.match.fields)
        left_out.append(LeftOut(text, entry.id, why))


def _from_run(
    entries: list[Entry], expects: Collection[Expectation], known: Known, left_out: list[LeftOut]
) -> dict[str, set[str]]:
    matched = Matcher(entries).apply(known.tests)
    whole: dict[tuple[str, str], bool] = {}
    listed: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for test in known.tests:
        key = (test.class_name, test.template)
        found = matched.get(test.test_id)
        wanted = found is not None and found.entry.expect in expects
        whole[key] = whole.get(key, True) and wanted
        if found is None:
            continue
        if not wanted:
            left_out.append(LeftOut(test.test_id, found.entry.id, f"its entry expects '{found.entry.expect}'"))
        elif test.file in _HARNESS or not test.class_name:
            left_out.append(LeftOut(test.test_id, found.entry.id, "it is no method of a class of PyTorch's"))
        else:
            listed.setdefault(key, []).append((test.test_id, found.entry.id))
    excluded: dict[str, set[str]] = {}
    for (class_name, template), tests in listed.items():
        if whole[class_name, template]:
            excluded.setdefault(class_name, set()).add(template)
        else:
            why = f"other tests of {class_name}.{template} are not listed, and the method can only go as a whole"
            left_out += [LeftOut(test, entry_id, why) for test, entry_id in tests]
    for entry in entries:
        gone = [LeftOut(name, entry.id, f"{known.source} has no such test") for name in entry.tests]
        left_out += [one for one in gone if known.find(one.text) is None]
    return excluded
