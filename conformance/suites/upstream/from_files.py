"""Copy the wanted part of PyTorch out of a folder or a tarball."""

from __future__ import annotations

import errno
import lzma
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from conformance.errors import UsageError
from conformance.suites.upstream.wanted import FILES, FOLDERS, TESTS, VERSION_FILE, is_wanted

_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".pytest_cache", "*.pyc", ".git")


def copy_folder(folder: Path, staging: Path) -> None:
    """Copy what is wanted of a folder that holds PyTorch's files; raises ``UsageError`` if it does not."""
    if not (folder / TESTS).is_dir():
        raise UsageError("upstream-missing", f"{folder} holds no {TESTS}/ folder; give the root of PyTorch's files")
    for name in FOLDERS:
        if (folder / name).is_dir():
            shutil.copytree(folder / name, staging / name, symlinks=True, ignore=_LEFT_OUT)
    for name in FILES:
        if (folder / name).is_file():
            (staging / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, staging / name)


def unpack(archive: Path, staging: Path) -> list[str]:
    """Unpack what is wanted of a tarball, with or without a folder around everything.

    Returns the names that were left out: links and devices, of which PyTorch's tests have none. Raises ``UsageError``
    for a file that is no tarball, ends too early, or holds no tests of PyTorch's.
    """
    try:
        left_out = _unpack(archive, staging, around=True)
        if left_out is None:
            left_out = _unpack(archive, staging, around=False) or []
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise _damaged(archive, error) from error
    except OSError as error:
        if error.filename is not None or error.errno == errno.ENOSPC:
            raise
        raise _damaged(archive, error) from error  # bz2 and gzip complain so
    if not (staging / TESTS).is_dir():
        raise UsageError("upstream-missing", f"{archive} holds no {TESTS}/ folder of PyTorch's")
    return left_out


def _damaged(archive: Path, error: Exception) -> UsageError:
    why = str(error).partition("\n")[0].rstrip(":") or type(error).__name__
    return UsageError("upstream-archive", f"{archive} cannot be unpacked: {why}; get it again")


def _unpack(archive: Path, staging: Path, *, around: bool) -> list[str] | None:
    """Unpack, taking it that one folder is around everything or none is; None if there turn out to be several."""
    outer = ""
    left_out = []
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = [part for part in PurePosixPath(member.name).parts if part != "."]
            if not parts or parts[0] == "/" or ".." in parts:
                continue
            if around:
                outer = outer or parts[0]
                if parts[0] != outer or outer in (*FOLDERS, VERSION_FILE):
                    return None
                parts = parts[1:]
            path = "/".join(parts)
            if is_wanted(path) and not _write(tar, member, staging / path):
                left_out.append(member.name)
    return left_out


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> bool:
    """Write a file or a folder; tell whether it was one."""
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return True
    source = tar.extractfile(member) if member.isfile() else None
    if source is None:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with source, target.open("wb") as file:
        shutil.copyfileobj(source, file)
    if member.mode & 0o100:
        target.chmod(0o755)
    return True
