"""The process that runs the model: ``python -m conformance.readiness.child FOLDER``, started by ``isolate`` only."""

from __future__ import annotations

import faulthandler
import json
import signal
import sys
from pathlib import Path
from typing import Any

from conformance.errors import ConformanceError, UsageError

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
ORDERS, ANSWER, KNOWN, CRUMB, STACK = "orders.json", "answer.json", "known.json", "crumb", "stack"


def main() -> None:
    """Carry out the orders of the folder and leave the answer there."""
    folder = Path(sys.argv[1])
    _die_with_parent()
    with (folder / STACK).open("w") as stack:
        faulthandler.enable(file=stack, all_threads=True)
        faulthandler.register(signal.SIGUSR1, file=stack, all_threads=True)
        orders: dict[str, Any] = json.loads((folder / ORDERS).read_text(encoding="utf-8"))
        try:
            answer = _carry_out(orders, folder)
        except ConformanceError as error:
            answer = {"error": {"slug": error.slug, "message": str(error), "usage": isinstance(error, UsageError)}}
        _leave(folder, ANSWER, answer)


def _leave(folder: Path, name: str, content: dict[str, Any]) -> None:
    path = folder / f"{name}.new"
    path.write_text(json.dumps(content), encoding="utf-8")
    path.replace(folder / name)


def _carry_out(orders: dict[str, Any], folder: Path) -> dict[str, Any]:
    import os

    from conformance.readiness.crumb import Crumb
    from conformance.readiness.subject import quiet_environment

    os.environ.update(quiet_environment())
    crumb = Crumb(folder / CRUMB)
    if orders["capture"]:
        import dataclasses

        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # an installed backend would take the place of the pretence
        _use_one_thread()
        from conformance.readiness.capture import capture

        captured = capture(_request(orders), orders["device"], crumb)
        from conformance.readiness.findings import plain

        return {"captured": {item.name: plain(getattr(captured, item.name)) for item in dataclasses.fields(captured)}}
    from conformance.devices import adapter_for
    from conformance.readiness.findings import as_json

    adapter = adapter_for(orders["device"])
    adapter.prepare()
    adapter.load()
    _use_one_thread()
    from conformance.readiness.examine import examine

    readiness = examine(_request(orders), adapter, crumb, announce=lambda known: _leave(folder, KNOWN, as_json(known)))
    return {"readiness": as_json(readiness)}


def _request(orders: dict[str, Any]) -> Any:
    from conformance.readiness.examine import Request
    from conformance.readiness.steps import Plan
    from conformance.readiness.target import parse_target

    return Request(
        target=parse_target(orders["target"]),
        plan=Plan(train=orders["train"], new_tokens=orders["new_tokens"], seed=orders["seed"]),
        probe=orders["probe"],
        tolerance=orders["tolerance"],
        compiles=orders["compiles"],
    )


def _die_with_parent() -> None:
    """Ask Linux to end this process when its parent is gone, also when that was killed; elsewhere it lives on."""
    import contextlib
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _use_one_thread() -> None:
    """Import torch; with more threads the sums of the CPU depend on their number."""
    import torch

    torch.set_num_threads(1)


if __name__ == "__main__":
    main()
