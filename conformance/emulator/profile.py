"""Read a capability profile: what the emulated device can do by itself."""

from __future__ import annotations

import difflib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROFILES = Path(__file__).resolve().parent / "profiles"
VARIABLE = "CONFORMANCE_NEURON_PROFILE"

_KEYS: dict[str, type | tuple[type, ...]] = {
    "schema": int,
    "name": str,
    "description": str,
    "native": (str, list),
    "dtypes": dict,
    "compute_as": dict,
    "memory": dict,
    "compile": dict,
}
_DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
]
_NARROWER = {"int64": "int32", "float64": "float32"}
_DEFAULT_FORMATS = {"contiguous", "preserve"}
_FORMATS = _DEFAULT_FORMATS | {"channels_last", "channels_last_3d"}


@dataclass(frozen=True, slots=True)
class Profile:
    """The capabilities of the emulated device.

    ``native`` holds operator names without ``aten::`` and overload (``add`` stands for all overloads of ``add`` and
    ``add_``), or names with one overload (``add.Tensor``); None means every operator that has a CPU kernel.
    Operators on a dtype in ``fallback_dtypes`` run on the CPU; a tensor of a dtype in ``unsupported_dtypes`` cannot
    exist. ``compute_as`` maps ``int64`` and ``float64`` to the type that results are rounded through. torch.compile
    refuses a graph with a tensor of a dtype in ``uncompiled_dtypes``, and one with a size that is not known beforehand
    unless ``compiles_dynamic_shapes``.
    """

    name: str
    description: str
    path: Path
    native: tuple[str, ...] | None
    unsupported_dtypes: tuple[str, ...] = ()
    fallback_dtypes: tuple[str, ...] = ()
    compute_as: tuple[tuple[str, str], ...] = ()
    memory_formats: tuple[str, ...] = ()
    memory_bytes: int = 16 << 30
    compiles_dynamic_shapes: bool = True
    uncompiled_dtypes: tuple[str, ...] = ()

    @property
    def only_default_memory_format(self) -> bool:
        """Tell whether channels-last formats are refused."""
        return set(self.memory_formats) <= _DEFAULT_FORMATS


def find_profile(selector: str | None = None) -> Path:
    """Return the file of a profile given by name or path; CONFORMANCE_NEURON_PROFILE counts if no selector is given."""
    chosen = selector or os.environ.get(VARIABLE) or "default"
    known = sorted(path.stem for path in PROFILES.glob("*.toml"))
    if chosen in known:
        return PROFILES / f"{chosen}.toml"
    path = Path(chosen).expanduser()
    if not path.is_file():
        source = "" if selector or not os.environ.get(VARIABLE) else f" (from {VARIABLE})"
        raise UsageError(
            "bad-profile",
            f"there is no capability profile {chosen!r}{source}: give one of {', '.join(known)}, "
            "or the path of a TOML file",
        )
    return path


def read_profile(path: Path) -> Profile:
    """Read and check a profile; raise UsageError("bad-profile") that names the file, the line and the remedy.

    Operator names are checked later, by ``native_overloads``: only torch knows them.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("bad-profile", f"{path}: cannot be read as text ({error}); check the path") from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        where = f"{path}:{found.group(1)}" if found else str(path)
        raise UsageError("bad-profile", f"{where}: not valid TOML: {error}; correct the syntax") from error
    except RecursionError:
        raise UsageError("bad-profile", f"{path}: values are nested too deeply; correct the syntax") from None
    return _Reader(path, text, document).profile()


class _Reader:
    """One profile's text and parsed content, so that an error can say on which line it is."""

    def __init__(self, path: Path, text: str, document: dict[str, Any]) -> None:
        self._path = path
        self._lines = text.splitlines()
        self._document = document

    def error(self, message: str, *, near: str = "") -> UsageError:
        return UsageError("bad-profile", f"{locate(self._path, self._lines, near)}: {message}")

    def profile(self) -> Profile:
        document = self._document
        for key, value in document.items():
            self._check_key(key, tuple(_KEYS), key)
            if not isinstance(value, _KEYS[key]) or isinstance(value, bool):
                raise self.error(f"'{key}' has the wrong type ({type(value).__name__}); see docs/emulator.md", near=key)
        for key in ("schema", "name", "native"):
            if key not in document:
                raise self.error(f"the key '{key}' is missing; add it (docs/emulator.md shows the format)")
        if document["schema"] != 1:
            raise self.error(f"schema {document['schema']} is not known; this harness reads schema = 1", near="schema")
        dtypes = self._table("dtypes", ("unsupported", "fallback"))
        memory = self._table("memory", ("formats", "gib"))
        gib = memory.get("gib", 16)
        if not isinstance(gib, (int, float)) or isinstance(gib, bool) or not 0 < gib <= 1 << 20:
            raise self.error(f"memory.gib is {gib!r}; give a number of GiB above 0", near="gib")
        compiled = self._table("compile", ("dynamic_shapes", "refused_dtypes"))
        dynamic = compiled.get("dynamic_shapes", True)
        if not isinstance(dynamic, bool):
            raise self.error(f"compile.dynamic_shapes is {dynamic!r}; give true or false", near="dynamic_shapes")
        return Profile(
            name=document["name"],
            description=document.get("description", "").strip(),
            path=self._path,
            native=self._native(),
            unsupported_dtypes=self._names("unsupported", dtypes, _DTYPES, "dtypes.unsupported"),
            fallback_dtypes=self._names("fallback", dtypes, _DTYPES, "dtypes.fallback"),
            compute_as=self._compute_as(),
            memory_formats=self._names("formats", memory, sorted(_FORMATS), "memory.formats"),
            memory_bytes=int(gib * (1 << 30)),
            compiles_dynamic_shapes=dynamic,
            uncompiled_dtypes=self._names("refused_dtypes", compiled, _DTYPES, "compile.refused_dtypes"),
        )

    def _check_key(self, key: str, known: tuple[str, ...], near: str) -> None:
        if key not in known:
            raise self.error(f"unknown key '{key}'{suggestion(key, known)}; the keys are {', '.join(known)}", near=near)

    def _table(self, name: str, known: tuple[str, ...]) -> dict[str, Any]:
        table: dict[str, Any] = self._document.get(name, {})
        for key in table:
            self._check_key(key, known, key)
        return table

    def _names(self, key: str, table: dict[str, Any], known: list[str], shown: str) -> tuple[str, ...]:
        names = table.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self.error(f"{shown} must be a list of strings", near=key)
        for name in names:
            if name not in known:
                hint = suggestion(name, known)
                raise self.error(f"{shown}: '{name}' is unknown{hint}; use one of {', '.join(known)}", near=name)
        return tuple(names)

    def _compute_as(self) -> tuple[tuple[str, str], ...]:
        table = self._table("compute_as", tuple(_NARROWER))
        for wide, narrow in table.items():
            if narrow != _NARROWER[wide]:
                raise self.error(f'compute_as.{wide} can only be "{_NARROWER[wide]}", or left out', near=wide)
        return tuple(sorted(table.items()))

    def _native(self) -> tuple[str, ...] | None:
        native = self._document["native"]
        if native == "all":
            return None
        if isinstance(native, str):
            raise self.error(f'native is {native!r}; give a list of operators, or "all"', near="native")
        for before, name in zip(["", *native], native, strict=False):
            if not isinstance(name, str):
                raise self.error(f"native holds {name!r}, which is not a string", near="native")
            if name <= before:
                problem = "is there twice" if name == before else f"comes after '{before}'"
                raise self.error(f"native is not a sorted list: '{name}' {problem}; sort it", near=name)
        return tuple(native)


def locate(path: Path, lines: list[str], near: str) -> str:
    """Return ``path:line`` for the first line that holds ``near`` as a word or a string, else the path alone."""
    pattern = re.compile(rf"^\s*\[?{re.escape(near)}\b|[\"']{re.escape(near)}[\"']")
    if near:
        for number, line in enumerate(lines, start=1):
            if pattern.search(line):
                return f"{path}:{number}"
    return str(path)


def suggestion(name: str, known: tuple[str, ...] | list[str]) -> str:
    """Return `` (did you mean 'x'?)`` if a known name is close, else nothing."""
    close = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""
