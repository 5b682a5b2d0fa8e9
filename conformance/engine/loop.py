"""Run the collected tests in workers and let pytest report them as if it had run them itself."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from conformance.devices import DeviceAdapter
from conformance.engine.supervisor import Died, Ended, Idle, Started, Supervisor, Warned
from conformance.engine.worker import unpack_reports
from conformance.errors import InfrastructureError, UsageError


def worker_count(text: str) -> int:
    """Read ``--workers``: a number, or ``auto`` for one a processor; 0 runs the tests in this process."""
    if text == "auto":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        count = int(text)
    except ValueError:
        count = -1
    if count < 0:
        raise UsageError("bad-workers", f"the number of workers is {text!r}; give a number from 0, or 'auto'")
    return count


def run_isolated(
    session: pytest.Session,
    adapter: DeviceAdapter,
    *,
    workers: int,
    timeout_s: float,
    idle: Callable[[], None],
) -> None:
    """Run ``session.items`` in forked workers; ``idle`` is called at least twice a second.

    Raises ``InfrastructureError`` where a fork would not be sound, and what pytest raises to stop a session.
    """
    if not hasattr(os, "fork"):
        raise InfrastructureError("no-fork", "this system cannot fork processes; run with --workers 0")
    if adapter.is_initialized():
        raise InfrastructureError(
            "device-in-parent",
            f"collecting the tests initialised '{adapter.device}', so workers cannot be forked: a test file uses the "
            "device when it is imported; run with --workers 0, or leave that file out",
        )
    _quieten_threads()
    _end_cleanly_when_told_to()
    supervisor = Supervisor(
        session,
        range(len(session.items)),
        workers=workers,
        timeout_of=lambda _: timeout_s,
        environment=lambda number: adapter.worker_environment(number, workers),
    )
    hook = session.config.hook
    for event in supervisor.events():
        match event:
            case Idle():
                idle()
                continue
            case Started():
                continue  # told with the end, or lines of tests that run at the same time would mix
            case Warned():
                _warn(session.config, event.content)
                continue
            case Ended():
                item = session.items[event.index]
                reports = unpack_reports(session.config, item, event.reports)
                _attach(reports[-1] if reports else None, {"worker": f"w{event.worker}"})
            case Died():
                item = session.items[event.index]
                reports = [_death_report(item, event)]
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in reports:
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def _death_report(item: pytest.Item, death: Died) -> pytest.TestReport:
    text = death.message if not death.output else f"{death.message}\n{death.output}"
    report = pytest.TestReport(
        item.nodeid,
        item.location,
        dict.fromkeys(item.keywords, 1),
        "failed",
        text,
        "call",
        duration=death.duration_s,
    )
    _attach(
        report,
        {"death": str(death.outcome), "message": death.message, "output": death.output, "worker": f"w{death.worker}"},
    )
    return report


def _warn(config: pytest.Config, content: tuple[Any, ...]) -> None:
    """Give a worker's warning to pytest's summary; its category may be unknown in this process."""
    text, module, name, filename, line, when, nodeid, location = content
    category = getattr(sys.modules.get(module), name, UserWarning)
    if not (isinstance(category, type) and issubclass(category, Warning)):
        category = UserWarning
    message = warnings.WarningMessage(text, category, filename, line)
    config.hook.pytest_warning_recorded.call_historic(
        kwargs={"warning_message": message, "when": when, "nodeid": nodeid, "location": location}
    )


def _attach(report: pytest.TestReport | None, extra: dict[str, str]) -> None:
    if report is not None:
        report.conformance = {**getattr(report, "conformance", {}), **extra}  # type: ignore[attr-defined]


def _end_cleanly_when_told_to() -> None:
    """Let SIGTERM and SIGHUP end a run as Ctrl-C does: CI systems cancel jobs so, and the run must be closed."""

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001 - the signature is Python's
        raise KeyboardInterrupt(f"received signal {number}")

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def _quieten_threads() -> None:
    """Keep OpenMP from having started threads in the process that forks: libgomp can hang in the child."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
