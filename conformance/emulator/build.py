"""Compile the harness's C++ sources on first use and keep the libraries in a cache."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from conformance.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Source:
    """C++ that is compiled against the installed torch.

    ``name`` begins the library's file name and ``title`` is what errors call it. ``unit`` is the file that is compiled;
    the library is built anew when any file of its folder changes. ``failure`` makes the error of a failed build from
    its message.
    """

    name: str
    title: str
    unit: Path
    failure: Callable[[str], InfrastructureError]


DEVICE = Source(
    name="neuron",
    title="the emulated neuron device",
    unit=Path(__file__).resolve().parent / "csrc" / "emulator.cpp",  # includes the other files
    failure=lambda message: InfrastructureError("emulator-build", message),
)

_OPTIONS = (
    "-shared",
    "-fPIC",
    "-O1",
    "-DNDEBUG",
)  # NDEBUG changes the layout of torch's own classes: it has to match the wheel
_END_OF_LIBRARY = b"conformance-library-complete\n"
_COMPILERS = ("c++", "g++", "clang++")
_LOG_LINES = 12


def cache_folder() -> Path:
    """Return the folder for compiled libraries, from CONFORMANCE_CACHE, XDG_CACHE_HOME or the home folder."""
    if chosen := os.environ.get("CONFORMANCE_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "torch-conformance"


def find_compiler(title: str = DEVICE.title) -> list[str]:
    """Return the command of the C++ compiler: CXX where it is set, else the first of c++, g++ and clang++.

    ``title`` is what needs it.

    Raises InfrastructureError("no-compiler") if there is none, or CXX names one that does not exist.
    """
    advice = (
        "install one (Debian and Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++) "
        "or give the path to one in the environment variable CXX"
    )
    if chosen := os.environ.get("CXX"):
        command = shlex.split(chosen)
        if not command or shutil.which(command[0]) is None:
            raise InfrastructureError(
                "no-compiler",
                f"{title} needs a C++ compiler, and CXX={chosen!r} is not a program here; {advice}",
            )
        return command
    for name in _COMPILERS:
        if found := shutil.which(name):
            return [found]
    raise InfrastructureError(
        "no-compiler",
        f"{title} needs a C++ compiler, and none of {', '.join(_COMPILERS)} is on PATH; {advice}",
    )


def torch_number(version: str) -> int:
    """Return a torch version as the number that the sources compare with: 2.13.0+cpu is 213."""
    release = Version(version).release
    return release[0] * 100 + release[1]


def library(source: Source = DEVICE) -> Path:
    """Return the compiled library for this torch, compiling it first if the cache has no whole copy.

    Raises InfrastructureError: "no-compiler", "cache-unwritable", or the source's own failure (it does not compile or
    load; the message has the last lines and the path of the log).
    """
    import torch

    options = [
        *_OPTIONS,
        # Torch's headers need C++20 from 2.11 on; older ones do not compile as C++20 with every compiler.
        "-std=c++20" if torch_number(torch.__version__) >= 211 else "-std=c++17",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        f"-DCONFORMANCE_TORCH={torch_number(torch.__version__)}",
    ]
    compiler = os.environ.get("CXX", "")
    name = f"{source.name}-{torch.__version__}-{_key(source, torch.__version__, options, compiler)}.so"
    folder = cache_folder()
    target = folder / name
    if _is_whole(target):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder / f"{name}.lock"):
            if not _is_whole(target):  # another process may have built it while this one waited
                compiler_command = find_compiler(source.title)
                _compile(source, compiler_command, options, torch.__version__, Path(torch.__file__).parent, target)
    except OSError as error:
        raise InfrastructureError(
            "cache-unwritable",
            f"cannot write to the cache folder {folder} ({error.strerror}); "
            "make room or name another one in the environment variable CONFORMANCE_CACHE",
        ) from error
    return target


def _key(source: Source, torch_version: str, options: Sequence[str], compiler: str) -> str:
    digest = hashlib.sha256()
    for file in sorted(source.unit.parent.iterdir()):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    digest.update("\0".join((torch_version, compiler, *options)).encode() + _END_OF_LIBRARY)
    return digest.hexdigest()[:16]


def _is_whole(path: Path) -> bool:
    """Tell whether a library was written to its end; ELF files may carry bytes behind their sections."""
    try:
        with path.open("rb") as file:
            file.seek(-len(_END_OF_LIBRARY), os.SEEK_END)
            return file.read() == _END_OF_LIBRARY
    except OSError:
        return False


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Let one process at a time build one library; the lock ends with the process that holds it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile(
    source: Source, compiler: list[str], options: list[str], torch_version: str, torch_folder: Path, target: Path
) -> None:
    log = target.with_suffix(".log")
    include, libraries = torch_folder / "include", torch_folder / "lib"
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as scratch:
        made = Path(scratch) / target.name
        command = [
            *compiler,
            *options,
            *("-isystem", str(include), "-isystem", str(include / "torch" / "csrc" / "api" / "include")),
            str(source.unit),
            *(f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-ltorch_cpu", "-lc10"),
            *("-o", str(made)),
        ]
        # A kernel that does not fit this torch ends the process that loads it: another process tries first.
        trial = [sys.executable, "-c", "import sys, torch; torch.ops.load_library(sys.argv[1])", str(made)]
        text = ""
        for step, what in ((command, f"compiling it with {shlex.join(compiler)}"), (trial, "loading it")):
            code, output = _run(step)
            text += f"$ {shlex.join(step)}\n{output}"
            log.write_text(text, encoding="utf-8")
            if code != 0:
                last = "\n".join(output.strip().splitlines()[-_LOG_LINES:])
                raise source.failure(
                    f"{source.title} cannot be built for torch {torch_version}: {what} failed; "
                    f"the whole log is {log}, its last lines are:\n{last}",
                )
        with made.open("ab") as file:
            file.write(_END_OF_LIBRARY)
        made.replace(target)


def _run(command: list[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except OSError as error:
        return 127, f"{command[0]}: {error.strerror}\n"
    return done.returncode, done.stdout


def forget(path: Path) -> None:
    """Remove a library that the loader refused, so that the next call compiles it again."""
    path.unlink(missing_ok=True)
