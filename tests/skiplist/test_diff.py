"""What changed between two states of a list, in files and in git."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from conformance.errors import InfrastructureError, UsageError
from conformance.skiplist.diff import difference
from conformance.skiplist.entry import Skiplist
from conformance.skiplist.revisions import load_source
from conformance.skiplist.vocabulary import Expectation
from tests.skiplist.building import entry, entry_text, list_text

if TYPE_CHECKING:
    from pathlib import Path


def test_entries_are_added_removed_renamed_and_changed() -> None:
    before = Skiplist(
        (
            entry("same", tests=["a::x", "a::y"]),
            entry("gone", tests=["a::gone"]),
            entry("old-name", ops=["add"], tests=["a::m", "a::n"]),
            entry("changed", tests=["a::1", "a::2"], ops=["add"], owner="x"),
        )
    )
    after = Skiplist(
        (
            entry("changed", tests=["a::2", "a::3"], ops=["add", "sub"], dtypes=["int8"], expect=Expectation.SKIP),
            entry("same", tests=["a::y", "a::x"]),
            entry("new-name", ops=["add"], tests=["a::n", "a::m"]),
            entry("new", tests=["a::new", "a::1"]),
        )
    )
    found = difference(before, after)
    assert [one.id for one in found.added] == ["new"]
    assert [one.id for one in found.removed] == ["gone"]
    assert [(old.id, new.id) for old, new in found.renamed] == [("old-name", "new-name")]
    (change,) = found.changed
    assert [(one.field, one.before, one.after) for one in change.changes] == [
        ("expect", "fail", "skip"),
        ("owner", "x", ""),
        ("match.ops", "add", "add, sub"),
        ("match.dtypes", "", "int8"),
    ]
    assert (change.tests_added, change.tests_removed, change.weakened) == (("a::3",), ("a::1",), True)
    assert (found.entries_before, found.entries_after) == (4, 4)
    assert (found.tests_before, found.tests_after, found.tests_added, found.tests_removed) == (7, 8, 2, 1)
    assert found


def test_a_stronger_expectation_or_fewer_tests_do_not_weaken() -> None:
    (change,) = difference(
        Skiplist((entry("a", tests=["a::1", "a::2"], expect=Expectation.SKIP),)),
        Skiplist((entry("a", tests=["a::1"]),)),
    ).changed
    assert not change.weakened


def test_order_and_place_are_no_difference() -> None:
    one, two = entry("a", tests=["a::1"]), entry("b", ops=["x", "y"])
    assert not difference(Skiplist((one, two), ("a.toml",)), Skiplist((entry("b", ops=["y", "x"]), one), ("b.toml",)))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    def git(*arguments: str) -> None:
        settings = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *settings, *arguments], cwd=tmp_path, check=True, capture_output=True)

    lists = tmp_path / "lists" / "neuron"
    lists.mkdir(parents=True)
    git("init", "-q")
    (lists / "a.toml").write_text(list_text(entry_text("old")))
    (lists / "note.txt").write_text("no list")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    (lists / "a.toml").write_text(list_text(entry_text("new")))
    (lists / "b.toml").write_text(list_text(entry_text("more")))
    return tmp_path


def ids(skiplist: Skiplist) -> list[str]:
    return [one.id for one in skiplist]


def test_a_list_is_read_at_a_revision_and_as_it_is(repository: Path) -> None:
    assert ids(load_source("HEAD:lists/neuron", cwd=repository)) == ["old"]
    assert ids(load_source("HEAD:lists/neuron/", cwd=repository)) == ["old"]
    assert ids(load_source("HEAD:./lists/neuron/a.toml", cwd=repository)) == ["old"]
    assert ids(load_source("lists/neuron", cwd=repository)) == ["new", "more"]
    below = repository / "lists"
    old = load_source("HEAD:neuron", cwd=below)
    assert ids(old) == ["old"]
    assert str(old.entries[0].place) == "HEAD:neuron/a.toml:3"
    assert ids(load_source("HEAD:", cwd=below / "neuron")) == ["old"]


@pytest.mark.parametrize(
    "source",
    ["nowhere:lists/neuron", "HEAD:lists/xla", "HEAD:lists", "none.toml", ":x", "--output=x:lists", "HEAD:../.."],
)
def test_what_is_nowhere_is_one_line(repository: Path, source: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_source(source, cwd=repository)
    assert caught.value.slug == "skiplist-missing"
    assert "\n" not in str(caught.value)


def test_a_bad_list_of_a_revision_names_it(repository: Path) -> None:
    (repository / "lists" / "neuron" / "a.toml").write_text("schema = 1\nx")
    with pytest.raises(UsageError, match=r"lists/neuron/a\.toml:2: not valid TOML"):
        load_source("lists/neuron", cwd=repository)


def test_without_git_it_is_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(InfrastructureError, match="needs git"):
        load_source("HEAD:lists/neuron", cwd=repository)
