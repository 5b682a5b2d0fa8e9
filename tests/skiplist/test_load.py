"""Reading files and folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.errors import UsageError
from conformance.skiplist.load import load_skiplist, read_skiplist, skiplist_of_device
from tests.skiplist.building import entry_text, list_text

if TYPE_CHECKING:
    from pathlib import Path


def refused(*paths: Path) -> UsageError:
    with pytest.raises(UsageError) as caught:
        load_skiplist(paths)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_folder_is_its_toml_files_by_name(tmp_path: Path) -> None:
    for name, entry_id in (("b.toml", "b"), ("a.toml", "a"), (".hidden.toml", "h"), ("notes.txt", "n")):
        (tmp_path / name).write_text(list_text(entry_text(entry_id)))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "c.toml").write_text(list_text(entry_text("c")))
    skiplist = load_skiplist([tmp_path])
    assert [entry.id for entry in skiplist] == ["a", "b"]
    assert skiplist.files == (str(tmp_path / "a.toml"), str(tmp_path / "b.toml"))
    assert [entry.id for entry in load_skiplist([tmp_path / "other", tmp_path, tmp_path / "a.toml"])] == ["c", "a", "b"]


def test_an_id_that_two_files_use_is_refused_with_both_places(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(list_text(entry_text("same")))
    error = refused(tmp_path)
    assert error.slug == "bad-skiplist"
    assert f"{tmp_path}/b.toml:3: entry 'same': the id is used already, at {tmp_path}/a.toml:3" in str(error)


def test_an_id_that_is_used_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(list_text(entry_text("same"), entry_text("same")))
    skiplist, problems = read_skiplist([tmp_path])
    assert len(skiplist) == 1
    assert [problem.place.line for problem in problems] == [12]


def test_one_line_names_the_first_five_problems_and_how_many_follow(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(list_text(*[entry_text(f"e{i}").replace("fail", "fial") for i in range(7)]))
    text = str(refused(tmp_path))
    assert text.count("is no expectation") == 5
    assert text.endswith("; and 2 more, which `conformance skiplist lint` shows")


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(list_text(), encoding="utf-8-sig")
    assert len(load_skiplist([tmp_path / "a.toml"])) == 1


def test_what_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.toml").slug == "skiplist-missing"
    assert "holds no skiplist" in str(refused(tmp_path))
    (tmp_path / "neuron").mkdir()
    (tmp_path / "neuron" / "a.toml").write_text(list_text())
    assert "did you mean one of its folders neuron?" in str(refused(tmp_path))
    (tmp_path / "a.toml").write_bytes(b"schema = 1 # \xff")
    assert "is not UTF-8 (byte 13)" in str(refused(tmp_path / "a.toml"))
    (tmp_path / "folder.toml").mkdir()
    assert refused(tmp_path / "folder.toml").slug == "skiplist-missing"


def test_a_device_without_lists_has_none() -> None:
    assert skiplist_of_device("no-such-device") is None
