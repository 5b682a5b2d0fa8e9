"""The keys of the format, once: what the loader, the JSON Schema and the documentation are made from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

SCHEMA = 1

ENTRY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Kind(Enum):
    """The kind of value that a key takes."""

    ID = "id"
    EXPECTATION = "expectation"
    CATEGORY = "category"
    TEXT = "text"
    REGEX = "regular expression"
    SPECIFIER = "version specifier"
    DATE = "date"
    BOOLEAN = "true or false"
    MATCH = "table of patterns"
    PATTERNS = "list of shell patterns"
    TESTS = "list of test ids"


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its name, what it takes, whether an entry must have it, and what it means in one sentence."""

    name: str
    kind: Kind
    required: bool
    meaning: str


ENTRY_KEYS = (
    Key("id", Kind.ID, True, "Name of the entry, unique among all files of a list; every report quotes it."),
    Key("expect", Kind.EXPECTATION, True, "What its tests do."),
    Key("category", Kind.CATEGORY, True, "The cause."),
    Key("reason", Kind.TEXT, True, "Why, for somebody who meets it for the first time; `lint` wants more than a word."),
    Key("link", Kind.TEXT, True, "The issue, or the document that the limit stands in; `lint` wants one."),
    Key("added", Kind.DATE, True, "The day on which the entry was written."),
    Key("owner", Kind.TEXT, False, "Who looks after it: a team or a person."),
    Key("torch", Kind.SPECIFIER, False, "Versions of torch for which the entry is active, such as `>=2.13,<2.15`."),
    Key("device_version", Kind.SPECIFIER, False, "Versions of the backend for which it is active, such as `<2.14.3`."),
    Key("device_name", Kind.TEXT, False, "Shell pattern for the name of the device that a run records: `Trainium2*`."),
    Key("emulated", Kind.BOOLEAN, False, "true: active on a stand-in only; false: on the real device only."),
    Key("expires", Kind.DATE, False, "The last day on which the entry is active."),
    Key("message", Kind.REGEX, False, "What the text of the failure must contain, as Python's `re.search` finds it."),
    Key("guess", Kind.BOOLEAN, False, "true: a program wrote cause and reason, and nobody has confirmed them."),
    Key("match", Kind.MATCH, False, "Patterns; a test must meet one of each field that is given."),
    Key("tests", Kind.TESTS, False, "Exact test ids; `*::TestX::test_y` is that class and method in whatever file."),
)

MATCH_KEYS = (
    Key("ops", Kind.PATTERNS, False, "Full name of the operator under test: `div.floor_rounding`, `linalg.*`."),
    Key("modules", Kind.PATTERNS, False, "Full name of the module under test: `nn.Linear`."),
    Key("dtypes", Kind.PATTERNS, False, "The one dtype of the test, without `torch.`: `complex*`."),
    Key("templates", Kind.PATTERNS, False, "The method before operator and dtype are filled in: `test_out`."),
    Key("names", Kind.PATTERNS, False, "The method with them filled in, without the device: `test_out_add_*`."),
    Key("classes", Kind.PATTERNS, False, "The class, without the device: `TestCommon`."),
    Key("files", Kind.PATTERNS, False, "The file as in the test id: `test_ops.py`, `nn/*`, `opinfo`."),
)

TOP_KEYS = ("schema", "entry")
