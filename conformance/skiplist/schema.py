"""Make the JSON Schema by which editors check and complete skiplists, from the same table as the loader.

``python -m conformance.skiplist.schema`` prints it; ``skiplists/schema.json`` is its output.
"""

from __future__ import annotations

import json
import sys
from enum import Enum
from typing import Any

from conformance.skiplist.keys import ENTRY_ID, ENTRY_KEYS, MATCH_KEYS, SCHEMA, Key, Kind
from conformance.skiplist.vocabulary import Category, Expectation


def json_schema() -> dict[str, Any]:
    """Return the schema of a skiplist file (JSON Schema draft 7, which TOML editors read)."""
    entry = {
        "type": "object",
        "additionalProperties": False,
        "required": [key.name for key in ENTRY_KEYS if key.required],
        "anyOf": [{"required": ["match"]}, {"required": ["tests"]}],
        "properties": {key.name: _key(key) for key in ENTRY_KEYS},
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Skiplist of torch-conformance",
        "description": "Which tests of a device are expected not to pass, and why; see docs/skiplists.md.",
        "type": "object",
        "additionalProperties": False,
        "required": ["schema"],
        "properties": {
            "schema": {"description": "Version of the format.", "const": SCHEMA},
            "entry": {"description": "One cause each.", "type": "array", "items": entry},
        },
    }


def render_schema() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=True) + "\n"


def _key(key: Key) -> dict[str, Any]:
    description = {"description": key.meaning}
    match key.kind:
        case Kind.ID:
            return {**description, "type": "string", "pattern": f"^{ENTRY_ID.pattern}$"}
        case Kind.EXPECTATION:
            return {**description, **_members(Expectation)}
        case Kind.CATEGORY:
            return {**description, **_members(Category)}
        case Kind.TEXT:
            return {**description, "type": "string"}
        case Kind.REGEX:
            return {**description, "type": "string", "format": "regex", "minLength": 1}
        case Kind.SPECIFIER:
            return {**description, "type": "string", "minLength": 1}
        case Kind.DATE:
            return {**description, "type": "string", "format": "date"}
        case Kind.BOOLEAN:
            return {**description, "type": "boolean"}
        case Kind.PATTERNS | Kind.TESTS:
            return {**description, "type": "array", "items": {"type": "string", "minLength": 1}}
        case Kind.MATCH:
            return {
                **description,
                "type": "object",
                "additionalProperties": False,
                "properties": {field.name: _key(field) for field in MATCH_KEYS},
            }


def _members(enum: type[Enum]) -> dict[str, Any]:
    return {"oneOf": [{"const": str(member), "description": _definition(member)} for member in enum]}


def _definition(member: Enum) -> str:
    assert isinstance(member, (Expectation, Category))
    return member.definition


if __name__ == "__main__":
    sys.stdout.write(render_schema())
