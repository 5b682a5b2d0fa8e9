"""Write a report to standard output, or whole in place of a file."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path


def write_report(text: str) -> None:
    """Write the text to standard output, and end in peace where its reader has gone (``| head``).

    A character that the output's encoding lacks is written as an escape.
    """
    stream = sys.stdout
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # What is still buffered goes nowhere; otherwise the interpreter would complain about it at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a path to write to that takes the place of ``target`` at the end; an OSError leaves that as it was."""
    beside = target.parent / f".{target.name}.new"
    try:
        yield beside
        beside.replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
