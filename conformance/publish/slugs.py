"""File names for pages: safe on every file system, unique, and never outside their folder."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLEAN = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")
_LONGEST = 80

# Names that Windows gives to devices, with any extension, and the page a web server shows for a folder.
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "index"} | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Give each name a file name without extension.

    A plain name keeps its own spelling. A name that needed cleaning, or that differs only in case from another one
    (``t`` and ``T``), gets a part of its hash; the all-lowercase one of such a pair keeps its spelling. A plain name
    has no hyphen and a hash is always set off by one, so the two kinds never meet.
    """
    distinct = sorted(set(names))
    folded = Counter(name.lower() for name in distinct if _is_plain(name))
    found: dict[str, str] = {}
    for name in distinct:
        alone = _is_plain(name) and (folded[name.lower()] == 1 or name == name.lower())
        found[name] = name if alone else _hashed(name)
    return found


def _is_plain(name: str) -> bool:
    return (
        len(name) <= _LONGEST and _CLEAN.fullmatch(name) is not None and name.split(".", 1)[0].lower() not in _RESERVED
    )


def _hashed(name: str) -> str:
    readable = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40] or "name"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{readable}-{digest[:16]}"


# The script of the site has the same rule (site/static/tests.js).
_PLAIN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:-]*")
_LONGEST_ID = 200


def anchor(test_id: str) -> str:
    """Return the fragment that names a test on its page: its id, or a hash of one that no fragment can hold."""
    if "::" in test_id and len(test_id) <= _LONGEST_ID and _PLAIN_ID.fullmatch(test_id):
        return test_id
    return hashed_anchor("t", test_id)


def named_anchor(prefix: str, name: str) -> str:
    """Return the fragment of something with a name, such as an entry of a skiplist; other prefixes never meet."""
    return f"{prefix}-{name}" if len(name) <= _LONGEST_ID and _PLAIN_ID.fullmatch(name) else hashed_anchor(prefix, name)


def hashed_anchor(prefix: str, text: str) -> str:
    """Return a fragment made of a text of any kind; the same text has the same one in every site."""
    return f"{prefix}-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
