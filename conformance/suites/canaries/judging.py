"""Compare what was recorded for the canaries with what should have been."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from conformance.model.outcome import Outcome
from conformance.store import ResultRow
from conformance.suites.canaries import NOT_TRIED, PROCESSES, VARIABLE, Canary, start_of

_END_WITHIN_S = 3.0
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Checked:
    """One line of the self-test's table; ``why`` says what is wrong, or why nothing was tried."""

    does: str
    expected: str
    observed: str
    verdict: str
    why: str = ""

    @property
    def is_wrong(self) -> bool:
        """Tell whether something else was observed than expected."""
        return self.verdict == WRONG


OK, WRONG, UNTRIED = "ok", "WRONG", "not tried"


def judge(
    declared: Mapping[tuple[str, str, str], Canary], broken_files: Mapping[str, Canary], rows: Iterable[ResultRow]
) -> list[Checked]:
    """Return a line for each canary, in their order, and one for each recorded test that is none."""
    found: dict[tuple[str, str, str], list[ResultRow]] = {}
    for row in rows:
        file = PurePosixPath(row.file).name
        key = (file, "", "") if file in broken_files else (file, row.class_name, row.template)
        found.setdefault(key, []).append(row)
    expected = {**declared, **{(file, "", ""): canary for file, canary in broken_files.items()}}
    lines = [judge_one(canary, found.pop(key, [])) for key, canary in expected.items()]
    lines += [
        Checked(row.test_id, "nothing", row.outcome, WRONG, "this test is no canary")
        for key in found
        for row in found[key]
    ]
    return lines


def judge_one(canary: Canary, rows: list[ResultRow]) -> Checked:
    """Compare the rows of one canary with what it declares."""
    observed = ", ".join(sorted({str(row.outcome) for row in rows})) or "nothing"
    reasons = {row.reason for row in rows if row.outcome is Outcome.SKIPPED and row.reason.startswith(NOT_TRIED)}
    if canary.untried and len(rows) == canary.tests and len(reasons) == 1:
        return Checked(canary.does, canary.outcome, "-", UNTRIED, reasons.pop().removeprefix(NOT_TRIED))
    problems = [] if len(rows) == canary.tests else [f"{len(rows)} tests were recorded, not {canary.tests}"]
    for row in rows:
        problems += _problems(canary, row)
    return Checked(canary.does, canary.outcome, observed, WRONG if problems else OK, "; ".join(dict.fromkeys(problems)))


def _problems(canary: Canary, row: ResultRow) -> list[str]:
    said = " ".join(filter(None, (row.message, row.reason)))
    if row.outcome is not canary.outcome:
        return [f"{row.outcome}: {_short(said) or 'without a message'}"]
    problems = [f"the message lacks {text!r}: {_short(said)!r}" for text in canary.says if text not in said]
    problems += [
        f"the details lack {text!r}: {_short(row.details)!r}" for text in canary.keeps if text not in row.details
    ]
    if canary.falls_back and not any(canary.falls_back in overload for overload in row.fallback_ops or ()):
        seen = "not observed" if row.fallback_ops is None else ", ".join(row.fallback_ops) or "none"
        problems.append(f"the fallbacks lack {canary.falls_back}: {seen}")
    if row.attempt != 1:
        problems.append(f"attempt {row.attempt} was recorded, and one was asked for")
    return problems


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def judge_processes(folder: Path, children: Iterable[int]) -> Checked:
    """Check that no process is left, and end those that are.

    ``children`` are those of this process that it did not have before. Processes that the canaries noted, and all that
    carry their variable, are looked for too.
    """
    end = time.monotonic() + _END_WITHIN_S
    workers = dict.fromkeys(children, "a worker")
    while True:
        named = {**workers, **_marked(folder), **_noted(folder)}
        left = {pid: name for pid, name in named.items() if start_of(pid)}
        if not left or time.monotonic() > end:
            break
        time.sleep(0.05)
    for pid in left:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    names = ", ".join(f"{pid} ({name})" for pid, name in sorted(left.items()))
    return Checked(
        "leave no process behind",
        "none",
        str(len(left)) if left else "none",
        WRONG if left else OK,
        f"still there, ended now: {names}" if left else "",
    )


def _noted(folder: Path) -> dict[int, str]:
    """Return the processes that canaries noted and that are still the same."""
    left: dict[int, str] = {}
    with contextlib.suppress(FileNotFoundError):
        for line in (folder / PROCESSES).read_text(encoding="utf-8").splitlines():
            pid, started, name = line.split(" ", 2)
            if started and start_of(int(pid)) == started:
                left[int(pid)] = name
    return left


def _marked(folder: Path) -> dict[int, str]:
    """Return the processes that were started with the canaries' variable in their environment (Linux)."""
    mark = f"{VARIABLE}={folder}".encode()
    left: dict[int, str] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (place / "environ").read_bytes().split(b"\0"):
                left[int(place.name)] = "started by a canary"
    return left
