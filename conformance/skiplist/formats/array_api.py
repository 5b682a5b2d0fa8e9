"""Read text files of skips and expected failures, as the Array API test suite takes them.

A line is a part of a node id; ``#`` begins a comment. The suite (array-api-tests, ``conftest.py``) takes one file by
``--skips-file`` and another by ``--xfails-file``, so which of the two a file is stands in its name, or nowhere.
"""

from __future__ import annotations

from pathlib import PurePath

from conformance.errors import UsageError
from conformance.skiplist.formats.imported import ImportOptions, Listed, Reading, split_link
from conformance.skiplist.formats.node_ids import read_node_id
from conformance.skiplist.vocabulary import Expectation


def read(text: str, source: str, options: ImportOptions) -> Reading:
    """Return what the file says; raises UsageError (``bad-import``) if it could be either kind.

    The comment above a block of lines is the reason of that block, one behind a line the reason of that line.
    """
    expect = options.expect or _kind(source)
    reading = Reading()
    comment: list[str] = []
    after_comment = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line:
            comment, after_comment = [], False
        elif line.startswith("#"):
            comment = [*comment, line.lstrip("# ")] if after_comment else [line.lstrip("# ")]
            after_comment = True
        else:
            after_comment = False
            node_id, _, remark = line.partition(" #")
            reason, link = split_link(remark.strip() or " ".join(comment))
            read_line(reading, node_id.strip(), number, expect=expect, reason=reason, link=link, device=options.device)
    return reading


def _kind(source: str) -> Expectation:
    name = PurePath(source).name.lower()
    if "xfail" in name:
        return Expectation.FAIL
    if "skip" in name:
        return Expectation.SKIP
    raise UsageError("bad-import", f"is {source} a list of skips or of expected failures? Say --expect skip or fail")


def read_line(
    reading: Reading, node_id: str, number: int, *, expect: Expectation, reason: str, link: str, device: str
) -> None:
    """Add the meaning of one node id, or leave it out with the line that it stands in."""
    found = read_node_id(node_id, device)
    if found is None:
        reading.leave_out(node_id, "it is no node id: it must begin with a file, 'a/test_b.py::test_c'", number)
        return
    test, match = found
    if match.names:
        reading.note("it names the beginning of a test's name: it holds for every test that begins so", node_id)
    file = node_id.partition("::")[0].rpartition("/")[2].removesuffix(".py")
    reading.listed.append(Listed(expect, file, test=test, match=match, reason=reason, link=link))
