"""Write a report to standard output."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper


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
