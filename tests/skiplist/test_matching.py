"""Which entry counts for a test."""

from __future__ import annotations

import random
from datetime import date
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest

from conformance.model.identity import Identity, Suite
from conformance.skiplist.conditions import Context
from conformance.skiplist.entry import MATCH_FIELDS, Entry
from conformance.skiplist.matching import Candidates, MatchedBy, compile_skiplist, meets
from conformance.skiplist.patterns import literal
from tests.skiplist.building import entry, identity, op_test

if TYPE_CHECKING:
    from collections.abc import Sequence

ADD = op_test("add")
DET = op_test("linalg.det", "complex64")
LINEAR = identity("modules::TestModules::test_forward_nn_Linear_float32", module="nn.Linear", dtype="float32")
PLAIN = identity("tests/test_local.py::test_plain", suite=Suite.LOCAL)


def winner(test: Identity, *entries: Entry, context: Context | None = None) -> str | None:
    found = compile_skiplist(entries, context).match(test)
    return found.entry.id if found else None


@pytest.mark.parametrize(
    ("fields", "matched"),
    [
        ({"ops": ["linalg.*"]}, [DET]),
        ({"ops": ["add", "mul"]}, [ADD]),
        ({"ops": ["ADD"]}, []),
        ({"ops": ["ad"]}, []),
        ({"ops": ["*"]}, [ADD, DET]),
        ({"modules": ["nn.*"]}, [LINEAR]),
        ({"dtypes": ["complex*"]}, [DET]),
        ({"dtypes": ["*"]}, [ADD, DET, LINEAR]),
        ({"templates": ["test_out"]}, [ADD, DET]),
        ({"names": ["*_float32"]}, [ADD, LINEAR]),
        ({"names": ["test_out_add_float32"]}, [ADD]),
        ({"classes": ["TestCommon"]}, [ADD, DET]),
        ({"classes": ["*"]}, [ADD, DET, LINEAR]),
        ({"files": ["test_ops.py"]}, [ADD, DET]),
        ({"files": ["tests/*"]}, [PLAIN]),
        ({"files": ["*"]}, [ADD, DET, LINEAR, PLAIN]),
        ({"ops": ["linalg.*"], "dtypes": ["float32"]}, []),
        ({"ops": ["linalg.*", "add"], "dtypes": ["float32", "complex64"]}, [ADD, DET]),
        ({"ops": ["*"], "modules": ["*"]}, []),
        ({"ops": ["linalg.de[st]"]}, [DET]),
    ],
)
def test_fields_are_and_and_values_or(fields: dict[str, Any], matched: list[Identity]) -> None:
    applied = compile_skiplist([entry(**fields)]).apply([ADD, DET, LINEAR, PLAIN])
    assert list(applied) == [test.test_id for test in matched]
    assert {found.by for found in applied.values()} <= {MatchedBy.PATTERNS}


@pytest.mark.parametrize(
    ("tests", "matched"),
    [
        ([ADD.test_id], [ADD]),
        (["*::TestCommon::test_out_add_float32"], [ADD]),
        (["*::test_plain"], [PLAIN]),
        (["tests/test_local.py::test_plain"], [PLAIN]),
        (["*::test_out_add_float32"], []),
        (["other.py::TestCommon::test_out_add_float32"], []),
        (["test_ops.py::TestCommon::test_out_add"], []),
    ],
)
def test_ids_are_exact(tests: list[str], matched: list[Identity]) -> None:
    applied = compile_skiplist([entry(tests=tests)]).apply([ADD, DET, LINEAR, PLAIN])
    assert list(applied) == [test.test_id for test in matched]


def test_an_exact_id_beats_any_file_beats_patterns_wherever_they_stand() -> None:
    exact = entry("exact", tests=[ADD.test_id])
    any_file = entry("any-file", tests=["*::TestCommon::test_out_add_float32"])
    patterns = entry("patterns", ops=["add"], dtypes=["float32"], templates=["*"], classes=["*"], files=["*"])
    for entries in ([exact, any_file, patterns], [patterns, any_file, exact], [any_file, exact, patterns]):
        assert winner(ADD, *entries) == "exact"
    for entries in ([any_file, patterns], [patterns, any_file]):
        assert winner(ADD, *entries) == "any-file"


def test_more_fields_beat_fewer_and_then_the_later_entry_counts() -> None:
    one, two, other_two = entry("one", ops=["add"]), entry("two", ops=["*"], dtypes=["*"]), entry("other", ops=["a*"])
    assert winner(ADD, two, one) == "two"
    assert winner(ADD, one, two) == "two"
    assert winner(ADD, one, other_two) == "other"
    assert winner(ADD, other_two, one) == "one"
    assert winner(ADD, entry("a", tests=[ADD.test_id]), entry("b", tests=[ADD.test_id])) == "b"


def test_an_entry_matches_by_either_of_its_parts() -> None:
    both = entry("both", tests=[ADD.test_id], ops=["linalg.*"])
    applied = compile_skiplist([both]).apply([ADD, DET, LINEAR])
    assert [found.by for found in applied.values()] == [MatchedBy.TEST, MatchedBy.PATTERNS]


def test_an_inactive_entry_leaves_its_tests_to_the_others() -> None:
    weak = entry("weak", ops=["add"])
    expired = entry("expired", tests=[ADD.test_id], expires=date(2026, 10, 30))
    assert winner(ADD, weak, expired, context=Context(today=date(2026, 11, 1))) == "weak"
    assert winner(ADD, weak, expired, context=Context(today=date(2026, 10, 30))) == "expired"
    assert winner(ADD, weak, expired) == "expired"


def test_the_index_finds_what_plain_reading_of_the_rules_finds() -> None:
    """Compare with a second implementation that knows no index, over random entries and tests."""
    chance = random.Random(7)
    patterns = ["a", "b", "a*", "*b", "*a*", "?", "[ab]c", "*", "abc", "x.y", "*.y", "[[]a]"]
    values = ["a", "b", "ab", "abc", "ac", "x.y", "z", "[a]", ""]
    entries = []
    for number in range(120):
        fields = {
            field: [chance.choice(patterns) for _ in range(chance.randint(1, 2))]
            for field in MATCH_FIELDS
            if chance.random() < 0.4
        }
        tests = [f"{chance.choice('*f')}::C::{chance.choice('xyz')}"] if chance.random() < 0.2 or not fields else []
        entries.append(entry(f"e{number}", tests=tests, **fields))
    matcher = compile_skiplist(entries)
    found = set()
    for _ in range(700):
        pick = [chance.choice(values) for _ in range(5)]
        test = Identity(
            chance.choice(["f", pick[0] or "g"]),
            chance.choice(["C", pick[1]]),
            chance.choice(["x", pick[2]]),
            Suite.UPSTREAM,
            pick[3],
            op=chance.choice([None, pick[4]]),
            module=chance.choice([None, chance.choice(values)]),
            dtype=chance.choice([None, chance.choice(values)]),
        )
        expected = slowly(test, entries)
        got = matcher.match(test)
        assert (got and got.entry.id) == expected, test
        found.add(expected)
    assert len(found) > 30
    assert None in found


def slowly(test: Identity, entries: Sequence[Entry]) -> str | None:
    best: tuple[int, int, int] | None = None
    for position, candidate in enumerate(entries):
        rank = None
        if all(field_met(test, field, wanted) for field, wanted in candidate.match.fields) and candidate.match:
            rank = (0, len(candidate.match.fields), position)
        if f"*::{test.test_id.partition('::')[2]}" in candidate.tests:
            rank = (1, 0, position)
        if test.test_id in candidate.tests:
            rank = (2, 0, position)
        if rank is not None and (best is None or rank > best):
            best = rank
    return entries[best[2]].id if best else None


def field_met(test: Identity, field: str, wanted: Sequence[str]) -> bool:
    attribute = {"ops": "op", "classes": "class_name"}.get(field, field[:-1])
    value = getattr(test, attribute)
    if value is None or (field == "classes" and not value):
        return False
    return any(fnmatchcase(value, pattern) for pattern in wanted)


def test_every_candidate_is_told_from_the_strongest_to_the_weakest() -> None:
    entries = [
        entry("a", ops=["add"]),
        entry("b", ops=["*"], dtypes=["*"]),
        entry("c", ops=["a*"]),
        entry("d", ops=["x"]),
    ]
    entries += [entry("e", tests=[ADD.test_id, ADD.test_id], ops=["add"]), entry("f", tests=[f"*{ADD.test_id[11:]}"])]
    assert [found.entry.id for found in Candidates(entries).of(ADD)] == ["e", "f", "b", "c", "a"]
    assert Candidates(entries).of(PLAIN) == []
    assert Candidates([]).of(ADD) == []


def test_a_literal_pattern_matches_its_text_only() -> None:
    for text in ("test_x[a-*]", "a?b", "plain", "[[]"):
        assert fnmatchcase(text, literal(text))
    assert not fnmatchcase("test_x[a-b]", literal("test_x[a-*]"))
    assert meets(ADD, "ops", ["a*"])
    assert not meets(ADD, "modules", ["*"])
