"""Read what is installed without importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True, slots=True)
class InstalledTorch:
    """What the installed torch says about itself; a text is empty where this build does not have the thing.

    ``commit`` is that of PyTorch's repository the build was made from.
    """

    version: str
    commit: str = ""
    cuda: str = ""
    hip: str = ""
    xpu: str = ""


def installed_torch() -> InstalledTorch | None:
    """Return what ``torch/version.py`` says, without importing torch; None if torch is not installed."""
    folder = _package_folder("torch")
    if folder is None:
        return None
    try:
        tree = ast.parse((folder / "version.py").read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return InstalledTorch(version=distribution_version("torch") or "unknown")
    said = _texts_assigned_in(tree)
    return InstalledTorch(
        version=said.get("__version__") or distribution_version("torch") or "unknown",
        commit=said.get("git_version", ""),
        cuda=said.get("cuda", ""),
        hip=said.get("hip", ""),
        xpu=said.get("xpu", ""),
    )


def _texts_assigned_in(tree: ast.Module) -> dict[str, str]:
    found = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                found[name] = text
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(text))):
                found[name] = text
            case _:
                continue
    return found


def _package_folder(name: str) -> Path | None:
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):  # ValueError: a module without a spec stands in its place
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def is_importable(module: str) -> bool:
    """Tell whether a top-level module could be imported; it is not."""
    try:
        return find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def distribution_version(*names: str) -> str | None:
    """Return the version of the first of these distributions that is installed, None if none is."""
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def versions_of(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return (name, version) for those of these distributions that are installed."""
    return tuple((name, found) for name in names if (found := distribution_version(name)) is not None)


def lines_of(path: Path) -> list[str]:
    """Return the lines of a small file of the system, none if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def first_line(path: Path) -> str:
    """Return the first line of a small file of the system, empty if there is none."""
    return next(iter(lines_of(path)), "").strip()
