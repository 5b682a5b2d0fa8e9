"""Read every state that a skiplist had in git, the oldest first."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

from conformance.errors import InfrastructureError, UsageError
from conformance.skiplist.entry import Entry, Problem, Skiplist
from conformance.skiplist.load import unique
from conformance.skiplist.parse import parse_text

_SEPARATOR = "\x1f"

_ENTRY = "\n[[entry]]"

_Parsed = tuple[tuple[Entry, ...], tuple[Problem, ...]]


@dataclass(frozen=True, slots=True)
class State:
    """A list as it was from one commit on.

    ``when`` is when it was committed, UTC in ISO 8601. ``skiplist`` is None where the path did not exist (any more), or
    where ``problems`` say what could not be read: such a state tells nothing about what was listed.
    """

    commit: str
    when: str
    subject: str
    skiplist: Skiplist | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """The states of a list, the oldest first; ``is_cut`` says that the clone is shallow and lacks earlier ones."""

    states: tuple[State, ...]
    is_cut: bool


def past_of(path: Path, *, repo: Path | None = None) -> Past:
    """Return every state of the list that ``path`` names: a TOML file, or a folder of them.

    ``path`` is relative to ``repo``, or without one to the current folder; either must be in a git repository. Of
    merges, what they brought to the main line counts, at the time of the merge. Raises UsageError
    (``no-list-history``), InfrastructureError (``no-git``).
    """
    base = (repo or Path()).resolve()
    top = Path(_git(["rev-parse", "--show-toplevel"], base, f"{repo or 'the current folder'} is in no git repository"))
    try:
        inside = (base / path).resolve().relative_to(top.resolve()).as_posix()
    except ValueError:
        raise UsageError("no-list-history", f"{path} is not in the git repository {top}; name it by --repo") from None
    is_cut = _git(["rev-parse", "--is-shallow-repository"], top, "git failed") == "true"
    log = ["log", "--first-parent", "--reverse", f"--format=%H{_SEPARATOR}%cI{_SEPARATOR}%s", "--"]
    lines = _git([*log, f":(top,literal){inside}"], top, "the repository has no commit").splitlines()
    if not lines:
        raise UsageError("no-list-history", f"no commit of {top} has a file or folder {inside}; is it committed?")
    with _objects(top) as objects:
        reader = _Reader(objects, inside)
        return Past(tuple(reader.state(*line.split(_SEPARATOR, 2)) for line in lines), is_cut)


class _Reader:
    """Read lists out of commits; a file that does not change is parsed once, and so is an entry."""

    def __init__(self, objects: _Objects, path: str) -> None:
        self._objects = objects
        self._path = path
        self._files_parsed: dict[tuple[str, str], _Parsed] = {}
        self._parts_parsed: dict[tuple[str, str], _Parsed] = {}

    def state(self, commit: str, when: str, subject: str) -> State:
        moment = datetime.fromisoformat(when).astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        files = self._files(commit)
        if not files:
            return State(commit, moment, subject, None, ())
        entries, problems = _joined(self._parse(name, blob) for name, blob in files)
        if problems:
            # Entries that were parsed one by one do not know their lines; a problem says where it is.
            _, problems = _joined(parse_text(self._text(blob), name) for name, blob in files)
            return State(commit, moment, subject, None, problems)
        return State(commit, moment, subject, Skiplist(entries, tuple(name for name, _ in files)), ())

    def _files(self, commit: str) -> list[tuple[str, str]]:
        """Return the files of the list at a commit, by name, each with the number of its content."""
        found = self._objects.read(f"{commit}:{self._path}")
        if found is None:
            return []
        number, kind, content = found
        if kind == "blob":
            return [(self._path, number)]
        names = _tree(content, len(number) // 2) if kind == "tree" else {}
        prefix = f"{self._path}/" if self._path != "." else ""
        return [
            (f"{prefix}{name}", blob)
            for name, blob in sorted(names.items())
            if name.endswith(".toml") and not name.startswith(".")
        ]

    def _parse(self, name: str, blob: str) -> _Parsed:
        if (name, blob) not in self._files_parsed:
            self._files_parsed[name, blob] = self._parse_text(self._text(blob), name)
        return self._files_parsed[name, blob]

    def _text(self, blob: str) -> str:
        """Return the content of a file; what is no UTF-8 is no TOML either, and the parser says so with the place."""
        found = self._objects.read(blob)
        return found[2].decode("utf-8-sig", "replace") if found is not None else ""

    def _parse_text(self, text: str, name: str) -> _Parsed:
        """Parse a file entry by entry, so that only entries that have changed cost something.

        Where that finds anything wrong, or not one entry in each part, the file is parsed as a whole: a line that looks
        like the beginning of an entry may stand in a text.
        """
        head, *parts = f"\n{text}".split(_ENTRY)
        found = [self._parse_part(f"{head}\n", name)]
        found += [self._parse_part(f"schema = 1{_ENTRY}{part}\n", name) for part in parts]
        if any(problems for _, problems in found) or [len(entries) for entries, _ in found] != [0, *[1] * len(parts)]:
            return parse_text(text, name)
        return tuple(entry for entries, _ in found for entry in entries), ()

    def _parse_part(self, part: str, name: str) -> _Parsed:
        if (name, part) not in self._parts_parsed:
            self._parts_parsed[name, part] = parse_text(part, name)
        return self._parts_parsed[name, part]


def _joined(parsed: Iterable[_Parsed]) -> _Parsed:
    """Return the entries and problems of several files as one list's; an id that is used twice is a problem too."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for found, wrong in parsed:
        entries += found
        problems += wrong
    kept, twice = unique(entries)
    return kept, (*problems, *twice)


class _Objects:
    """A running ``git cat-file --batch``: one process for all that is read."""

    def __init__(self, asked: IO[bytes], said: IO[bytes]) -> None:
        self._asked = asked
        self._said = said

    def read(self, name: str) -> tuple[str, str, bytes] | None:
        """Return number, kind and content of an object, None where there is none of that name."""
        self._asked.write(name.encode() + b"\n")
        self._asked.flush()
        head = self._said.readline().decode("ascii", "replace").split()
        if len(head) != 3 or not head[2].isdigit():
            return None
        content = self._said.read(int(head[2]))
        self._said.read(1)
        return head[0], head[1], content


@contextmanager
def _objects(top: Path) -> Iterator[_Objects]:
    process = subprocess.Popen(
        ["git", "cat-file", "--batch"],
        cwd=top,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        yield _Objects(process.stdin, process.stdout)


def _tree(content: bytes, size: int) -> dict[str, str]:
    """Return the files of a tree object, name to number (gitformat: mode, blank, name, NUL, the number's bytes)."""
    files = {}
    place = 0
    while place < len(content):
        end = content.index(b"\0", place)
        mode, _, name = content[place:end].partition(b" ")
        place = end + 1 + size
        if mode.startswith(b"100"):
            files[name.decode("utf-8", "surrogateescape")] = content[end + 1 : place].hex()
    return files


def _git(arguments: list[str], folder: Path, failure: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)
    except OSError as error:
        if folder.is_dir() and isinstance(error, FileNotFoundError):
            text = "reading the history of a list needs git, which is not installed"
            raise InfrastructureError("no-git", text) from None
        raise UsageError("no-list-history", f"{folder} cannot be read: {error.strerror or error}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise UsageError("no-list-history", f"{failure}: {said[0]}")
    return done.stdout.decode("utf-8", "replace").strip()
