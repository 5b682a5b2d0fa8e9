"""Read the files that ``conformance skiplist`` is given, and write those that it makes."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import InfrastructureError, UsageError
from conformance.report.output import replacing, write_report

if TYPE_CHECKING:
    from conformance.skiplist.edit import FileEdit

EMPTY_LIST = "schema = 1\n"

_BYTE_ORDER_MARK = "\ufeff"


def read_source(source: str) -> str:
    """Return the text of a file, or of standard input for ``-``."""
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise UsageError("bad-import", f"cannot read {source}: {error.strerror or error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("bad-import", f"{source} is not UTF-8 (byte {error.start})") from None


def refuse_existing(target: Path | None, *, force: bool) -> None:
    """Raise UsageError (``output-exists``) before any work is done, if a file would be overwritten."""
    if target is not None and target.exists() and not force:
        raise UsageError("output-exists", f"{target} exists; give --force to replace it, or another --out")


def write_target(target: Path | None, text: str) -> str:
    """Write the text as a whole or not at all, to standard output without a target; return where it is."""
    if target is None:
        write_report(text)
        return "standard output"
    write_whole(target, text)
    return str(target)


def write_whole(target: Path, text: str) -> None:
    """Put the text in place of what the file held, or leave that as it is."""
    try:
        with replacing(target) as beside:
            beside.write_bytes(text.encode("utf-8"))
            if target.exists():
                beside.chmod(target.stat().st_mode & 0o777)
    except OSError as error:
        raise InfrastructureError("skiplist-unwritable", f"cannot write {target}: {error.strerror or error}") from None


def edited_files(edits: Mapping[str, FileEdit]) -> dict[Path, tuple[str, str]]:
    """Return the text of each file before and after its edit; a file that does not exist begins as an empty list."""
    from conformance.skiplist.edit import edit_text

    changed = {}
    for name, edit in edits.items():
        file = Path(name)
        # Bytes: an edit must not change the ends of lines that it does not concern.
        before = file.read_bytes().decode("utf-8") if file.exists() else ""
        mark = _BYTE_ORDER_MARK if before.startswith(_BYTE_ORDER_MARK) else ""
        changed[file] = (before, mark + edit_text(before.removeprefix(mark) or EMPTY_LIST, edit, name))
    return changed


def unified_diff(changed: Mapping[Path, tuple[str, str]]) -> list[str]:
    """Return the lines of the difference, as ``diff -u`` and git write it."""
    lines: list[str] = []
    for file, (before, after) in changed.items():
        old, new = before.splitlines(), after.splitlines()
        lines += difflib.unified_diff(old, new, f"a/{file}", f"b/{file}", lineterm="", n=2)
    return lines
