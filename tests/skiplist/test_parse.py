"""Reading a skiplist: what is accepted, and that every mistake is named with file, line and entry."""

from __future__ import annotations

from datetime import date

import pytest

from conformance.skiplist.entry import Entry, Match, Place, split_test_id
from conformance.skiplist.keys import ENTRY_KEYS, MATCH_KEYS
from conformance.skiplist.parse import parse_text
from conformance.skiplist.vocabulary import Category, Expectation
from tests.skiplist.building import entry_text, list_text, problems_of

WHOLE = """schema = 1

# The first cause.
[[entry]]
id = "complex-dtypes"
expect = "skip"
category = "unsupported-dtype"
reason = "The compiler has no complex type."
link = "https://example.org/complex"
added = 2026-10-20
owner = "compiler"
torch = ">=2.13,<2.15"
device_version = "<2.14.3"
device_name = "Trainium2*"
emulated = false
expires = 2027-01-31
message = "complex\\\\d+ is not supported"
guess = true
match = { ops = ["linalg.*"], dtypes = ["complex64", "complex128"], files = [], classes = ["TestCommon"], templates = [
    "test_out",
], modules = [] }
tests = [
    "test_ops.py::TestCommon::test_out_add_complex64",
    "*::TestFoo::test_x[a-*-b]",   # a star in a parameter is part of the id
]
"""


def test_every_key_of_the_format_arrives_in_the_entry() -> None:
    (found,), problems = parse_text(WHOLE, "neuron/a.toml")
    assert problems == ()
    assert found == Entry(
        id="complex-dtypes",
        expect=Expectation.SKIP,
        category=Category.UNSUPPORTED_DTYPE,
        reason="The compiler has no complex type.",
        link="https://example.org/complex",
        added=date(2026, 10, 20),
        owner="compiler",
        torch=">=2.13,<2.15",
        device_version="<2.14.3",
        device_name="Trainium2*",
        emulated=False,
        expires=date(2027, 1, 31),
        message="complex\\d+ is not supported",
        guess=True,
        match=Match(
            ops=("linalg.*",), dtypes=("complex64", "complex128"), classes=("TestCommon",), templates=("test_out",)
        ),
        tests=("test_ops.py::TestCommon::test_out_add_complex64", "*::TestFoo::test_x[a-*-b]"),
    )
    assert found.place == Place("neuron/a.toml", 4)
    assert [str(found.place_of_test(index)) for index in (0, 1)] == ["neuron/a.toml:23", "neuron/a.toml:24"]
    assert all(f"{key.name} = " in WHOLE for key in ENTRY_KEYS), "the sample must show every key"


def test_a_file_without_entries_is_fine() -> None:
    assert parse_text("schema = 1\n", "a.toml") == ((), ())


def test_lists_of_inline_tables_are_toml_too() -> None:
    head = 'id = "a", expect = "fail", category = "slow", reason = "", link = "", added = 2026-01-01'
    entries, problems = parse_text(f'schema = 1\nentry = [{{ {head}, tests = ["a::b"] }}]\n', "a.toml")
    assert problems == ()
    assert [(entry.id, entry.place.line) for entry in entries] == [("a", 2)]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("schema = 1", "", "list.toml:1: 'schema = 1' is missing"),
        ("schema = 1", "schema = 2", "list.toml:1: schema 2 is not known here; install a newer torch-conformance"),
        ("schema = 1", 'schema = "1"', "list.toml:1: schema '1' is not known here; write schema = 1"),
        ("schema = 1", "schema = true", "list.toml:1: schema True is not known here; write schema = 1"),
        ("[[entry]]", "[[entries]]", "list.toml:3: unknown key 'entries'; did you mean 'entry'?"),
        ("[[entry]]", "[entry]", "list.toml:3: 'entry' must be tables, each under a header [[entry]]"),
        ("reason =", "raeson =", "list.toml:7: entry 'one': unknown key 'raeson'; did you mean 'reason'?"),
        ("reason =", "# reason =", "list.toml:3: entry 'one': 'reason' is missing"),
        ("tests = [", "ops = [", "list.toml:10: entry 'one': 'ops' belongs into match = { ops = [...] }"),
        ('id = "one"', "id = 1", "list.toml:4: 'id' must be a text in quotes, not 1"),
        ('id = "one"', 'id = "a b"', "list.toml:4: entry 'a b': the id 'a b' must be letters, digits"),
        ('"fail"', '"xfail"', "list.toml:5: entry 'one': 'xfail' is no expectation; did you mean 'fail'?"),
        ('"fail"', '"Q"', "'Q' is no expectation; it is one of skip, fail, crash, timeout, fallback, flaky"),
        (
            '"unsupported-op"',
            '"unsupported-ops"',
            "list.toml:6: entry 'one': 'unsupported-ops' is no category; did you",
        ),
        ("2026-10-20", '"2026-10-20"', "list.toml:9: entry 'one': 'added' must be a date: write added = 2026-10-20,"),
        ("2026-10-20", "2026-10-20T00:00:00Z", "'added' must be a date such as 2026-10-20, not a date with a time"),
        ("2026-10-20", "20261020", "'added' must be a date such as 2026-10-20, not 20261020"),
        ("tests =", 'torch = "2.13"\ntests =', "list.toml:10: entry 'one': 'torch' is no version specifier: '2.13'"),
        ("tests =", 'torch = ""\ntests =', "'torch' is empty; leave it out"),
        ("tests =", 'device_version = "===2"\ntests =', "'device_version' compares texts ('===2')"),
        ("tests =", 'message = "a("\ntests =', "'message' is no regular expression: missing ), unterminated"),
        ("tests =", 'message = ""\ntests =', "'message' is empty and would match any text"),
        ("tests =", 'emulated = "yes"\ntests =', "'emulated' must be true or false, not 'yes'"),
        ("tests =", "expires = 2026-10-19\ntests =", "it expires on 2026-10-19, before it was added on 2026-10-20"),
        ("tests =", "match = []\ntests =", "'match' must be a table, such as { ops = [...] }, not a list"),
        ("tests =", 'match = { op = ["a"] }\ntests =', "unknown key 'op' in match; did you mean 'ops'?"),
        ("tests =", 'match = { ops = "add" }\ntests =', "'ops' must be a list: write ['add']"),
        ("tests =", "match = { ops = [1] }\ntests =", "'ops' must hold texts that are not empty, not 1"),
        ("tests =", "match = { ops = 1 }\ntests =", "'ops' must be a list of texts, not 1"),
        ("tests =", "match = { }\n# tests =", "list.toml:3: entry 'one': it matches nothing: give 'match', 'tests'"),
        ("tests =", "match = { ops = [] }\n# tests =", "it matches nothing"),
        ("tests = [", "tests = [] # [", "it matches nothing"),
        ("a.py::T::test_x", "test_x", "list.toml:10: entry 'one': 'test_x' is no test id: it must be"),
        ("a.py::T::test_x", "a.py::T::test_*", "'a.py::T::test_*' is no pattern: 'tests' holds exact ids"),
        ("a.py::T::test_x", "*::*::test_x", "'*::*::test_x' is no pattern"),
        ("a.py::T::test_x", "a.py::::test_x", "is no test id: a part of it is empty"),
        ("a.py::T::test_x", " a.py::T::x", "is no test id: a part of it is empty, or there are blanks around it"),
        ("a.py::T::test_x", "", "'tests' must hold texts that are not empty, not ''"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_entry(old: str, new: str, problem: str) -> None:
    text = list_text()
    assert old in text
    found = problems_of(text.replace(old, new, 1))
    assert any(problem in line for line in found), found
    assert all(line.startswith("list.toml:") for line in found)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("schema = 1\n[[entry]\n", "list.toml:2: not valid TOML: "),
        ("schema = 1\nid = \n", "list.toml:2: not valid TOML: "),
        ('schema = 1\nid = "a', "list.toml:2: not valid TOML: "),
        ("schema = 1\nschema = 1\n", "list.toml:2: not valid TOML: "),
        ("\x00", "list.toml:1: not valid TOML: "),
        (f"a = {'[' * 100_000}", "list.toml: not valid TOML: values are nested too deeply"),
    ],
)
def test_broken_toml_is_one_clear_line(text: str, start: str) -> None:
    (line,) = problems_of(text)
    assert line.startswith(start)
    assert "\n" not in line


def test_all_mistakes_of_a_file_are_reported_at_once_in_the_order_of_its_lines() -> None:
    text = list_text(
        entry_text("a", 'tests = [\n  "bad",\n  "a.py::T::ok",\n  "worse",\n]'),
        entry_text("b").replace("link", "lnik"),
        entry_text("good"),
    )
    entries, problems = parse_text(text, "list.toml")
    assert [entry.id for entry in entries] == ["good"]
    assert [(problem.place.line, problem.entry_id) for problem in problems] == [
        (11, "a"),
        (13, "a"),
        (16, "b"),
        (21, "b"),
    ]


def test_lines_are_right_behind_strings_that_look_like_headers() -> None:
    trap = 'reason = """\n[[entry]]\nid = "fake"  # not a comment\n"""'
    text = list_text(entry_text("a").replace('reason = "The compiler has no such operator."', trap), entry_text("b"))
    entries, problems = parse_text(text, "a.toml")
    assert problems == ()
    assert [(entry.id, entry.place.line) for entry in entries] == [("a", 3), ("b", 15)]


def test_lines_are_right_with_windows_line_ends_and_tables_of_their_own() -> None:
    text = list_text(entry_text("a", '[entry.match]\nops = ["x"]\nfoo = 1')).replace("\n", "\r\n")
    assert problems_of(text) == ["list.toml:12: entry 'a': unknown key 'foo' in match"]


def test_keys_of_match_are_its_fields() -> None:
    assert [key.name for key in MATCH_KEYS] == list(Match.__dataclass_fields__)
    assert {key.name for key in ENTRY_KEYS} == set(Entry.__dataclass_fields__) - {"place", "test_lines"}


@pytest.mark.parametrize("junk", ["{", "]]", '"""', "'", "= = =", "[[[[", "\\", "#"])
def test_whatever_stands_in_a_file_is_an_entry_or_a_problem_and_never_a_traceback(junk: str) -> None:
    text = list_text(entry_text("a"), junk, entry_text("b"))
    entries, problems = parse_text(text, "a.toml")
    assert len(entries) == 2 or problems


def test_parameters_and_files_may_hold_what_names_may_not() -> None:
    ids = ["d/[x]/a.py::T::test_y[p::q-*]", "a.py::test_y[[]", "*::T::test_y[*]"]
    assert problems_of(list_text(entry_text("a", f"tests = {ids}"))) == []
    assert [split_test_id(test) for test in ids] == [
        ("d/[x]/a.py", "T", "test_y[p::q-*]"),
        ("a.py", "", "test_y[[]"),
        ("*", "T", "test_y[*]"),
    ]


def test_a_regular_expression_is_read_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    assert problems_of(list_text(entry_text("a", "message = '[[a]]'\ntests = [\"a::b\"]"))) == []
    assert list(recwarn) == []
