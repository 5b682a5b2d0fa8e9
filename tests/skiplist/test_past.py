"""Every state that a list had in git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.errors import InfrastructureError, UsageError
from conformance.skiplist.parse import parse_text
from conformance.skiplist.past import Past, past_of
from tests.skiplist.building import entry_text, list_text


class Repository:
    """A git repository whose commits have the dates that they are given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, day: str = "2026-11-01") -> str:
        moment = f"{day}T12:00:00+02:00"
        environment = {
            **os.environ,
            **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "A"),
            **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@example.org"),
            "GIT_AUTHOR_DATE": moment,
            "GIT_COMMITTER_DATE": moment,
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, day: str, subject: str = "change", **files: str | None) -> str:
        """Write files (None: remove), by their names with ``__`` for slashes, and commit all."""
        for name, text in files.items():
            file = self.folder / f"{name.replace('__', '/')}.toml"
            if text is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject, day=day)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repo")


def ids(past: Past) -> list[list[str] | None]:
    return [None if state.skiplist is None else [entry.id for entry in state.skiplist] for state in past.states]


def test_every_change_of_the_folder_is_a_state_the_oldest_first(repository: Repository) -> None:
    first = repository.commit("2026-11-01", "begin", lists__b=list_text(entry_text("b")), other__x="x")
    repository.commit("2026-11-02", "elsewhere", other__x="y")
    repository.commit("2026-11-03", "more", lists__a=list_text(entry_text("a")), lists__deep__c="not read")
    repository.commit("2026-11-04", "less", lists__b=None)
    past = past_of(Path("lists"), repo=repository.folder)
    assert [(state.when, state.subject) for state in past.states] == [
        ("2026-11-01T10:00:00Z", "begin"),
        ("2026-11-03T10:00:00Z", "more"),
        ("2026-11-04T10:00:00Z", "less"),
    ]
    assert ids(past) == [["b"], ["a", "b"], ["a"]]
    assert (past.states[0].commit, past.is_cut) == (first, False)
    assert past.states[1].skiplist is not None
    assert past.states[1].skiplist.files == ("lists/a.toml", "lists/b.toml")


def test_a_path_is_that_of_the_current_folder_and_may_be_a_file(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("2026-11-01", lists__a=list_text(entry_text("a")), lists__b=list_text(entry_text("b")))
    monkeypatch.chdir(repository.folder / "lists")
    assert ids(past_of(Path("a.toml"))) == [["a"]]
    assert ids(past_of(Path())) == [["a", "b"]]
    assert ids(past_of(repository.folder / "lists" / "b.toml")) == [["b"]]


def test_what_cannot_be_read_is_a_problem_of_that_state_alone(repository: Repository) -> None:
    repository.commit("2026-11-01", lists__a=list_text(entry_text("a")))
    repository.commit("2026-11-02", lists__a="schema = ")
    repository.commit("2026-11-03", lists__a=list_text(entry_text("a")), lists__b=list_text(entry_text("a")))
    repository.commit("2026-11-04", lists__b=list_text(entry_text("b")))
    past = past_of(Path("lists"), repo=repository.folder)
    assert ids(past) == [["a"], None, None, ["a", "b"]]
    assert str(past.states[1].problems[0]).startswith("lists/a.toml:1: not valid TOML")
    assert "the id is used already, at lists/a.toml:3" in str(past.states[2].problems[0])


def test_a_list_that_is_not_there_is_none_and_not_an_empty_one(repository: Repository) -> None:
    repository.commit("2026-11-01", lists__a=list_text(entry_text("a")))
    repository.commit("2026-11-02", lists__a=None)
    repository.commit("2026-11-03", lists__a="schema = 1\n")
    assert ids(past_of(Path("lists"), repo=repository.folder)) == [["a"], None, []]


def test_a_merge_counts_when_it_came_to_the_main_line(repository: Repository) -> None:
    repository.commit("2026-11-01", lists__a=list_text(entry_text("a")))
    repository.git("checkout", "--quiet", "-b", "side")
    repository.commit("2026-11-02", "on the side", lists__b=list_text(entry_text("b")))
    repository.git("checkout", "--quiet", "main")
    repository.commit("2026-11-03", other="x")
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "side", day="2026-11-05")
    past = past_of(Path("lists"), repo=repository.folder)
    assert [(state.when[:10], state.subject) for state in past.states] == [
        ("2026-11-01", "change"),
        ("2026-11-05", "merge"),
    ]


def test_names_with_blanks_and_letters_of_any_kind_are_read(repository: Repository) -> None:
    folder = repository.folder / "lists ü"
    folder.mkdir()
    (folder / "ein ä.toml").write_text(list_text(entry_text("a")), encoding="utf-8-sig")
    repository.commit("2026-11-01")
    assert ids(past_of(Path("lists ü"), repo=repository.folder)) == [["a"]]


def test_entries_are_those_that_the_loader_finds_also_where_texts_look_like_entries(repository: Repository) -> None:
    odd = entry_text("b").replace('"The compiler has no such operator."', '"""one\n[[entry]]\nid = "x"\n"""')
    texts = [
        list_text(entry_text("a"), odd, entry_text("c", "tests = []\n[entry.match]\nops = ['add']")),
        list_text(entry_text("a"), "# between\n" + odd.replace("one", "two"), "", "# at the end\n"),
        f"# first\n{list_text(entry_text('a'))}# last",
        "schema = 1\n",
        "schema = 1\nentry = []\n",
    ]
    for number, text in enumerate(texts):
        repository.commit(f"2026-11-0{number + 1}", lists__a=text)
    found = [state.skiplist for state in past_of(Path("lists"), repo=repository.folder).states]
    for text, skiplist in zip(texts, found, strict=True):
        entries, problems = parse_text(text, "lists/a.toml")
        assert problems == ()
        assert skiplist is not None
        assert skiplist.entries == entries


def test_a_shallow_clone_says_that_it_lacks_the_beginning(repository: Repository, tmp_path: Path) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        repository.commit(day, lists__a=list_text(entry_text(f"a{day[-1]}")))
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth=1", repository.folder.as_uri(), str(clone))
    past = past_of(Path("lists"), repo=clone)
    assert (ids(past), past.is_cut) == ([["a2"]], True)


def test_what_has_no_history_is_one_line(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, repo, words in (
        (Path("lists"), repository.folder, "has no commit"),
        (Path("lists"), tmp_path, "is in no git repository"),
        (Path("lists"), tmp_path / "none", "cannot be read"),
    ):
        with pytest.raises(UsageError, match=words) as caught:
            past_of(path, repo=repo)
        assert caught.value.slug == "no-list-history"
    repository.commit("2026-11-01", lists__a=list_text(entry_text("a")))
    for path, words in ((Path("nowhere"), "is it committed"), (tmp_path / "out.toml", "is not in the git repository")):
        with pytest.raises(UsageError, match=words):
            past_of(path, repo=repository.folder)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("git") is None
    with pytest.raises(InfrastructureError) as missing:
        past_of(Path("lists"), repo=repository.folder)
    assert missing.value.slug == "no-git"
