"""Write entries as the text of a skiplist file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from conformance.skiplist.entry import Entry
from conformance.skiplist.keys import SCHEMA

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WIDTH = 120


def render_list(entries: Iterable[Entry], *, comment: str = "") -> str:
    """Return the text of a file with these entries; every line of the comment stands at its top behind ``#``."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return "\n".join([f"{head}schema = {SCHEMA}\n", *map(render_entry, entries)])


def render_entry(entry: Entry) -> str:
    """Return one entry, its keys in the order of the documentation, with those that say nothing left out."""
    lines = [
        "[[entry]]",
        f"id = {quoted(entry.id)}",
        f'expect = "{entry.expect}"',
        f'category = "{entry.category}"',
        f"reason = {quoted(entry.reason)}",
        f"link = {quoted(entry.link)}",
        f"added = {entry.added.isoformat()}",
    ]
    texts = [(name, getattr(entry, name)) for name in ("owner", "torch", "device_version", "device_name")]
    lines += [f"{name} = {quoted(text)}" for name, text in texts if text]
    if entry.emulated is not None:
        lines.append(f"emulated = {str(entry.emulated).lower()}")
    if entry.expires is not None:
        lines.append(f"expires = {entry.expires.isoformat()}")
    if entry.message:
        lines.append(f"message = {quoted(entry.message)}")
    if entry.guess:
        lines.append("guess = true")
    if entry.match:
        lines += _match(entry)
    if entry.tests:
        lines += ["tests = [", *(f"    {quoted(test)}," for test in entry.tests), "]"]
    return "\n".join(lines) + "\n"


def _match(entry: Entry) -> list[str]:
    fields = [f"{name} = [{', '.join(map(quoted, patterns))}]" for name, patterns in entry.match.fields]
    line = f"match = {{ {', '.join(fields)} }}"
    if len(line) <= _WIDTH:
        return [line]
    # A newline is allowed in an array, but in an inline table only from TOML 1.1 on.
    lines = ["match = {"]
    for name, patterns in entry.match.fields:
        one = f" {name} = [{', '.join(map(quoted, patterns))}],"
        if len(lines[-1]) + len(one) <= _WIDTH:
            lines[-1] += one
        else:
            lines[-1] += f" {name} = ["
            lines += [f"    {quoted(pattern)}," for pattern in patterns]
            lines.append("],")
    lines[-1] = lines[-1].rstrip(",") + " }"
    return lines


def quoted(text: str) -> str:
    """Return a TOML string; one with backslashes, such as a regular expression, as a literal where that can be."""
    text = _SURROGATE.sub("\ufffd", text)
    if "\\" in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    # JSON's escapes are TOML's too, but for DEL, which JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
