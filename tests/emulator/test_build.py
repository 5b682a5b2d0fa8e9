"""Compiling and caching the device's library; the compiler is a script, so that nothing takes long."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from conformance.emulator import build
from conformance.errors import InfrastructureError

_FAKE = """
    #!{python}
    import pathlib, sys, time
    with open({calls!r}, "a") as calls:
        calls.write(" ".join(sys.argv[1:]) + "\\n")
    time.sleep({seconds})
    if {fails}:
        print("emulator.cpp:1: error: no such header")
        raise SystemExit(1)
    pathlib.Path(sys.argv[sys.argv.index("-o") + 1]).write_bytes(pathlib.Path({library!r}).read_bytes())
"""


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
def real_library() -> Path:
    return build.library()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("CONFORMANCE_CACHE", str(folder))
    monkeypatch.delenv("CXX", raising=False)
    return folder


def _fake_compiler(
    calls: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    fails: bool = False,
    seconds: float = 0,
    library: Path | None = None,
) -> Path:
    """Install a compiler that notes its calls, and makes a copy of a library: a small one that loads by default."""
    import torch

    library = library or Path(torch.__file__).parent / "lib" / "libtorch.so"
    script = calls.with_name("fake-c++")
    text = _FAKE.format(python=sys.executable, calls=str(calls), fails=fails, seconds=seconds, library=str(library))
    script.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    return script


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFORMANCE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert build.cache_folder() == Path("/home/someone/.cache/torch-conformance")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert build.cache_folder() == Path("/caches/torch-conformance")
    monkeypatch.setenv("CONFORMANCE_CACHE", "/mine")
    assert build.cache_folder() == Path("/mine")


@pytest.mark.parametrize(
    ("version", "number"), [("2.13.0+cpu", 213), ("2.6.0", 206), ("2.14.0a0+git123", 214), ("3.0.1", 300)]
)
def test_versions_as_numbers(version: str, number: int) -> None:
    assert build.torch_number(version) == number


def test_no_compiler(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(cache))
    with pytest.raises(InfrastructureError) as caught:
        build.library()
    assert caught.value.slug == "no-compiler"
    assert "apt-get install g++" in str(caught.value)
    assert "CXX" in str(caught.value)
    assert "\n" not in str(caught.value)
    monkeypatch.setenv("CXX", "/opt/none/c++ -m64")
    with pytest.raises(InfrastructureError, match="CXX='/opt/none/c\\+\\+ -m64' is not a program"):
        build.library()


def test_the_first_compiler_on_the_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("clang++", "g++", "c++"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
        assert build.find_compiler() == [str(program)]
    monkeypatch.setenv("CXX", "c++ -m64")
    assert build.find_compiler() == ["c++", "-m64"]


def test_a_library_is_built_once_for_its_sources_and_flags(
    cache: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = _fake_compiler(calls, monkeypatch)
    first = build.library()
    assert first.parent == cache
    commands = calls.read_text(encoding="utf-8").splitlines()
    assert len(commands) == 1
    assert "-DNDEBUG" in commands[0]
    assert build.library() == first
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 1
    monkeypatch.setenv("CXX", f"{script} -m64")
    assert build.library() != first
    assert not [path for path in cache.iterdir() if path.name.startswith("build-")]


@pytest.mark.parametrize("damage", ["truncated", "empty", "other"])
def test_a_damaged_library_is_rebuilt(cache: Path, calls: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    _fake_compiler(calls, monkeypatch)
    path = build.library()
    whole = path.read_bytes()
    path.write_bytes({"truncated": whole[:-1], "empty": b"", "other": b"x" * len(whole)}[damage])
    assert build.library().read_bytes() == whole
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 2


def test_two_processes_build_once(cache: Path, calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_compiler(calls, monkeypatch, seconds=0.3)
    code = "from conformance.emulator import build; print(build.library())"
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert outputs[0] == outputs[1] != ""
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 1


def test_a_failed_build_shows_the_last_lines_and_the_log(
    cache: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_compiler(calls, monkeypatch, fails=True)
    with pytest.raises(InfrastructureError) as caught:
        build.library()
    assert caught.value.slug == "emulator-build"
    assert "error: no such header" in str(caught.value)
    log = next(cache.glob("*.log"))
    assert str(log) in str(caught.value)
    assert "emulator.cpp" in log.read_text(encoding="utf-8")
    assert not list(cache.glob("*.so"))


@pytest.mark.parametrize("kind", ["file", "read-only"])
def test_a_cache_that_cannot_be_written(cache: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    if kind == "file":
        cache.write_text("not a folder", encoding="utf-8")
    else:
        cache.mkdir(mode=0o555)
        if os.access(cache, os.W_OK):
            monkeypatch.setenv("CONFORMANCE_CACHE", "/proc/torch-conformance")  # root writes to any other folder
    with pytest.raises(InfrastructureError, match="CONFORMANCE_CACHE") as caught:
        build.library()
    assert caught.value.slug == "cache-unwritable"


def test_a_library_that_does_not_load_is_not_kept(cache: Path, calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_compiler(calls, monkeypatch, library=Path(__file__))
    with pytest.raises(InfrastructureError, match="loading it failed") as caught:
        build.library()
    assert caught.value.slug == "emulator-build"
    assert not list(cache.glob("*.so"))


def test_a_library_that_no_longer_loads_is_compiled_again(
    real_library: Path, cache: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_compiler(calls, monkeypatch, library=real_library)
    path = build.library()
    path.write_bytes(b"not a library" + path.read_bytes()[-64:])
    code = (
        "import torch; from conformance import emulator; emulator.load(); print(torch.ones(1, device='neuron').item())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "1.0\n", done.stderr
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 2
