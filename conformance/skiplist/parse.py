"""Turn the text of one skiplist file into entries, and collect everything that is wrong with it."""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any, TypeVar

from conformance.skiplist.entry import ANY_FILE, Entry, Match, Place, Problem
from conformance.skiplist.keys import ENTRY_ID, ENTRY_KEYS, MATCH_KEYS, SCHEMA, TOP_KEYS, Key, Kind
from conformance.skiplist.lines import EntryLines, FileLines, locate
from conformance.skiplist.vocabulary import Category, Expectation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_Member = TypeVar("_Member", bound=Enum)

_AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_WILD = re.compile(r"[*?]")


def parse_text(text: str, file: str) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """Return the entries of a file that can be used, and what is wrong with it, in the order of its lines."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return (), (_broken(str(error), text, file),)
    except RecursionError:
        return (), (_broken("values are nested too deeply", text, file),)
    reader = _Reader(file, locate(text))
    entries = reader.read(document)
    return entries, tuple(sorted(reader.problems, key=lambda problem: problem.place.line))


def near(name: str, names: Iterable[str]) -> str:
    """Return a hint at names that look like a wrong one, or nothing."""
    close = difflib.get_close_matches(name, list(names), n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(word) for word in close)}?" if close else ""


def _broken(message: str, text: str, file: str) -> Problem:
    at = _AT.search(message)
    if at is None:
        return Problem(Place(file), "", f"not valid TOML: {message}")
    line = int(at[1]) if at[1] else max(1, len(text.splitlines()))
    return Problem(Place(file, line), "", f"not valid TOML: {message[: at.start()]}")


class _Reader:
    """Read one document; what is wrong goes to ``problems``, and an entry with a problem is left out."""

    def __init__(self, file: str, lines: FileLines) -> None:
        self.file = file
        self.lines = lines
        self.problems: list[Problem] = []
        self.entry_id = ""
        self.where = EntryLines(0)
        self.specifiers: dict[str, str] = {}

    def read(self, document: Mapping[str, Any]) -> tuple[Entry, ...]:
        for key in document:
            if key not in TOP_KEYS:
                self._add(self.lines.keys.get(key, 0), f"unknown key '{key}'{near(key, TOP_KEYS)}")
        self._check_schema(document)
        tables = document.get("entry", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            line = self.lines.keys.get("entry", 0)
            self._add(line, "'entry' must be tables, each under a header [[entry]]")
            return ()
        located = self.lines.entries
        if len(located) != len(tables):
            located = [EntryLines(self.lines.keys.get("entry", 0)) for _ in tables]
        entries = []
        for table, where in zip(tables, located, strict=True):
            self.where = where
            self.entry_id = table["id"] if isinstance(table.get("id"), str) else ""
            before = len(self.problems)
            entry = self._entry(table)
            if len(self.problems) == before and entry is not None:
                entries.append(entry)
        return tuple(entries)

    def _add(self, line: int, text: str) -> None:
        self.problems.append(Problem(Place(self.file, line), self.entry_id, text))

    def _bad(self, key: str, text: str) -> None:
        self._add(self.where.keys.get(key, self.where.line), text)

    def _check_schema(self, document: Mapping[str, Any]) -> None:
        schema = document.get("schema")
        if schema is None:
            self._add(1, f"'schema = {SCHEMA}' is missing; it stands before the first entry")
        elif type(schema) is not int or schema != SCHEMA:
            newer = type(schema) is int and schema > SCHEMA
            advice = "install a newer torch-conformance" if newer else f"write schema = {SCHEMA}"
            self._add(self.lines.keys.get("schema", 0), f"schema {schema!r} is not known here; {advice}")

    def _entry(self, table: Mapping[str, Any]) -> Entry | None:
        names = [key.name for key in ENTRY_KEYS]
        for name in table:
            if name in names:
                continue
            if name in (key.name for key in MATCH_KEYS):
                self._bad(name, f"'{name}' belongs into match = {{ {name} = [...] }}")
            else:
                self._bad(name, f"unknown key '{name}'{near(name, names)}")
        missing = [f"'{key.name}'" for key in ENTRY_KEYS if key.required and key.name not in table]
        if missing:
            self._add(self.where.line, f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        values: dict[str, Any] = {}
        for key in ENTRY_KEYS:
            if key.name in table:
                try:
                    values[key.name] = self._value(key, table[key.name])
                except _Invalid as invalid:
                    self._bad(invalid.key, invalid.text)
                    missing.append(key.name)
        if not _matches_something(table):
            self._add(self.where.line, "it matches nothing: give 'match', 'tests' or both")
        added, expires = values.get("added"), values.get("expires")
        if added and expires and expires < added:
            self._bad("expires", f"it expires on {expires}, before it was added on {added}")
        if missing:
            return None
        lines = tuple(self.where.tests) if len(self.where.tests) == len(values.get("tests", ())) else ()
        return Entry(**values, place=Place(self.file, self.where.line), test_lines=lines)

    def _value(self, key: Key, value: Any) -> Any:
        """Return the value as an Entry holds it."""
        match key.kind:
            case Kind.ID:
                return _id(value)
            case Kind.EXPECTATION:
                return _member(key.name, Expectation, value)
            case Kind.CATEGORY:
                return _member(key.name, Category, value)
            case Kind.TEXT:
                return _text(key.name, value)
            case Kind.REGEX:
                return _regex(key.name, value)
            case Kind.SPECIFIER:
                return self._specifier(key.name, value)
            case Kind.DATE:
                return _date(key.name, value)
            case Kind.BOOLEAN:
                return _boolean(key.name, value)
            case Kind.MATCH:
                return self._match(value)
            case Kind.TESTS:
                return self._tests(key.name, value)
            case Kind.PATTERNS:
                return _strings(key.name, value)

    def _specifier(self, name: str, value: Any) -> str:
        text = _text(name, value)
        if text not in self.specifiers:
            self.specifiers[text] = _specifier_problem(text)
        if self.specifiers[text]:
            raise _Invalid(name, f"'{name}' {self.specifiers[text]}")
        return text

    def _match(self, value: Any) -> Match:
        if not isinstance(value, dict):
            raise _wrong("match", value, "a table, such as { ops = [...] }")
        names = [key.name for key in MATCH_KEYS]
        for name in value:
            if name not in names:
                self._bad(f"match.{name}", f"unknown key '{name}' in match{near(name, names)}")
        return Match(**{name: _strings(f"match.{name}", value[name]) for name in names if name in value})

    def _tests(self, name: str, value: Any) -> tuple[str, ...]:
        tests = _strings(name, value)
        lines = self.where.tests if len(self.where.tests) == len(tests) else []
        for index, test in enumerate(tests):
            problem = problem_of_test(test)
            if problem:
                line = lines[index] if lines else self.where.keys.get(name, self.where.line)
                self._add(line, f"{test!r} {problem}")
        return tests


class _Invalid(Exception):  # noqa: N818 - it never leaves this module
    """A value that its key does not take."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key
        self.text = text


def _wrong(name: str, value: Any, wanted: str) -> _Invalid:
    return _Invalid(name, f"'{_short(name)}' must be {wanted}, not {_described(value)}")


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _matches_something(table: Mapping[str, Any]) -> bool:
    match = table.get("match")
    # A match of another type has a problem of its own.
    return bool(table.get("tests")) or (any(match.values()) if isinstance(match, dict) else match is not None)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(name, value, "a text in quotes")
    return value


def _id(value: Any) -> str:
    text = _text("id", value)
    if not ENTRY_ID.fullmatch(text):
        raise _Invalid("id", f"the id {text!r} must be letters, digits, '.', '_' and '-', at most 100 of them")
    return text


def _member(name: str, enum: type[_Member], value: Any) -> _Member:
    text = _text(name, value)
    members = {str(member): member for member in enum}
    if text not in members:
        hint = near(text, members) or f"; it is one of {', '.join(members)}"
        raise _Invalid(name, f"{text!r} is no {'expectation' if name == 'expect' else name}{hint}")
    return members[text]


def _regex(name: str, value: Any) -> str:
    text = _text(name, value)
    if not text:
        raise _Invalid(name, f"'{name}' is empty and would match any text; leave it out")
    try:
        with warnings.catch_warnings():
            # Of what a later Python may read otherwise; what this one reads is what counts.
            warnings.simplefilter("ignore")
            re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise _Invalid(name, f"'{name}' is no regular expression: {error}") from None
    return text


def _date(name: str, value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        raise _Invalid(name, f"'{name}' must be a date: write {name} = {value}, without quotes")
    raise _wrong(name, value, "a date such as 2026-10-20")


def _boolean(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, value, "true or false")
    return value


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise _Invalid(name, f"'{_short(name)}' must be a list: write [{value!r}]")
    if not isinstance(value, list):
        raise _wrong(name, value, "a list of texts")
    for item in value:
        if not isinstance(item, str) or not item.strip():
            raise _Invalid(name, f"'{_short(name)}' must hold texts that are not empty, not {_described(item)}")
    return tuple(value)


def problem_of_test(test: str) -> str:
    """Return what is wrong with a text as an exact test id, or nothing."""
    file, colons, rest = test.partition("::")
    parts = rest.split("[", 1)[0].split("::")
    if not colons:
        return "is no test id: it must be 'file::Class::method', or '*::Class::method' for any file"
    if not file or not all(parts) or test != test.strip():
        return "is no test id: a part of it is empty, or there are blanks around it"
    if _WILD.search("::".join(parts)) or (_WILD.search(file) and not test.startswith(ANY_FILE)):
        return "is no pattern: 'tests' holds exact ids; write match = { names = [...], classes = [...] } for patterns"
    return ""


def _specifier_problem(text: str) -> str:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if not text.strip():
        return "is empty; leave it out"
    try:
        specifiers = SpecifierSet(text)
    except InvalidSpecifier:
        return f"is no version specifier: {text!r}; write one such as '>=2.13,<2.15'"
    if any(specifier.operator == "===" for specifier in specifiers):
        return f"compares texts ({text!r}), and only the release of a version is compared; write '=='"
    return ""


def _described(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return repr(value)
        case datetime():
            return "a date with a time"
        case date():
            return f"the date {value}"
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return f"{value!r}"
