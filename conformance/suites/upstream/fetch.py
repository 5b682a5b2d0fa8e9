"""Make a checkout of PyTorch's tests: whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.devices.installed import first_line, installed_torch
from conformance.errors import InfrastructureError, UsageError
from conformance.suites.upstream.checkout import (
    MARKER,
    STAGING_SUFFIX,
    Checkout,
    default_folder,
    find_checkout,
    read_marker,
)
from conformance.suites.upstream.from_files import copy_folder, unpack
from conformance.suites.upstream.from_git import clone
from conformance.suites.upstream.git import Git, is_repository, without_password
from conformance.suites.upstream.revision import Revision, release_of, revision_for
from conformance.suites.upstream.wanted import VERSION_FILE, lacking

PUBLIC_REPOSITORY = "https://github.com/pytorch/pytorch.git"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A checkout and how it came to be: ``notes`` are lines for the user, ``fresh`` is False if it was there before."""

    checkout: Checkout
    folder: Path
    fresh: bool
    notes: tuple[str, ...] = ()


def fetch(
    *, version: str | None, dest: Path | None, source: str | None, say: Callable[[str], None] = lambda _: None
) -> Fetched:
    """Bring the test files of a torch, by default of the installed one, into a folder, by default one of the cache.

    ``source`` is an address of a git repository, a folder that is one or holds PyTorch's files, or a tarball. The
    files are staged beside ``dest`` and renamed when all are there and their version is right; a clone that was
    interrupted goes on. Raises ``UsageError`` and ``InfrastructureError``.
    """
    revision = revision_for(version)
    folder = (dest.expanduser() if dest is not None else default_folder(revision)).absolute()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.parent / f".{folder.name}.lock", say=say) as lock:
            if _is_there(folder, revision):
                return Fetched(find_checkout(folder, revision.release), folder, fresh=False)
            staging = folder.parent / f".{folder.name}{STAGING_SUFFIX}"
            with _cleared_where_useless(staging):
                commit, notes = _bring(source or PUBLIC_REPOSITORY, revision, staging, lock=lock, say=say)
                notes += _verify(staging, revision, commit)
                _mark(staging, revision, source or PUBLIC_REPOSITORY, commit)
            staging.rename(folder)
    except OSError as error:
        raise InfrastructureError(
            "upstream-unwritable",
            f"cannot write {error.filename or folder}: {error.strerror}; make room, or give --dest another folder",
        ) from error
    return Fetched(find_checkout(folder, revision.release), folder, fresh=True, notes=tuple(notes))


@contextlib.contextmanager
def _lock(path: Path, *, say: Callable[[str], None]) -> Iterator[int]:
    """Let one process at a time work on a checkout; the lock ends with the processes that hold its descriptor."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process fetches the same checkout; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


@contextlib.contextmanager
def _cleared_where_useless(staging: Path) -> Iterator[None]:
    """Remove what was staged if it cannot be gone on with: files of the wrong source, or a copy that broke off."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, UsageError) or not (staging / ".git").is_dir():
            shutil.rmtree(staging, ignore_errors=True)
        raise


def _is_there(folder: Path, revision: Revision) -> bool:
    """Tell whether the whole checkout is there; raise ``UsageError`` if something else is."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    marker = read_marker(folder)
    if marker.get("revision") != revision.name:
        what = f"a checkout of PyTorch {marker['version']}" if "version" in marker else "not a checkout of this command"
        raise UsageError("upstream-dest", f"{folder} exists and is {what}; remove it, or give --dest another folder")
    lost = int(str(marker.get("files", 0))) - _count(folder)
    if lost > 0:
        raise UsageError(
            "upstream-dest", f"{lost} files have gone from {folder} since it was fetched; remove it and fetch again"
        )
    return True


def _count(folder: Path) -> int:
    """Count Python files of tests, which is what tells a whole checkout from one that lost files."""
    return sum(1 for path in (folder / "test").rglob("*.py"))


def _bring(
    source: str, revision: Revision, staging: Path, *, lock: int, say: Callable[[str], None]
) -> tuple[str, list[str]]:
    """Fill ``staging`` from a source; return the commit where it is known, and lines for the user."""
    path = Path(source).expanduser()
    if path.is_dir():
        if is_repository(path):
            if Git(path).is_true("rev-parse", "--verify", "--quiet", f"{revision.ref}^{{commit}}"):
                # As an address: a plain path makes git ignore the filter.
                return clone(path.resolve().as_uri(), revision, staging, lock=lock, say=say), []
            if not (path / "test").is_dir():
                raise UsageError(
                    "upstream-no-tag", f"{path} has no {revision.name}; fetch it there, or give another source"
                )
            notes = [f"{path} has no {revision.name}: its files were copied as they are"]
        else:
            notes = []
        say(f"copying from {path}")
        _empty(staging)
        copy_folder(path, staging)
        return "", notes
    if path.is_file():
        say(f"unpacking {path}")
        _empty(staging)
        left_out = unpack(path, staging)
        return "", [f"left out of {path.name}: {name} (neither file nor folder)" for name in left_out]
    if source.startswith("-") or ("://" not in source and ":" not in source):
        raise UsageError("upstream-source", f"{source} does not exist; give a folder, a tarball or a git address")
    if "://" in source and source.endswith((".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".zip")):
        raise UsageError(
            "upstream-source", f"{without_password(source)} is no git address; download it and give its path"
        )
    return clone(source, revision, staging, lock=lock, say=say), []


def _empty(staging: Path) -> None:
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)


def _verify(staging: Path, revision: Revision, commit: str) -> list[str]:
    """Check that the files are of the release that was asked for; return what the user should know."""
    if not any((staging / "test").glob("test_*.py")):
        raise UsageError("upstream-missing", "the source holds no test files of PyTorch's in its test/ folder")
    said = first_line(staging / VERSION_FILE)
    found = release_of(said)
    if found is None:
        raise UsageError(
            "upstream-mismatch",
            f"the source does not say which PyTorch it is of ({VERSION_FILE} is {repr(said) if said else 'missing'}); "
            "a folder can be used as it is, by --upstream DIR",
        )
    if found != revision.release:
        raise UsageError(
            "upstream-mismatch",
            f"the source is PyTorch {found}, not {revision.release}; give --torch {found}, or another source",
        )
    notes = []
    torch = installed_torch()
    if (
        commit
        and torch is not None
        and torch.commit not in ("", "Unknown", commit)
        and release_of(torch.version) == found
    ):
        notes.append(
            f"{revision.name} is commit {commit[:12]}, but the installed torch was built from {torch.commit[:12]}"
        )
    missing = lacking({path.relative_to(staging).as_posix() for path in staging.rglob("*") if ".git" not in path.parts})
    if missing:
        notes.append(f"the source lacks {', '.join(missing)}: tests that read those fail")
    return notes


def _mark(staging: Path, revision: Revision, source: str, commit: str) -> None:
    """Write what the checkout is; the file's being there says that the checkout is whole."""
    content = {
        "schema": 1,
        "version": revision.release,
        "revision": revision.name,  # what was asked for; tag and commit say what git found
        "tag": revision.tag if commit else "",
        "commit": commit,
        "source": without_password(source),
        "files": _count(staging),
    }
    (staging / MARKER).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
