"""Make entries, identities and list files in one line each."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from conformance.model.identity import Identity, Suite
from conformance.skiplist.entry import Entry, Match
from conformance.skiplist.parse import parse_text
from conformance.skiplist.vocabulary import Category, Expectation

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD = """[[entry]]
id = "{id}"
expect = "fail"
category = "unsupported-op"
reason = "The compiler has no such operator."
link = "https://example.org/1"
added = 2026-10-20
"""


def entry_text(id: str = "one", body: str = 'tests = ["a.py::T::test_x"]') -> str:  # noqa: A002
    return f"{HEAD.format(id=id)}{body}\n"


def list_text(*entries: str) -> str:
    return "schema = 1\n\n" + "\n".join(entries or (entry_text(),))


def problems_of(text: str) -> list[str]:
    return [str(problem) for problem in parse_text(text, "list.toml")[1]]


def entry(id: str = "one", *, tests: Sequence[str] = (), **values: Any) -> Entry:  # noqa: A002
    """Return an entry; values named as fields of match go there."""
    fields = {name: tuple(values.pop(name)) for name in list(values) if name in Match.__dataclass_fields__}
    defaults: dict[str, Any] = {
        "expect": Expectation.FAIL,
        "category": Category.UNSUPPORTED_OP,
        "reason": "The compiler has no such operator.",
        "link": "https://example.org/1",
        "added": date(2026, 10, 20),
    }
    return Entry(id, tests=tuple(tests), match=Match(**fields), **(defaults | values))


def identity(test_id: str, **values: Any) -> Identity:
    """Return the identity with that test id; its template is its name unless one is given."""
    file, _, rest = test_id.partition("::")
    class_name, _, name = rest.rpartition("::")
    values = {"suite": Suite.UPSTREAM, "template": name} | values
    return Identity(file, class_name, name, **values)


def op_test(op: str, dtype: str | None = "float32", template: str = "test_out") -> Identity:
    """Return the test of an operator in test_ops.py."""
    end = f"_{dtype}" if dtype else ""
    name = f"{template}_{op.replace('.', '_')}{end}"
    return identity(f"test_ops.py::TestCommon::{name}", op=op, dtype=dtype, template=template)
