"""The command that repeats one test."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping

from conformance.model.identity import Suite

# What the result of a test depends on besides its id; the other variables say where things are kept.
_DECISIVE = ("CONFORMANCE_NEURON_", "CONFORMANCE_COMPILE_BACKEND")


def repeat_command(
    test_id: str, suite: str, device: str, *, command: str = "", environment: Mapping[str, str] | None = None
) -> str:
    """Return the command that runs exactly this test on this device again, quoted for a POSIX shell.

    ``command`` is the one that the test was run by. Tests of the built-in suites do not need it; those of files are
    found through the path that stands in it, and without one through the file in their id. ``environment`` is the
    run's: variables that change what the device does, such as injected faults, or by what it is compiled for, are set
    again.
    """
    settings = [
        f"{name}={shlex.quote(value)}"
        for name, value in sorted((environment or {}).items())
        if name.startswith(_DECISIVE)
    ]
    sources = [suite]
    if suite in (Suite.LOCAL.value, Suite.UPSTREAM.value):
        file = test_id.partition("::")[0]
        words = _words(command)
        paths = [posixpath.normpath(word.partition("::")[0]) for word in words]
        if suite == Suite.LOCAL.value:
            sources = _local(file, paths)
        else:
            checkout = _option(words, "--upstream")
            sources = [file, "--upstream", checkout] if checkout else _upstream(file, paths)
            sources += [flag for flag in ("--slow", "--include-cuda-only") if flag in words]
    return " ".join([*settings, shlex.join(["conformance", "run", *sources, "--device", device, "--test", test_id])])


def _option(words: list[str], name: str) -> str:
    """Return the value of an option in a command, empty where it is not given."""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""


def _upstream(file: str, paths: list[str]) -> list[str]:
    """Return the path of a file of PyTorch's; its id is relative to the folder ``test`` of the checkout."""
    for path in paths:
        if path == file or path.endswith(f"/{file}"):
            return [path]
        if posixpath.basename(path) == "test":
            return [posixpath.join(path, file)]
        if file.startswith(f"{posixpath.basename(path)}/"):
            return [posixpath.join(posixpath.dirname(path), file)]
    return [file]


def _local(file: str, paths: list[str]) -> list[str]:
    """Return what to run so that the id comes out the same: it is relative to the folder of the first path."""
    for path in paths:
        if posixpath.basename(path) == file or file.startswith(f"{posixpath.basename(path)}/"):
            return [path]
        if path.endswith(f"/{file}"):
            first = next((other for other in paths if posixpath.join(posixpath.dirname(other), file) == path), None)
            return [path] if first is None else [first, path]
    return [file]


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []  # not in the shell's language: the command was not recorded by the command line
