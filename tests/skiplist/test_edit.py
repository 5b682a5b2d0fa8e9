"""Edits change what they have to, and nothing else."""

from __future__ import annotations

import difflib

import pytest

from conformance.errors import ConformanceError
from conformance.skiplist.edit import EntryEdit, FileEdit, edit_text
from tests.skiplist.building import entry

TEXT = """\
#:schema ../schema.json
schema = 1

# ---- section one ----

# about one
# in two lines
[[entry]]
id = "one"  # the first
expect = "fail"
category = "slow"
reason = "r"
link = ""
added = 2026-01-01
tests = [
    # about b
    "a::b",  # keep b
    "a::c",  # gone with c
    "a::d",
    "a::e", "a::f",
]

# ---- section two ----

[[entry]]
id = "two"
expect = "fail"
category = "slow"
reason = \"\"\"
# not a comment
[[entry]]
\"\"\"
link = ""
added = 2026-01-01
match = { ops = [
    "add",   # addition
] }  # c
tests = ["a::b", "a::c"]

[[entry]]
id = "three"
expect = "fail"
category = "slow"
reason = "r"
link = ""
added = 2026-01-01
tests = ["a::x"]
# the end of three

# the end of the file
"""


def changes(edit: FileEdit, text: str = TEXT) -> tuple[list[str], list[str]]:
    """Return the lines that went and those that came, without blank ones."""
    after = edit_text(text, edit, "a.toml")
    diff = list(difflib.ndiff(text.splitlines(), after.splitlines()))
    return tuple([line[2:] for line in diff if line.startswith(sign) and line[2:].strip()] for sign in ("- ", "+ "))  # type: ignore[return-value]


def test_an_entry_goes_with_the_comment_above_it_and_no_other() -> None:
    gone, came = changes(FileEdit(remove=frozenset({"one"})))
    assert came == []
    assert gone[:3] == ["# about one", "# in two lines", "[[entry]]"]
    assert gone[-1] == "]"
    assert not any("section" in line for line in gone)
    gone, came = changes(FileEdit(remove=frozenset({"two"})))
    assert came == []
    assert {'id = "two"', 'tests = ["a::b", "a::c"]', "# not a comment"} <= set(gone)
    assert len(gone) == 14
    gone, came = changes(FileEdit(remove=frozenset({"three"})))
    assert (len(gone), gone[-1], came) == (8, 'tests = ["a::x"]', [])


def test_gaps_between_entries_stay_as_they_are() -> None:
    for name in ("one", "two", "three"):
        after = edit_text(TEXT, FileEdit(remove=frozenset({name})))
        assert "\n\n\n" not in after
        assert after.endswith("# the end of the file\n")
    only = edit_text(TEXT.partition("# the end of three")[0], FileEdit(remove=frozenset({"three"})))
    assert only.endswith('tests = ["a::b", "a::c"]\n')


def test_ids_go_line_by_line() -> None:
    gone, came = changes(FileEdit(change={"one": EntryEdit(frozenset({"a::c", "a::d"}))}))
    assert (gone, came) == (['    "a::c",  # gone with c', '    "a::d",'], [])
    gone, came = changes(FileEdit(change={"two": EntryEdit(frozenset({"a::b"}))}))
    assert (gone, came) == (['tests = ["a::b", "a::c"]'], ['tests = ["a::c"]'])


def test_patterns_and_the_last_ids_go_with_their_key() -> None:
    gone, came = changes(FileEdit(change={"two": EntryEdit(remove_match=True)}))
    assert (gone, came) == (["match = { ops = [", '    "add",   # addition', "] }  # c"], [])
    gone, came = changes(FileEdit(change={"two": EntryEdit(frozenset({"a::b", "a::c"}))}))
    assert (gone, came) == (['tests = ["a::b", "a::c"]'], [])


def test_entries_are_added_at_the_end_behind_one_blank_line() -> None:
    after = edit_text(TEXT, FileEdit(add=(entry("new", tests=["a::n"]), entry("newer", ops=["x"]))))
    assert after.startswith(TEXT)
    assert after[len(TEXT) :].startswith('\n[[entry]]\nid = "new"\n')
    assert after.count("\n\n[[entry]]\n") == 4


def test_all_at_once_and_nothing() -> None:
    edit = FileEdit(frozenset({"two"}), {"one": EntryEdit(frozenset({"a::f"}))}, (entry("new", tests=["a::n"]),))
    gone, came = changes(edit)
    assert '    "a::e", "a::f",' in gone
    assert came[0] == '    "a::e",'
    assert edit_text(TEXT, FileEdit()) == TEXT
    assert not FileEdit()


def test_windows_line_ends_survive() -> None:
    windows = TEXT.replace("\n", "\r\n")
    edit = FileEdit(frozenset({"three"}), {"one": EntryEdit(frozenset({"a::c"}))}, (entry("new", tests=["a::n"]),))
    after = edit_text(windows, edit)
    assert after.replace("\r\n", "") == after.replace("\r", "").replace("\n", "")
    assert after.replace("\r\n", "\n") == edit_text(TEXT, edit)


def test_an_edit_that_would_not_do_what_was_meant_is_refused() -> None:
    inline = (
        'id = "a", expect = "fail", category = "slow", reason = "", link = "", added = 2026-01-01, tests = ["a::b"]'
    )
    with pytest.raises(ConformanceError, match="the entries are no"):
        edit_text(f"schema = 1\nentry = [{{ {inline} }}]\n", FileEdit(remove=frozenset({"a"})))
    with pytest.raises(ConformanceError, match="was not changed"):
        edit_text(TEXT, FileEdit(add=(entry("bad id", tests=["a::n"]),)), "a.toml")
    with pytest.raises(ConformanceError, match="it matches nothing") as caught:
        edit_text(TEXT, FileEdit(change={"three": EntryEdit(frozenset({"a::x"}))}), "a.toml")
    assert caught.value.slug == "edit-failed"
