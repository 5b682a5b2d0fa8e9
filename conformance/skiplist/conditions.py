"""Decide whether an entry is active: its versions, its device, emulated or not, its last day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from conformance.skiplist.entry import Entry

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

_RELEASE = re.compile(r"\s*v?(\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class Context:
    """What is known about a run before its tests; a condition on something that is None is not judged.

    ``torch_version``, ``device_version`` (of the backend) and ``device_name`` are those of the run; ``today`` is the
    day, UTC, for which entries expire.
    """

    torch_version: str | None = None
    device_version: str | None = None
    device_name: str | None = None
    emulated: bool | None = None
    today: date | None = None


class Conditions:
    """Judge entries in one context; each version and each specifier is read once."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._specifiers: dict[str, SpecifierSet] = {}
        self._releases: dict[str, Version | None] = {}

    def why_inactive(self, entry: Entry) -> str:
        """Return why the entry is not active, or nothing where it is.

        Versions are compared by their release alone, so that ``2.14.0a0+git`` counts as 2.14.0. A version that has no
        release, such as an empty one, meets no condition: it is not known to.
        """
        if not _is_conditional(entry):
            return ""
        context = self.context
        for name, specifier, version in (
            ("torch", entry.torch, context.torch_version),
            ("device_version", entry.device_version, context.device_version),
        ):
            if specifier and version is not None and not self._contains(specifier, version):
                return f"{name} = '{specifier}', and this is '{version}'"
        device_name = context.device_name
        if entry.device_name and device_name is not None and not fnmatchcase(device_name, entry.device_name):
            return f"device_name = '{entry.device_name}', and this is '{device_name}'"
        if entry.emulated is not None and context.emulated is not None and entry.emulated != context.emulated:
            return f"emulated = {str(entry.emulated).lower()}, and this is {'' if context.emulated else 'not '}emulated"
        if entry.expires is not None and context.today is not None and entry.expires < context.today:
            return f"it expired on {entry.expires}"
        return ""

    def _contains(self, specifier: str, version: str) -> bool:
        from packaging.specifiers import SpecifierSet

        if version not in self._releases:
            self._releases[version] = release_of(version)
        release = self._releases[version]
        if release is None:
            return False
        if specifier not in self._specifiers:
            self._specifiers[specifier] = SpecifierSet(specifier)
        return self._specifiers[specifier].contains(release, prereleases=True)


def _is_conditional(entry: Entry) -> bool:
    return bool(
        entry.torch
        or entry.device_version
        or entry.device_name
        or entry.expires is not None
        or entry.emulated is not None
    )


def release_of(version: str) -> Version | None:
    """Return the release of a version (``2.9.0`` of ``2.9.0a0+git12``), or None where there is none."""
    from packaging.version import Version

    found = _RELEASE.match(version)
    return Version(found[1]) if found else None
