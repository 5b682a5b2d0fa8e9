"""Find the operators that a failure is about: those its message names, or those the line that raised it calls."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# The dispatcher's own messages put the name into quotes; other namespaces than aten occur there alone.
_ATEN = re.compile(r"\baten::\w+(?:\.\w+)?")
_COULD_NOT_RUN = re.compile(r"Could not run '(\w+::\w+(?:\.\w+)?)'")

_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'\s+File "(?P<file>[^"]*)", line \d+')
_CALL = re.compile(r"(?<![\w.])(?:[\w\])]+\.)+(\w+)\(|[\])]\.(\w+)\(")
_MARKERS = re.compile(r"[\s~^]*[~^][\s~^]*")
# A line that complains about something calls operators only to say what.
_COMPLAINT = re.compile(r"\s*(?:raise|assert)\b")
# What compares results is not what is compared.
_HARNESS = re.compile(r"(?:^|[/\\])(?:conformance|torch[/\\]testing|unittest|_pytest)[/\\]")


def named_overloads(message: str) -> tuple[str, ...]:
    """Return the overloads that a message names (``aten::add.Tensor``), sorted."""
    return tuple(sorted({*_ATEN.findall(message), *_COULD_NOT_RUN.findall(message)}))


def packet_of(overload: str) -> str:
    """Return ``add`` of ``aten::add.Tensor``; the name of an operator of ATen's stays."""
    return overload.rpartition("::")[2].partition(".")[0]


def called_names(details: str) -> frozenset[str]:
    """Return the names of the methods and functions that the line which raised the first error of a traceback calls.

    Where Python underlines a part of the line, only the calls in that part count. A line of the harness, of what
    compares results, and one that raises by itself call nothing.
    """
    _, found, rest = details.partition(_TRACEBACK)
    if not found:
        return frozenset()
    file = ""
    code: list[str] = []
    for line in rest.splitlines()[1:]:
        frame = _FRAME.match(line)
        if frame:
            file, code = frame["file"], []
        elif line[:1].isspace():
            code.append(line)
        else:
            break
    if _HARNESS.search(file) or not code or _COMPLAINT.match(code[0]):
        return frozenset()
    return frozenset(one or other for one, other in _CALL.findall(_underlined(code)))


def _underlined(code: list[str]) -> str:
    """Return the parts of the lines that have markers below them, all of the first line where none has."""
    parts = [
        line[min(place for place, sign in enumerate(below) if sign in "~^") : len(below.rstrip())]
        for line, below in itertools.pairwise(code)
        if _MARKERS.fullmatch(below) and not _MARKERS.fullmatch(line)
    ]
    return "\n".join(parts) if parts else code[0]


def blamed(message: str, details: str, fell_back: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the overloads that a failure is about, or the operator of ATen's where its overload is not known; sorted.

    What the message names comes first. Otherwise they are the overloads that fell back to the CPU in the test and that
    the line which raised it calls, or the one operator of ``known`` (such as ``histc``) that it calls. A failure that
    neither holds for, such as a wrong result, is about no operator that could be named.
    """
    named = named_overloads(message)
    if named:
        return named
    called = called_names(details)
    fallen = tuple(sorted(overload for overload in set(fell_back) if packet_of(overload) in called))
    if fallen:
        return fallen
    operators = called.intersection(known)
    return tuple(operators) if len(operators) == 1 else ()
