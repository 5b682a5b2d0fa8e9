"""Find out, each file in a process of its own, whether files of tests import here and how many tests they have."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import InfrastructureError
from conformance.suites.upstream.checkout import Checkout
from conformance.suites.upstream.listener import ANSWER

_POLL_S = 0.05
_USAGE = 4  # pytest's exit code where an option is refused, here: where the device cannot be had
_REFUSED = re.compile(r"ERROR: conformance: (.+) \[[\w-]+\]")


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of the import of one file: ``tests`` is None where ``error`` says why it did not."""

    file: str
    tests: int | None
    error: str
    seconds: float


@dataclass(slots=True)
class _Running:
    file: str
    process: subprocess.Popen[bytes]
    folder: tempfile.TemporaryDirectory[str]
    began: float

    @property
    def answer(self) -> Path:
        return Path(self.folder.name) / "answer.json"

    @property
    def output(self) -> Path:
        return Path(self.folder.name) / "output.txt"


def inspect_files(
    checkout: Checkout,
    files: Sequence[str],
    *,
    options: Sequence[str],
    timeout_s: float,
    processes: int = 2,
    done: Callable[[FileReport], None] = lambda _: None,
) -> list[FileReport]:
    """Let pytest collect each file, ``processes`` at a time; return a report for each, in order.

    ``options`` are those with which a run would start pytest. A file that takes longer than ``timeout_s``, crashes or
    exits is an error of that file. ``done`` is told about each file when it is finished. Raises ``InfrastructureError``
    where the options are refused, such as a device that is not here.
    """
    waiting = list(reversed(files))
    running: list[_Running] = []
    reports: dict[str, FileReport] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                running.append(_start(checkout, waiting.pop(), options))
            time.sleep(_POLL_S)
            for one in list(running):
                report = _finished(one, timeout_s=timeout_s)
                if report is not None:
                    running.remove(one)
                    reports[one.file] = report
                    done(report)
    finally:
        for one in running:
            _end(one)
    return [reports[file] for file in files]


def _start(checkout: Checkout, file: str, options: Sequence[str]) -> _Running:
    folder = tempfile.TemporaryDirectory(prefix="conformance-import-")
    environment = {
        **os.environ,
        ANSWER: str(Path(folder.name) / "answer.json"),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",  # the checkout stays as it was fetched
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-P" if sys.version_info >= (3, 11) else "-s", "-m", "pytest"]
    command += ["--collect-only", "-q", "--noconftest", "-c", os.devnull, f"--rootdir={checkout.root}"]
    command += ["-p", "no:cacheprovider", "-p", "conformance.suites.upstream.listener", *options]
    with (Path(folder.name) / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [*command, str(checkout.path(file))],
            cwd=folder.name,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return _Running(file, process, folder, time.monotonic())


def _finished(one: _Running, *, timeout_s: float) -> FileReport | None:
    seconds = time.monotonic() - one.began
    code = one.process.poll()
    if code is None and seconds < timeout_s:
        return None
    try:
        if code is None:
            return FileReport(one.file, None, f"did not import within {timeout_s:g} s", seconds)
        return _report(one, code, seconds)
    finally:
        _end(one)


def _report(one: _Running, code: int, seconds: float) -> FileReport:
    with contextlib.suppress(OSError, ValueError):
        answer = json.loads(one.answer.read_text(encoding="utf-8"))
        return FileReport(one.file, answer["tests"], answer["error"], seconds)
    said = one.output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if code == _USAGE:
        refused = next((found for line in said if (found := _REFUSED.search(line))), None)
        if refused is not None:
            raise InfrastructureError("no-device", refused[1])
    last = f": {said[-1].strip()}" if said else ""
    how = f"died of {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
    return FileReport(one.file, None, f"the process {how} while importing it{last}", seconds)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _end(one: _Running) -> None:
    """End the process and whatever it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(one.process.pid, signal.SIGKILL)
    one.process.wait()
    one.folder.cleanup()
