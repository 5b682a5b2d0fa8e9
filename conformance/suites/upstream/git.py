"""Run git, and turn what goes wrong into one line."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from conformance.errors import InfrastructureError

# A hook of another repository may have set these; they would send git there.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_NAMESPACE")
_OPTIONS = (
    *("-c", "core.autocrlf=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "advice.detachedHead=false"),
    *("-c", "gc.auto=0"),  # nothing may work in the folder when it is renamed
    *("-c", "maintenance.auto=false"),
    *("-c", "http.lowSpeedLimit=1000"),  # a connection that is open and silent ends after a minute
    *("-c", "http.lowSpeedTime=60"),
)
_DISK = (
    "No space left on device",
    "Permission denied",
    "Read-only file system",
    "Disk quota exceeded",
    "unable to write new index file",
)


class GitFailedError(Exception):
    """A git command that failed; the text is its own."""


class Git:
    """Run git in one repository, without ever asking the user for anything.

    ``keeps`` is a descriptor that git inherits: a lock on it outlives this process if git does.
    """

    def __init__(self, folder: Path, *, keeps: int | None = None) -> None:
        self.folder = folder
        self._keeps = () if keeps is None else (keeps,)
        self._environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN} | {
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
        }
        self._environment.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")

    def run(self, *arguments: str) -> str:
        """Run a command and return its output.

        Raises ``GitFailedError``, and ``InfrastructureError`` where git is not installed or the disk refuses.
        """
        try:
            done = subprocess.run(
                ["git", *_OPTIONS, *arguments],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                pass_fds=self._keeps,
                capture_output=True,
                text=True,
                errors="replace",
            )
        except FileNotFoundError as error:
            raise InfrastructureError(
                "no-git", "git is not installed; install it, or give --from a tarball or a folder"
            ) from error
        if done.returncode:
            said = without_password(_what_it_said(done.stderr))
            if any(sign in done.stderr for sign in _DISK):
                raise InfrastructureError("upstream-unwritable", f"cannot write to {self.folder}: {said}")
            raise GitFailedError(said or f"git {arguments[0]} ended with exit code {done.returncode}")
        return done.stdout

    def is_true(self, *arguments: str) -> bool:
        """Tell whether a command succeeds."""
        try:
            self.run(*arguments)
        except GitFailedError:
            return False
        return True


def _what_it_said(stderr: str) -> str:
    """Return git's own last complaint, without its progress."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    complaints = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:", "remote:"))]
    return (complaints or lines or [""])[0]


def without_password(text: str) -> str:
    """Return a text without the user and password that an address may carry."""
    return re.sub(r"(\w://)[^/@\s]+@", r"\1", text)


def is_repository(folder: Path) -> bool:
    """Tell whether a folder is a git repository, with files or bare."""
    return (folder / ".git").exists() or all((folder / name).exists() for name in ("HEAD", "objects", "refs"))


def batches(paths: Sequence[str], *, alone: Sequence[str], limit: int) -> list[list[str]]:
    """Group paths, a folder's together, into batches of about ``limit`` files; return the patterns of each batch.

    A pattern is in git's own sparse form: ``/test/nn/`` for a folder, ``/version.txt`` for a file. Files in ``alone``
    do not stand for the folder around them.
    """
    weights: dict[str, int] = {}
    for path in paths:
        parts = path.split("/")
        pattern = f"/{path}" if len(parts) < 3 or path in alone else f"/{parts[0]}/{parts[1]}/"
        weights[pattern] = weights.get(pattern, 0) + 1
    grouped: list[list[str]] = []
    filled = limit
    for pattern, weight in weights.items():
        if filled + weight > limit and filled:
            grouped.append([])
            filled = 0
        grouped[-1].append(pattern)
        filled += weight
    return grouped
