"""Run the model in a process of its own, so that a device that crashes or hangs costs one line."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import ConformanceError, InfrastructureError, UsageError
from conformance.readiness import frames
from conformance.readiness.child import ANSWER, CRUMB, KNOWN, ORDERS, STACK
from conformance.readiness.crumb import read_crumb
from conformance.readiness.findings import Trouble, Verdict

_GRACE_S = 2.0
_TAIL = 4000


@dataclass(frozen=True, slots=True)
class Orders:
    """What the process is to find out."""

    target: str
    device: str
    train: bool
    new_tokens: int
    seed: int
    probe: str = "auto"
    tolerance: float | None = None
    capture: bool = False
    compiles: bool = False


@dataclass(frozen=True, slots=True)
class Death:
    """The process gave no answer: it died, or had to be killed."""

    verdict: Verdict
    trouble: Trouble
    known: Mapping[str, Any] | None


def carry_out(orders: Orders, *, timeout: float) -> dict[str, Any] | Death:
    """Return the answer of the process, or how it ended.

    Raises the errors that it reports, and ``UsageError`` (``bad-model``) where it ended before the device had a part.
    """
    with tempfile.TemporaryDirectory(prefix="conformance-model-") as name:
        folder = Path(name)
        for file in (CRUMB, STACK, "output"):
            (folder / file).touch()
        content = {field: getattr(orders, field) for field in Orders.__dataclass_fields__}
        (folder / ORDERS).write_text(json.dumps(content), encoding="utf-8")
        status = _run(folder, timeout)
        if (folder / ANSWER).exists():
            answer: dict[str, Any] = json.loads((folder / ANSWER).read_text(encoding="utf-8"))
            if "error" in answer:
                raise _error(answer["error"])
            return answer
        return _death(folder, status, timeout)


def _error(error: Mapping[str, Any]) -> ConformanceError:
    kind = UsageError if error["usage"] else InfrastructureError
    return kind(error["slug"], error["message"])


def _run(folder: Path, timeout: float) -> int | None:
    """Return the exit status, None where the time was up."""
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "conformance.readiness.child", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
        try:
            return process.wait(timeout=timeout or None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGUSR1)  # it says where it is
            _wait_for(folder / STACK)
            return None
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait_for(stack: Path) -> None:
    end = time.monotonic() + _GRACE_S
    while time.monotonic() < end and not stack.stat().st_size:
        time.sleep(0.05)
    time.sleep(0.1)


def _death(folder: Path, status: int | None, timeout: float) -> Death:
    phase, overload = read_crumb(folder / CRUMB)
    own = frames.of_dump((folder / STACK).read_text(encoding="utf-8", errors="replace"))
    said = _last_line((folder / "output").read_text(encoding="utf-8", errors="replace")[-_TAIL:])
    if status is None:
        verdict, how = Verdict.HANGS, f"no end after {timeout:g} s"
    elif status == -signal.SIGKILL:
        verdict, how = Verdict.TOO_BIG, "the system killed the process (SIGKILL), as it does for lack of memory"
    elif status < 0:
        verdict, how = Verdict.CRASHES, f"the process died of {_signal(-status)}"
    else:
        verdict, how = Verdict.CRASHES, f"the process ended with exit code {status}{said}"
    if not phase or phase == "making the model" or phase.endswith("on the CPU"):
        where = f" at {own[-1]}" if own else ""
        text = f"{phase or 'loading the device'}: {how}{where}; nothing was learned of the device"
        if verdict is Verdict.TOO_BIG:
            raise InfrastructureError("model-too-big", text)
        raise UsageError("bad-model", text) if phase else InfrastructureError("no-device", text)
    known = json.loads((folder / KNOWN).read_text(encoding="utf-8")) if (folder / KNOWN).exists() else None
    return Death(verdict, Trouble(phase, overload, how, "", own), known)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1][:300]}" if lines else ""
