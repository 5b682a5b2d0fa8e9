"""Entries written as text are read as the same entries."""

from __future__ import annotations

from datetime import date

import expecttest
import pytest

from conformance.skiplist.load import parse_files
from conformance.skiplist.parse import parse_text
from conformance.skiplist.vocabulary import Category, Expectation
from conformance.skiplist.write import quoted, render_list
from tests.skiplist.building import entry

FULL = entry(
    "full",
    expect=Expectation.CRASH,
    category=Category.RUNTIME,
    owner="compiler",
    torch=">=2.13,<2.15",
    device_version="<3",
    device_name="Trainium2*",
    emulated=True,
    expires=date(2027, 1, 1),
    message=r"complex\d+ 'x'",
    guess=True,
    ops=["linalg.*"],
    dtypes=["complex64"],
    tests=["a.py::T::test_b", '*::T::test_c[x-"y"]'],
)


class TestText(expecttest.TestCase):
    def test_an_entry_is_written_with_its_keys_in_the_order_of_the_documentation(self) -> None:
        self.assertExpectedInline(
            render_list([FULL, entry("small", tests=["a.py::T::b"])], comment="Two.\n\nEntries."),
            """\
# Two.
#
# Entries.
schema = 1

[[entry]]
id = "full"
expect = "crash"
category = "runtime"
reason = "The compiler has no such operator."
link = "https://example.org/1"
added = 2026-10-20
owner = "compiler"
torch = ">=2.13,<2.15"
device_version = "<3"
device_name = "Trainium2*"
emulated = true
expires = 2027-01-01
message = "complex\\\\d+ 'x'"
guess = true
match = { ops = ["linalg.*"], dtypes = ["complex64"] }
tests = [
    "a.py::T::test_b",
    "*::T::test_c[x-\\"y\\"]",
]

[[entry]]
id = "small"
expect = "fail"
category = "unsupported-op"
reason = "The compiler has no such operator."
link = "https://example.org/1"
added = 2026-10-20
tests = [
    "a.py::T::b",
]
""",
        )


@pytest.mark.parametrize(
    "text",
    ["", "plain", 'a "b"', "it's", r"\d+", r"it's \d", "a\nb\tc", "\x00\x7f\x1b", "ü € 😀", "#", '"""', "\\", "\u2028"],
)
def test_any_text_survives(text: str) -> None:
    written = render_list([entry("a", reason=text, tests=["a::b"])])
    (found,), problems = parse_text(written, "a.toml")
    assert problems == ()
    assert found.reason == text


def test_what_utf8_cannot_hold_is_replaced() -> None:
    assert quoted("a\ud800b").encode() == '"a\ufffdb"'.encode()


def test_whole_lists_survive_and_long_patterns_stay_valid_toml_1_0() -> None:
    many = [f"test_name_number_{number}" for number in range(30)]
    entries = (FULL, entry("long", names=many, files=["test_ops.py"]), entry("wide", ops=["x" * 100], names=many[:1]))
    skiplist, problems = parse_files([("a.toml", render_list(entries))])
    assert problems == ()
    assert skiplist.entries == entries
    assert max(map(len, render_list(entries).splitlines())) < 140
