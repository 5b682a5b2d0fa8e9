"""Skiplists: which tests are expected not to pass, and why; docs/skiplists.md has the format and the rules."""

from __future__ import annotations

from conformance.skiplist.conditions import Context
from conformance.skiplist.entry import Entry, Match, Place, Problem, Skiplist
from conformance.skiplist.load import load_skiplist, read_skiplist, skiplist_of_device
from conformance.skiplist.matching import MatchedBy, MatchedEntry, Matcher, compile_skiplist
from conformance.skiplist.vocabulary import Category, Expectation

__all__ = [
    "Category",
    "Context",
    "Entry",
    "Expectation",
    "Match",
    "MatchedBy",
    "MatchedEntry",
    "Matcher",
    "Place",
    "Problem",
    "Skiplist",
    "compile_skiplist",
    "load_skiplist",
    "read_skiplist",
    "skiplist_of_device",
]
