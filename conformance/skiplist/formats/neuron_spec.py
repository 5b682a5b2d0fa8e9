"""Read the JSON specs of TorchNeuron's test folder. UNCONFIRMED: known from early public copies only.

A spec has ``file`` or ``folder``, ``class``, ``methods``, ``xfail``, ``skip_tests`` and ``skip_classes``. The last
three hold names, which are looked for within the names of tests: ``{"test_x": {"reason": ".."}}``, ``{"tests":
["test_x"], "reason": ".."}``, or lists of such.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conformance.errors import UsageError
from conformance.skiplist.entry import Match
from conformance.skiplist.formats.imported import ImportOptions, Listed, Reading, split_link, under_test_folder
from conformance.skiplist.names import neutral_method
from conformance.skiplist.patterns import literal
from conformance.skiplist.vocabulary import Expectation

_LISTS = ("xfail", "skip_tests", "skip_classes")
_KEYS = ("file", "folder", "class", "methods", *_LISTS)


def read(text: str, source: str, options: ImportOptions) -> Reading:
    """Return what the specs say; raises UsageError (``bad-import``) for what is no such spec."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("bad-import", f"{source} is not valid JSON: {error}") from None
    specs = list(_specs(document))
    if not specs:
        raise UsageError("bad-import", f"{source} holds no spec: an object with {', '.join(_LISTS)}")
    reading = Reading()
    for spec in specs:
        _spec(reading, spec, options)
    return reading


def _specs(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the specs in a document: one, a list of them, or an object of them by name."""
    match document:
        case dict() if any(key in document for key in _LISTS):
            yield document
        case dict():
            for value in document.values():
                yield from _specs(value)
        case list():
            for value in document:
                yield from _specs(value)
        case _:
            return


def _spec(reading: Reading, spec: dict[str, Any], options: ImportOptions) -> None:
    files = [under_test_folder(file) for file in _texts(spec.get("file"))]
    folders = [under_test_folder(f"{folder.rstrip('/')}/x").removesuffix("x") for folder in _texts(spec.get("folder"))]
    classes = _texts(spec.get("class"))
    patterns = tuple([literal(file) for file in files] + [f"{literal(folder)}*" for folder in folders])
    group = (files or folders or classes or ["spec"])[0].rstrip("/").rpartition("/")[2].removesuffix(".py")
    for key in spec:
        if key not in _KEYS:
            reading.leave_out(f"{group}: {key}", "the key is not known")
    if spec.get("methods"):
        reading.leave_out(f"{group}: methods", "it chooses tests to run; a skiplist says what does not pass")
    for key in _LISTS:
        for name, reason in _items(spec.get(key)):
            if not name.strip():
                reading.leave_out(f"{group}: {key}: {name!r}", "it is no name")
                continue
            if key == "skip_classes":
                match = Match(classes=(f"*{literal(name)}*",), files=patterns)
            else:
                plain = neutral_method(name, options.device) or name
                match = Match(
                    names=(f"*{literal(plain)}*",), classes=tuple(literal(one) for one in classes), files=patterns
                )
            expect = options.expect or (Expectation.FAIL if key == "xfail" else Expectation.SKIP)
            text, link = split_link(reason)
            reading.note("it is a part of names: it holds for every test or class whose name has it", name)
            reading.listed.append(Listed(expect, group, match=match, reason=text, link=link))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _items(value: Any) -> Iterator[tuple[str, str]]:
    """Yield names with their reasons from any of the shapes; what is none of them is a name of no letters."""
    match value:
        case None:
            return
        case str():
            yield value, ""
        case list():
            for item in value:
                yield from _items(item)
        case {"tests": tests, **rest}:
            reason = rest.get("reason")
            for name, own in _items(tests):
                yield name, own or (reason if isinstance(reason, str) else "")
        case dict():
            for name, detail in value.items():
                match detail:
                    case {"tests": _}:
                        yield from _items(detail)
                    case {"reason": str(reason)}:
                        yield name, reason
                    case str():
                        yield name, detail
                    case _:
                        yield name, ""
        case _:
            yield "", ""
