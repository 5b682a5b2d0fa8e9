"""Sets of tests as numbers give the answers that matching test by test gives."""

from __future__ import annotations

import random

from conformance.model.identity import Identity, Suite
from conformance.skiplist.entry import ANY_FILE, Entry
from conformance.skiplist.holding import Held, Plan, PlanRow, name_of
from conformance.skiplist.matching import Matcher
from tests.skiplist.building import entry, identity, op_test

TESTS = [
    *(op_test(op, dtype, template) for op in ("add", "sub", "linalg.det", "linalg.qr") for dtype in ("float32", "int8")
      for template in ("test_out", "test_grad")),
    op_test("sin", None),
    identity("test_nn.py::TestNN::test_x", module="nn.Linear", dtype="float32"),
    identity("nn/test_a.py::TestNN::test_x"),
    Identity("test_plain.py", "", "test_function", Suite.LOCAL, "test_function"),
    Identity("test_plain.py", "", "test_p[a::b]", Suite.LOCAL, "test_p"),
]  # fmt: skip


def row(test: Identity) -> PlanRow:
    return test.test_id, test.file, test.class_name, test.template, test.op, test.module, test.dtype


PLAN = Plan(map(row, TESTS))


def by_entry(held: list[Held]) -> dict[str, str]:
    """Return test id -> entry id."""
    return {test.test_id: one.entry.id for one in held for place, test in enumerate(TESTS) if one.tests >> place & 1}


def expected(entries: list[Entry]) -> dict[str, str]:
    return {test_id: found.entry.id for test_id, found in Matcher(entries).apply(TESTS).items()}


def test_names_are_read_as_the_identity_has_them() -> None:
    assert [name_of(row(test)) for test in TESTS] == [test.name for test in TESTS]


def test_each_way_to_match() -> None:
    entries = [
        entry("ops", ops=["linalg.*"]),
        entry("both", ops=["linalg.*"], dtypes=["int8"]),
        entry("id", tests=[TESTS[0].test_id, "gone.py::T::test_x"]),
        entry("anywhere", tests=[f"{ANY_FILE}TestNN::test_x", f"{ANY_FILE}test_function"]),
        entry("name", names=["test_p[[]*"]),
        entry("no-op", ops=["*"], files=["test_nn.py"]),
    ]
    held = PLAN.held(entries)
    assert by_entry(held) == expected(entries)
    assert [one.entry.id for one in held] == ["ops", "both", "id", "anywhere", "name"]
    assert sum(one.tests.bit_count() for one in held) == len(expected(entries))


def test_the_stronger_and_then_the_later_entry_counts() -> None:
    test = TESTS[0].test_id
    any_file = ANY_FILE + test.partition("::")[2]
    entries = [
        entry("first", tests=[test]), entry("second", tests=[test]), entry("any", tests=[any_file]),
        entry("one", ops=["add"]), entry("two", ops=["add"]), entry("three", ops=["add"], dtypes=["*"]),
        entry("four", ops=["add"]),
    ]  # fmt: skip
    assert by_entry(PLAN.held(entries)) == expected(entries)


def test_random_lists_agree_with_matching_test_by_test() -> None:
    chance = random.Random(1)
    ids = [test.test_id for test in TESTS] + [ANY_FILE + test.test_id.partition("::")[2] for test in TESTS]
    patterns = {
        "ops": ["*", "linalg.*", "add", "[as]*"], "dtypes": ["int8", "float*"], "templates": ["test_o*"],
        "files": ["nn/*", "test_*.py"], "classes": ["TestNN", "*"], "names": ["*float32", "test_x"],
        "modules": ["nn.*"],
    }  # fmt: skip
    for _ in range(300):
        entries = []
        for number in range(chance.randrange(1, 7)):
            fields = {name: chance.sample(patterns[name], 1) for name in patterns if chance.random() < 0.25}
            tests = chance.sample(ids, chance.randrange(0, 4))
            entries.append(entry(f"e{number}", tests=tests, **fields))
        assert by_entry(PLAN.held(entries)) == expected(entries)


def test_tests_are_counted_by_any_field_and_none_is_left_out() -> None:
    every = (1 << len(TESTS)) - 1
    assert PLAN.by("ops", every) == {"add": 4, "sub": 4, "linalg.det": 4, "linalg.qr": 4, "sin": 1, "": 4}
    assert PLAN.by("files", 0b1) == {"test_ops.py": 1}
    assert PLAN.by("ops", 0) == {}
