"""Work out which revision of PyTorch's repository belongs to a torch."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from conformance.devices.installed import installed_torch
from conformance.errors import InfrastructureError, UsageError

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision of PyTorch's repository: its release number (``2.13.0``), and the tag or the commit to fetch."""

    release: str
    tag: str = ""
    commit: str = ""

    @property
    def name(self) -> str:
        """Return what people call it, and what its folder in the cache is called."""
        return self.tag or f"{self.release}-{self.commit[:12]}"

    @property
    def ref(self) -> str:
        """Return what git is asked for."""
        return f"refs/tags/{self.tag}" if self.tag else self.commit


def release_of(version: str) -> str | None:
    """Return ``2.13.0`` for ``2.13.0+cpu``, ``2.13.0a0`` or ``2.13``; None for a text that is no version."""
    try:
        release = Version(version).release
    except InvalidVersion:
        return None
    return ".".join(str(part) for part in (*release, 0, 0)[: max(3, len(release))])


def revision_for(version: str | None = None) -> Revision:
    """Return the revision for a version of torch, by default for the installed one.

    A build between releases is found by the commit it was made from, which only the installed torch can tell. Raises
    ``UsageError`` for a version that has no tag, ``InfrastructureError`` where torch is asked about and not installed.
    """
    installed = installed_torch()
    if version is None:
        if installed is None:
            raise InfrastructureError(
                "no-torch", "torch is not installed here, so its version is not known; give --torch VERSION"
            )
        version = installed.version
    text = version.removeprefix("v")
    release = release_of(text)
    if release is None:
        raise UsageError("bad-torch-version", f"{version!r} is no version of torch; write it as 2.13.0")
    parsed = Version(text)
    if parsed.pre is not None and parsed.pre[0] == "rc" and not parsed.is_devrelease:
        return Revision(release, tag=f"v{release}-rc{parsed.pre[1]}")
    if not parsed.is_prerelease:
        return Revision(release, tag=f"v{release}")
    if installed is not None and installed.version == version and _COMMIT.fullmatch(installed.commit):
        return Revision(release, commit=installed.commit)
    raise UsageError(
        "bad-torch-version",
        f"torch {version} is a build between releases, and its commit is not known here; give --torch with a release, "
        "such as 2.13.0",
    )
