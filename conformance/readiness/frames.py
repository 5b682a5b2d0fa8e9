"""Find the user's own lines in a stack."""

from __future__ import annotations

import linecache
import os
import re
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from conformance.readiness.findings import Frame

MOST = 8
_OURS = str(Path(__file__).resolve().parents[1]) + os.sep
_STANDARD = tuple({str(Path(sysconfig.get_path(name)).resolve()) + os.sep for name in ("stdlib", "platstdlib")})
_INSTALLED = re.compile(r"^.*/(?:site-packages|dist-packages)/")
_TORCH = re.compile(r"/(?:site-packages|dist-packages)/torch/")
# faulthandler: dump_frame in CPython's Python/traceback.c
_DUMPED = re.compile(r'^\s+File "(?P<path>.*)", line (?P<line>\d+) in (?P<function>.*)$')
_THREAD = re.compile(r"^(?:Current thread|Thread|Stack) .*\(most recent call first\):$")


def of_traceback(trace: TracebackType | None) -> tuple[Frame, ...]:
    """Return the user's frames of an exception, the innermost last."""
    return chosen((item.filename, item.lineno or 0, item.name) for item in traceback.extract_tb(trace))


def of_here() -> tuple[Frame, ...]:
    """Return the user's frames of the call that is running."""
    return chosen((item.filename, item.lineno or 0, item.name) for item in traceback.extract_stack())


def of_dump(text: str) -> tuple[Frame, ...]:
    """Return the user's frames of what faulthandler wrote about a process that died or was asked where it is."""
    threads: list[list[tuple[str, int, str]]] = []
    current: list[tuple[str, int, str]] | None = None
    for line in text.splitlines():
        if _THREAD.match(line):
            threads.append([])
            if line.startswith("Current thread"):
                current = threads[-1]
        elif threads and (found := _DUMPED.match(line)):
            threads[-1].insert(0, (found["path"], int(found["line"]), found["function"]))
    for frames in [current or [], *reversed(threads)]:
        if found_frames := chosen(frames):
            return found_frames
    return ()


def of_text(text: str) -> tuple[Frame, ...]:
    """Return the user's frames of a traceback that was printed, the innermost last."""
    found = re.findall(r'^\s*File "(.*)", line (\d+), in (.*)$', text, re.MULTILINE)
    return chosen((path, int(line), function) for path, line, function in found)


def chosen(frames: Iterable[tuple[str, int, str]]) -> tuple[Frame, ...]:
    """Return the frames of the user's own files; those of installed packages where there are no others.

    Frames of torch, the standard library and this harness are left out.
    """
    kept = [frame for frame in frames if not _is_machinery(frame[0])]
    own = [frame for frame in kept if not _INSTALLED.search(frame[0])]
    return tuple(
        Frame(_short(path), line, function, linecache.getline(path, line).strip())
        for path, line, function in (own or kept)[-MOST:]
    )


def _is_machinery(path: str) -> bool:
    if path.startswith(("<", _OURS)) or _TORCH.search(path):
        return True
    return path.startswith(_STANDARD) and not _INSTALLED.search(path)


def _short(path: str) -> str:
    here = os.getcwd() + os.sep  # noqa: PTH109 - a text is wanted
    if path.startswith(here):
        return path[len(here) :]
    return _INSTALLED.sub("", path)
