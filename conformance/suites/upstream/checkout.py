"""Find a checkout of PyTorch's tests and say which version it is of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from conformance.devices.installed import first_line
from conformance.emulator.build import cache_folder
from conformance.errors import InfrastructureError, UsageError
from conformance.suites.upstream.revision import Revision, release_of
from conformance.suites.upstream.wanted import TESTS, VERSION_FILE

MARKER = ".conformance-upstream.json"
STAGING_SUFFIX = ".part"


@dataclass(frozen=True, slots=True)
class Checkout:
    """PyTorch's test files on this machine.

    ``root`` is the folder ``test``, so that ``root / "nn/test_pooling.py"`` is a file. ``version`` is the release they
    belong to (``2.13.0``), None where nothing says so; ``tag`` and ``commit`` are empty where they are not known.
    """

    root: Path
    version: str | None
    tag: str = ""
    commit: str = ""

    def files(self) -> tuple[str, ...]:
        """Return every file of tests, relative to ``root``, sorted; C++ and data are none."""
        return tuple(sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("test_*.py")))

    def path(self, file: str) -> Path:
        """Return where a file lies that ``files`` names."""
        return self.root / file

    @property
    def name(self) -> str:
        """Return what people call its revision."""
        return self.tag or (f"v{self.version}" if self.version else "an unknown version")


def default_folder(revision: Revision) -> Path:
    """Return the folder of the cache that a revision is fetched into."""
    return cache_folder() / "upstream" / revision.name


def find_checkout(path: Path | str | None, torch_version: str) -> Checkout:
    """Return the checkout in a folder: one that holds ``test/``, or ``test`` itself; None looks into the cache.

    Raises ``UsageError`` for a folder that is no checkout, or one that was not fetched to its end, and
    ``InfrastructureError`` where the cache has none for that torch.
    """
    if path is None:
        return _cached(torch_version)
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise UsageError("upstream-missing", f"{folder} is no folder; give one that holds PyTorch's test/ folder")
    for repository in (folder, folder.resolve().parent):
        root = repository / TESTS
        if root.is_dir() and (repository == folder or root.samefile(folder)) and any(root.glob("test_*.py")):
            if repository.resolve().name.endswith(STAGING_SUFFIX):
                raise UsageError(
                    "upstream-incomplete",
                    f"{repository} is a checkout that was interrupted; `conformance upstream fetch` completes it",
                )
            return _read(repository)
    raise UsageError("upstream-missing", f"{folder} holds no {TESTS}/ folder with PyTorch's test files")


def _cached(torch_version: str) -> Checkout:
    from conformance.suites.upstream.revision import revision_for

    folder = default_folder(revision_for(torch_version))
    if not (folder / MARKER).is_file():
        raise InfrastructureError(
            "upstream-missing",
            f"there is no checkout of PyTorch's tests for torch {torch_version} in {folder}; "
            "`conformance upstream fetch` makes one, --upstream DIR names another",
        )
    return _read(folder)


def _read(repository: Path) -> Checkout:
    marker = read_marker(repository)
    version = release_of(str(marker.get("version", ""))) or release_of(first_line(repository / VERSION_FILE))
    return Checkout(
        root=(repository / TESTS).absolute(),
        version=version,
        tag=str(marker.get("tag", "")),
        commit=str(marker.get("commit", "")),
    )


def read_marker(repository: Path) -> dict[str, object]:
    """Return what ``fetch`` wrote into a checkout, nothing if it did not make it."""
    try:
        found = json.loads((repository / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def check_version(checkout: Checkout, torch_version: str) -> str | None:
    """Return a warning where the test files are not those of the installed torch, None where they are."""
    wanted = release_of(torch_version)
    consequence = "files may not import, and tests may fail for reasons that are not the device's"
    if checkout.version is None:
        return f"{checkout.root} does not say which PyTorch it is of (no {VERSION_FILE}); {consequence}"
    if checkout.version == wanted:
        return None
    return f"the test files are PyTorch {checkout.version}'s, the installed torch is {torch_version}: {consequence}"
