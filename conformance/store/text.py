"""Make any text fit to be stored, and write node ids in few bytes."""

from __future__ import annotations

import hashlib

MESSAGE_LIMIT = 2 * 1024
DETAILS_LIMIT = 16 * 1024


def storable(text: str) -> str:
    r"""Return the text with what SQLite or UTF-8 cannot hold escaped visibly.

    A NUL becomes ``\x00``, since SQLite's text functions stop at one; a lone surrogate becomes ``\udXXX``, since UTF-8
    has no bytes for it.
    """
    if text.isascii():
        return text.replace("\0", "\\x00") if "\0" in text else text
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def capped(text: str, limit: int) -> str:
    """Return the storable text, cut to ``limit`` characters with a mark that says how many were cut.

    The mark comes on top of the limit.
    """
    text = storable(text)
    if len(text) <= limit:
        return text
    return f"{text[:limit]}... ({len(text) - limit} characters cut)"


def digest(text: str) -> bytes:
    """Return the 12 bytes by which a text is found again."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=12).digest()


def spelling(test_id: str, node_id: str) -> tuple[str, int, str, int]:
    """Return (head, cut, infix, tail): how to write the node id from the test id.

    The node id is ``head``, then the test id without its first ``cut`` and its last ``tail`` characters, then
    ``infix``, then those last ``tail`` characters. ``test_ops.py::TestCommon::test_out_float32`` becomes
    ``test/test_ops.py::TestCommonNEURON::test_out_neuron_float32`` with the head
    ``test/test_ops.py::TestCommonNEURON::``, the infix ``neuron_`` and the tail ``float32``. A node id that is no
    such variation is all head.
    """
    name = test_id.rpartition("::")[2]
    path, separator, node_name = node_id.rpartition("::")
    shared = 0
    for left, right in zip(name, node_name, strict=False):
        if left != right:
            break
        shared += 1
    tail = len(name) - shared
    if len(node_name) >= len(name) and node_name.endswith(name[shared:]):
        return path + separator, len(test_id) - len(name), node_name[shared : len(node_name) - tail], tail
    return node_id, len(test_id), "", 0
