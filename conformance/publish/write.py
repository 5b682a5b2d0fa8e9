"""Render the files of a site and put them in place in one step."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from conformance import resources
from conformance.errors import InfrastructureError, UsageError
from conformance.publish.names import breakable
from conformance.publish.pages import HtmlPage, Json, JsonFile, SiteFile, TextFile
from conformance.publish.wording import counted, number, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MARKER = ".conformance-site"
_MARKER_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class WrittenSite:
    """What was written: where, how many files, and their size in bytes."""

    folder: Path
    files: int
    size: int


def environment() -> Environment:
    """Return the Jinja environment of the site: everything is escaped, and an unknown name is an error."""
    found = Environment(
        loader=FileSystemLoader(resources.site_templates(), encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    found.filters.update(number=number, share=share, counted=counted, breakable=breakable)
    return found


def check_folder(folder: Path) -> None:
    """Refuse a folder whose content is not a site of ours; one that does not exist or is empty is fine.

    Raises UsageError (``not-a-site``), also where files of others lie in a site: rebuilding would remove them.
    """
    target = folder.resolve()
    if target == Path.cwd() or target in Path.cwd().parents:
        raise UsageError(
            "not-a-site",
            f"cannot build the site in {folder}: a site is replaced as a whole, and this is the current folder or one "
            "above it; give --out a folder of its own",
        )
    if not target.exists():
        return
    if not target.is_dir():
        raise UsageError("not-a-site", f"cannot build the site in {folder}: it is a file; give --out a folder")
    try:
        present = {entry.name for entry in target.iterdir()}
    except OSError as error:
        raise _unwritable(folder, error) from error
    foreign = sorted(present - _entries_of(target))
    if foreign:
        some = ", ".join(repr(name) for name in foreign[:3]) + (", ..." if len(foreign) > 3 else "")
        raise UsageError(
            "not-a-site",
            f"will not build the site in {folder}: it holds files that are not of a site made by conformance ({some}); "
            "give --out an empty or new folder",
        )


def _entries_of(folder: Path) -> set[str]:
    """Return the names that the marker of an earlier site claims; nothing where there is none."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        return {MARKER, *(str(name) for name in marker["entries"])}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def write_site(files: Iterable[SiteFile], folder: Path) -> WrittenSite:
    """Write the site beside its folder, then swap it in: readers see the old one or the new one, never a part.

    Raises UsageError (``not-a-site``) when the folder holds something else, InfrastructureError (``site-unwritable``)
    when the disk is full or the place cannot be written.
    """
    check_folder(folder)
    target = folder.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _workshop(target) as workshop:
            fresh = workshop / "new"
            fresh.mkdir()
            count, size = _write_all(files, fresh)
            _swap(fresh, target, workshop / "old")
    except OSError as error:
        raise _unwritable(folder, error) from error
    return WrittenSite(folder, count, size)


def _unwritable(folder: Path, error: OSError) -> InfrastructureError:
    return InfrastructureError(
        "site-unwritable",
        f"cannot write the site to {folder}: {error.strerror or error}; make room or give --out another folder "
        "(the folder it lies in must be writable too)",
    )


@contextmanager
def _workshop(target: Path) -> Iterator[Path]:
    """Give a folder on the same file system as the target, so that moving between them is one step."""
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _swap(fresh: Path, target: Path, old: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    target.rename(old)
    try:
        fresh.rename(target)
    except BaseException:
        old.rename(target)
        raise


def _write_all(files: Iterable[SiteFile], root: Path) -> tuple[int, int]:
    templates = environment()
    count = size = 0
    for path, content in _contents(files, templates):
        size += _write(root, path, content)
        count += 1
    entries = sorted(entry.name for entry in root.iterdir())
    marker = json.dumps({"schema": _MARKER_SCHEMA, "entries": entries}, indent=1) + "\n"
    size += _write(root, MARKER, marker.encode())
    return count + 1, size


def _contents(files: Iterable[SiteFile], templates: Environment) -> Iterator[tuple[str, bytes]]:
    static = resources.site_static()
    for source in sorted(static.iterdir()):
        yield f"static/{source.name}", source.read_bytes()
    # GitHub Pages leaves out files whose name starts with an underscore (`__radd__.html`) unless this file is there.
    yield ".nojekyll", b""
    for file in files:
        yield file.path, _rendered(file, templates)


def _rendered(file: SiteFile, templates: Environment) -> bytes:
    match file:
        case HtmlPage():
            text = templates.get_template(file.template).render(frame=file.frame, page=file.page)
        case JsonFile():
            text = json_text(file.document)
        case TextFile():
            text = file.text
    return text.encode("utf-8", "backslashreplace")


def json_text(document: Json) -> str:
    """Write a document with one line for each member, and for each item of a list among them."""
    if not isinstance(document, dict):
        return _compact(document) + "\n"
    members = [f" {_compact(name)}: {_member(value)}" for name, value in document.items()]
    return "{\n" + ",\n".join(members) + "\n}\n"


def _member(value: Json) -> str:
    if not isinstance(value, list) or not value:
        return _compact(value)
    return "[\n  " + ",\n  ".join(map(_compact, value)) + "\n ]"


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(", ", ": "))


def _write(root: Path, path: str, content: bytes) -> int:
    place = root / path
    if not place.resolve().is_relative_to(root.resolve()):
        raise AssertionError(f"a page must stay inside its site: {path!r}")
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("xb") as stream:
        stream.write(content)
    return len(content)
