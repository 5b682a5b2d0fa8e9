"""The files of PyTorch's tests that say something about a device, from the list beside this module."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from conformance.errors import InfrastructureError
from conformance.suites.upstream.checkout import Checkout

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("curated.toml")


@dataclass(frozen=True, slots=True)
class CuratedFile:
    """A file of tests, relative to ``test/``, and the group of the list it stands in."""

    file: str
    group: str


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    patterns: tuple[str, ...]


def _groups() -> list[_Group]:
    try:
        document = tomllib.loads(LIST.read_text(encoding="utf-8"))
        return [_Group(str(group["name"]), tuple(map(str, group["files"]))) for group in document["group"]]
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise InfrastructureError(
            "missing-data", f"{LIST} cannot be read: {error}; install the harness again"
        ) from error


def curated_files(checkout: Checkout) -> tuple[CuratedFile, ...]:
    """Return the curated files that the checkout has, in the order of the list, each once."""
    present = checkout.files()
    found: dict[str, CuratedFile] = {}
    for group in _groups():
        for pattern in group.patterns:
            for file in present:
                if file not in found and _fits(file, pattern):
                    found[file] = CuratedFile(file, group.name)
    return tuple(found.values())


def absent_files(checkout: Checkout) -> tuple[str, ...]:
    """Return the entries of the list that fit no file of the checkout: its PyTorch is older or newer."""
    present = checkout.files()
    return tuple(
        pattern
        for group in _groups()
        for pattern in group.patterns
        if not any(_fits(file, pattern) for file in present)
    )


def _fits(file: str, pattern: str) -> bool:
    """Match within one folder: ``nn/test_*.py`` does not reach into ``nn/attention``."""
    return file.count("/") == pattern.count("/") and fnmatchcase(file, pattern)
