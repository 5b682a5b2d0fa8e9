"""Run pieces of Python in forked children of a process that has loaded, but not used, the emulated device.

PyTorch takes one backend a process, and a fault may end the process: so no test loads the device in pytest's own. A
fork costs milliseconds where a new process would import torch. Requests and answers are lines of JSON.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from typing import IO, Any


def _run(request: dict[str, Any]) -> None:
    if "code" in request:
        exec(compile(request["code"], "<test>", "exec"), {"__name__": "__test__"})
        return
    spec = importlib.util.spec_from_file_location("test_in_device_process", request["path"])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    getattr(module, request["function"])(**request["arguments"])


def _in_child(request: dict[str, Any], output: IO[bytes]) -> None:
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    os.environ.update(request.get("environment", {}))
    status = 1
    try:
        _run(request)
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _wait(pid: int, timeout_s: float) -> tuple[int, bool]:
    deadline = time.monotonic() + timeout_s
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), False
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return -signal.SIGKILL, True
        time.sleep(0.002)


def serve() -> None:
    """Answer requests until standard input ends."""
    import torch

    from conformance import emulator

    torch.set_num_threads(1)
    emulator.load()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        with tempfile.TemporaryFile() as output:
            pid = os.fork()
            if pid == 0:
                _in_child(request, output)
            code, timed_out = _wait(pid, request["timeout_s"])
            output.seek(0)
            text = output.read().decode(errors="replace")
        print(json.dumps({"returncode": code, "timed_out": timed_out, "output": text}), file=answers, flush=True)


if __name__ == "__main__":
    serve()
