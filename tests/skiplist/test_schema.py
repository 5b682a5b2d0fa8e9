"""The JSON Schema says what the loader does."""

from __future__ import annotations

from pathlib import Path

from conformance.skiplist.keys import ENTRY_KEYS, MATCH_KEYS
from conformance.skiplist.schema import json_schema, render_schema
from conformance.skiplist.vocabulary import Category, Expectation

ROOT = Path(__file__).resolve().parents[2]


def test_the_file_for_editors_is_what_the_code_makes() -> None:
    text = (ROOT / "skiplists" / "schema.json").read_text(encoding="utf-8")
    assert text == render_schema(), "run: python -m conformance.skiplist.schema > skiplists/schema.json"


def test_the_schema_knows_every_key_and_member() -> None:
    entry = json_schema()["properties"]["entry"]["items"]
    assert list(entry["properties"]) == [key.name for key in ENTRY_KEYS]
    assert list(entry["properties"]["match"]["properties"]) == [key.name for key in MATCH_KEYS]
    assert entry["required"] == ["id", "expect", "category", "reason", "link", "added"]
    for name, enum in (("expect", Expectation), ("category", Category)):
        assert [choice["const"] for choice in entry["properties"][name]["oneOf"]] == [str(member) for member in enum]


def test_every_member_is_defined() -> None:
    for member in (*Expectation, *Category):
        assert member.definition.endswith(".")
