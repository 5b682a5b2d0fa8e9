"""What a run knew of a skiplist's entry when it planned its tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """One entry of the skiplist in force, as it was then; the words are those of the skiplist's format.

    ``added`` and ``expires`` are dates in ISO 8601, empty where there is none; ``message`` is the regular expression
    that a failure must match, empty where any may come. ``guess`` marks an entry nobody has confirmed.
    """

    entry_id: str
    expect: str
    category: str
    reason: str
    link: str = ""
    owner: str = ""
    added: str = ""
    expires: str = ""
    message: str = ""
    guess: bool = False
