"""Read skiplists from files and folders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance.errors import UsageError
from conformance.skiplist.entry import Entry, Problem, Skiplist
from conformance.skiplist.parse import parse_text

_SHOWN = 5


def read_skiplist(paths: Sequence[Path]) -> tuple[Skiplist, tuple[Problem, ...]]:
    """Return the entries of the files that can be used, and everything that is wrong with the others.

    A folder stands for its ``*.toml``, by name; those in folders below it are another list. Raises UsageError
    (``skiplist-missing``) for a path that cannot be read, or a folder without such a file.
    """
    return parse_files([(str(file), _text(file)) for file in _files(paths)])


def parse_files(files: Sequence[tuple[str, str]]) -> tuple[Skiplist, tuple[Problem, ...]]:
    """Return the same for texts with their names, wherever they came from."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for file, text in files:
        found, wrong = parse_text(text, file)
        entries += found
        problems += wrong
    kept, twice = unique(entries)
    return Skiplist(kept, tuple(file for file, _ in files)), (*problems, *twice)


def unique(entries: Iterable[Entry]) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """Return the entries with different ids, the first of each, and a problem for each of the others."""
    first: dict[str, Entry] = {}
    problems = []
    for entry in entries:
        if entry.id in first:
            problems.append(Problem(entry.place, entry.id, f"the id is used already, at {first[entry.id].place}"))
        else:
            first[entry.id] = entry
    return tuple(first.values()), tuple(problems)


def load_skiplist(paths: Sequence[Path]) -> Skiplist:
    """Return the entries of files and folders.

    Raises UsageError: ``bad-skiplist`` with what is wrong if anything is, ``skiplist-missing`` if there is no file.
    """
    skiplist, problems = read_skiplist(paths)
    refuse(problems)
    return skiplist


def refuse(problems: Sequence[Problem]) -> None:
    """Raise UsageError (``bad-skiplist``) with the first problems, if there are any."""
    if problems:
        shown = "; ".join(map(str, problems[:_SHOWN]))
        more = f"; and {len(problems) - _SHOWN} more, which `conformance skiplist lint` shows" * (
            len(problems) > _SHOWN
        )
        raise UsageError("bad-skiplist", f"the skiplist cannot be used: {shown}{more}")


def skiplist_of_device(device: str) -> Path | None:
    """Return the folder of the device's skiplists among those that come with the harness, or None."""
    from conformance.resources import skiplists

    folder = skiplists() / device
    return folder if folder.is_dir() and _toml_files(folder) else None


def _files(paths: Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            found = _toml_files(path)
            if not found:
                below = sorted({file.parent.name for file in path.glob("*/*.toml")})
                hint = f"; did you mean one of its folders {', '.join(below)}?" if below else ""
                raise UsageError("skiplist-missing", f"the folder {path} holds no skiplist (*.toml){hint}")
            files += found
        else:
            files.append(path)
    different: dict[Path, Path] = {}
    for file in files:
        # A file may be named twice, by itself and by its folder.
        different.setdefault(file.resolve(), file)
    return list(different.values())


def _toml_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.toml") if file.is_file() and not file.name.startswith("."))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("bad-skiplist", f"{file} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise UsageError("skiplist-missing", f"cannot read the skiplist {file}: {error.strerror or error}") from None
