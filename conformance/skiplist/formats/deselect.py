"""Read files of pytest's ``--deselect`` arguments: one node id a line, with or without the option before it."""

from __future__ import annotations

import re

from conformance.skiplist.formats.array_api import read_line
from conformance.skiplist.formats.imported import ImportOptions, Reading, split_link
from conformance.skiplist.vocabulary import Expectation

_OPTION = "--deselect"
_WORD = re.compile(r"(?:[^\s\[]|\[.*?\](?=[\"']?(?:\s|$)))+")


def read(text: str, source: str, options: ImportOptions) -> Reading:  # noqa: ARG001
    """Return what the file says; other options of pytest are left out.

    The comment above a block of lines is its reason. What pytest deselects is not run, so it becomes ``skip``.
    """
    reading = Reading()
    comment: list[str] = []
    after_comment = awaited = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("#"):
            comment = [*comment, line.lstrip("# ")] if after_comment else [line.lstrip("# ")]
            after_comment = True
            continue
        if not line:
            comment = []
        after_comment = False
        reason, link = split_link(" ".join(comment))
        for word in _words(line):
            if word == _OPTION:
                awaited = True
                continue
            node_id = word.removeprefix(f"{_OPTION}=")
            if node_id.startswith("-") and not awaited:
                reading.leave_out(word, "it is another option of pytest's", number)
                continue
            awaited = False
            expect = options.expect or Expectation.SKIP
            read_line(reading, node_id, number, expect=expect, reason=reason, link=link, device=options.device)
    return reading


def _words(line: str) -> list[str]:
    """Return the arguments in a line, without quotes around them; parameters of a test may hold blanks."""
    return [word.strip("\"'") for word in _WORD.findall(line)]
