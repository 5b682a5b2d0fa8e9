"""The record of which overloads architectures call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.analysis.calls import FILE, load_calls, recorded_calls, text_of
from conformance.errors import InfrastructureError
from conformance.model.calls import ArchitectureCalls

if TYPE_CHECKING:
    from pathlib import Path


def test_the_record_that_comes_with_the_harness_is_of_the_versions_it_names(tmp_path: Path) -> None:
    record = recorded_calls("2.13.0+cpu")
    assert record is not None
    assert record.torch == "2.13.0"
    assert recorded_calls("2.99.0") is None
    assert {"aten::mm", "aten::embedding"} <= set(record.overloads["llama"])
    assert all(overloads == tuple(sorted(set(overloads))) for overloads in record.overloads.values())
    unrecorded = set(record.unseen) - set(record.overloads)
    assert all(record.unseen[name].startswith("not made: ") for name in unrecorded)
    (tmp_path / FILE).write_text(text_of(record), encoding="utf-8")
    assert load_calls(tmp_path / FILE) == record


def test_a_record_can_be_read_back_with_what_could_not_be_seen(tmp_path: Path) -> None:
    record = ArchitectureCalls("2.13.0", "5.0", {"b": ("aten::x", "aten::y"), "a": ()}, {"a": "forward: E", "c": "not"})
    path = tmp_path / FILE
    path.write_text(text_of(record), encoding="utf-8")
    assert load_calls(path) == record
    assert text_of(load_calls(path)) == text_of(record)


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"schema":2,"torch":"1","transformers":"1","overloads":[]}\n', '{"schema":1}\n', "[]\n"],
)
def test_a_damaged_or_newer_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / FILE
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InfrastructureError, match="is damaged"):
        load_calls(path)


@pytest.mark.parametrize("version", ["", "..", "../op_db/2.13.0", "no version"])
def test_what_is_no_version_has_no_record(version: str) -> None:
    assert recorded_calls(version) is None
