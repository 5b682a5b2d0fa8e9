"""Run the collected tests in workers and let pytest report them as if it had run them itself."""

from __future__ import annotations

import contextlib
import copy
import gc
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from conformance.devices import DeviceAdapter
from conformance.engine.identify import identity_of
from conformance.engine.launch import Fork, Launcher, Spawn
from conformance.engine.orphans import adopt_orphans
from conformance.engine.schedule import order_of
from conformance.engine.supervisor import Died, Ended, Exit, Idle, Sick, Started, Supervisor, Warned
from conformance.engine.worker import unpack_reports
from conformance.errors import InfrastructureError, UsageError
from conformance.model.identity import Suite


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


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run allows its tests: seconds for one (0: no limit) and further attempts after a bad one."""

    timeout_s: float
    retries: int = 0


class Listener(Protocol):
    """Whoever records: told of what pytest's hooks do not carry."""

    def tick(self) -> None:
        """Hear that time has passed; called at least twice a second."""

    def earlier(self, node_id: str, reports: Sequence[pytest.TestReport]) -> None:
        """Hear of an attempt that will be followed by another."""

    def attempts(self, node_id: str) -> int:
        """Return how many attempts at a test were made before this process began."""


def run_isolated(
    session: pytest.Session,
    *,
    workers: int,
    limits: Limits,
    launcher: Launcher,
    expected: Mapping[str, float],
    listener: Listener | None,
) -> None:
    """Run ``session.items`` in workers.

    ``expected`` holds, by node id, how many seconds tests are expected to take that are known to be long. Raises what
    pytest raises to stop a session, and ``InfrastructureError`` where no worker comes up.
    """
    _end_cleanly_when_told_to()
    adopt_orphans()
    items = session.items
    supervisor = Supervisor(
        session,
        order_of(
            [expected.get(item.nodeid, 0.0) for item in items],
            [_dear_setup(item) for item in items] if expected else [None] * len(items),
            workers=workers,
        ),
        workers=workers,
        timeout_of=lambda item: time_limit(item, limits.timeout_s),
        launch=launcher,
    )
    hook = session.config.hook
    attempts: dict[int, int] = {}
    for event in supervisor.events():
        match event:
            case Idle():
                if listener is not None:
                    listener.tick()
                continue
            case Started():
                continue  # told with the end, or lines of tests that run at the same time would mix
            case Warned():
                _warn(session.config, event.content)
                continue
            case Sick():
                _tell(session.config, f"after {items[event.index].nodeid} the device was unfit: {event.problem}")
                continue
            case Exit():
                _tell(
                    session.config, f"{items[event.index].nodeid} called pytest.exit({event.message!r}): the run ends"
                )
                raise pytest.exit.Exception(event.message, event.code)
            case Ended():
                item = items[event.index]
                reports = unpack_reports(session.config, item, event.reports)
                _attach(reports[-1] if reports else None, {"worker": f"w{event.worker}"})
            case Died():
                item = items[event.index]
                reports = [_death_report(item, event)]
        made = attempts.get(event.index) or (listener.attempts(item.nodeid) if listener is not None else 0)
        attempts[event.index] = made = made + 1
        # The worker has worked the place out already; to do so here would copy pages that it shares.
        location = reports[0].location if reports else item.location
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=location)
        if made <= limits.retries and any(report.failed for report in reports):
            if listener is not None:
                listener.earlier(item.nodeid, reports)
            hook.pytest_runtest_logreport(report=_rerun(reports))
            supervisor.requeue(event.index)
        else:
            for report in reports:
                if made > 1:
                    _attach(report, {"attempt": made})
                hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=location)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def launcher_for(session: pytest.Session, adapter: DeviceAdapter, *, workers: int, way: str, health: str) -> Launcher:
    """Return how workers are started: ``way`` is fork, spawn, or auto for a fork wherever that is sound.

    ``health`` is on, off, or auto for what the adapter thinks right. Raises ``InfrastructureError`` where a fork was
    asked for and would not be sound.
    """
    why_not = _why_not_fork(adapter)
    if way == "fork" and why_not:
        raise InfrastructureError("no-fork", f"workers cannot be forked: {why_not}; leave --start out")

    def environment(number: int) -> Mapping[str, str]:
        return adapter.worker_environment(number, workers)

    if way == "spawn" or why_not:
        if why_not:
            _tell(session.config, f"workers are started anew and collect again: {why_not}")
        return Spawn(session, environment)
    _quieten_threads()
    _share_imports(session)
    # A collector in the child that marks what the parent made would copy every page of it.
    gc.freeze()
    return Fork(session, environment, health_check_of(adapter, health))


def health_check_of(adapter: DeviceAdapter, health: str) -> Callable[[], str | None] | None:
    """Return what a worker asks after a failure, None where it does not look; ``health`` is as in ``launcher_for``."""
    looks = adapter.health_is_cheap if health == "auto" else health == "on"
    return adapter.check_health if looks else None


def _share_imports(session: pytest.Session) -> None:
    """Import once, before the fork, what PyTorch's own tests make each worker import: seeding loads torch._dynamo."""
    if any(identity_of(item).suite is Suite.UPSTREAM for item in session.items):
        with contextlib.suppress(Exception):  # then each worker meets what is wrong, in the test that needs it
            importlib.import_module("torch._dynamo")


def _why_not_fork(adapter: DeviceAdapter) -> str:
    if not hasattr(os, "fork"):
        return "this system cannot fork processes"
    if not adapter.fork_safe:
        return adapter.fork_note or f"'{adapter.device}' does not work in a forked process"
    if adapter.is_initialized():
        return f"collecting the tests initialised '{adapter.device}'; a test file uses the device when it is imported"
    return ""


def time_limit(item: pytest.Item, default_s: float) -> float:
    """Return how many seconds a test may take: what its marker ``conformance_timeout`` says, or the default."""
    marker = item.get_closest_marker("conformance_timeout")
    if marker is None:
        return default_s
    value = marker.args[0] if marker.args else marker.kwargs.get("seconds")
    return float(value) if isinstance(value, (int, float)) and 0 <= value < float("inf") else default_s


def _dear_setup(item: pytest.Item) -> object:
    """Return what the test shares with others by a setup of their own that may be dear; None where there is none."""
    cls = getattr(item, "cls", None)
    if cls is not None:
        if hasattr(cls, "setup_class"):
            return cls
        definer = getattr(getattr(getattr(cls, "setUpClass", None), "__func__", None), "__module__", "unittest.case")
        # What PyTorch's own test bases and the suites do there is done once and cheap.
        if not str(definer).startswith(("unittest.", "torch.testing._internal", "conformance.")):
            return cls
    for definitions in getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values():
        definition = definitions[-1]
        if definition.scope in ("class", "module") and "_unittest_" not in definition.argname:
            return cls if definition.scope == "class" and cls is not None else item.path
    return None


def _rerun(reports: Sequence[pytest.TestReport]) -> pytest.TestReport:
    """Return one report for an attempt that will be followed by another: neither passed nor failed for pytest."""
    failed = next(report for report in reports if report.failed)
    report = copy.copy(failed)
    report.outcome = "rerun"  # type: ignore[assignment] # the word of pytest-rerunfailures
    _attach(report, {"earlier": True})
    return report


def _tell(config: pytest.Config, text: str) -> None:
    """Say something once, in one line, where neither a report nor an error is the place for it."""
    stream = sys.__stderr__
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else contextlib.nullcontext():
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.write(f"conformance: {text}\n")
                stream.flush()


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


def _attach(report: pytest.TestReport | None, extra: dict[str, Any]) -> None:
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
