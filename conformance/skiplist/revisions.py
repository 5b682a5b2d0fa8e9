"""Read skiplists as they are, or as they were at a revision of git: ``HEAD~3:skiplists/neuron``."""

from __future__ import annotations

import subprocess
from pathlib import Path

from conformance.errors import InfrastructureError, UsageError
from conformance.skiplist.entry import Skiplist
from conformance.skiplist.load import load_skiplist, parse_files, refuse


def load_source(source: str, *, cwd: Path | None = None) -> Skiplist:
    """Return the list that a path names, or a revision and a path as git writes them: ``REVISION:PATH``.

    A path that exists is taken as one. In a revision the path is relative to ``cwd``, the current folder if None.
    Raises UsageError (``skiplist-missing``, ``bad-skiplist``), InfrastructureError (``no-git``).
    """
    path = Path(source) if cwd is None else cwd / source
    revision, colon, inside = source.partition(":")
    if path.exists() or not colon or not revision or revision.startswith("-"):
        return load_skiplist([path])
    skiplist, problems = parse_files(_files_at(revision, inside or ".", source, cwd))
    refuse(problems)
    return skiplist


def _files_at(revision: str, path: str, source: str, cwd: Path | None) -> list[tuple[str, str]]:
    name = f"{revision}:./{path.removeprefix('./').rstrip('/')}"
    if _git(["cat-file", "-t", name], source, cwd).strip() == "blob":
        return [(source, _git(["show", name], source, cwd))]
    listed = _git(["ls-tree", "-z", "--name-only", "--full-tree", name], source, cwd).split("\0")
    files = sorted(file for file in listed if file.endswith(".toml") and not file.startswith("."))
    if not files:
        raise UsageError("skiplist-missing", f"{source} holds no skiplist (*.toml)")
    return [(f"{source.rstrip('/')}/{file}", _git(["show", f"{name}/{file}"], source, cwd)) for file in files]


def _git(arguments: list[str], source: str, cwd: Path | None) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, check=False)
    except FileNotFoundError:
        raise InfrastructureError("no-git", f"reading {source} needs git, which is not installed") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise UsageError(
            "skiplist-missing", f"there is no file or folder {source}, and git finds none either: {said[0]}"
        )
    try:
        return done.stdout.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("bad-skiplist", f"{source} is not UTF-8 (byte {error.start})") from None
