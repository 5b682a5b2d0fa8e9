"""The child's side: run the tests that the parent hands out, tell when each starts and how it ended."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import signal
import socket
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from conformance.engine.capture import attach_log_handlers_once, fresh_capture
from conformance.engine.channel import Channel
from conformance.engine.orphans import adopt_orphans, die_with, end_children, has_children

_TRIM_EVERY_S = 1.0
DRAIN = "drain"  # run what you have, though nothing follows
STOP = "stop"


class ReportBuffer:
    """Collect the reports and warnings of the running test; registered as a plugin in the worker only."""

    def __init__(self) -> None:
        self.reports: list[pytest.TestReport] = []
        self.warnings: list[Any] = []

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: Any
    ) -> None:
        """Keep a warning for pytest's summary in the parent."""
        kind = warning_message.category
        text = (str(warning_message.message), kind.__module__, kind.__qualname__)
        place = (warning_message.filename, warning_message.lineno)
        self.warnings.append(("warning", -1, (*text, *place, when, nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep every report, those of subtests too, in the order they come."""
        self.reports.append(report)


@dataclass(frozen=True, slots=True)
class Orders:
    """What a worker is told once.

    ``log`` is the descriptor of the file that takes what the worker writes past pytest's capture, the faulthandler
    stack above all. ``parent`` is the parent's process id: the worker dies with it, also when it is killed. ``health``
    is asked after a failure; it returns what is wrong with the device, None where nothing is.
    """

    log: int
    parent: int
    environment: Mapping[str, str]
    health: Callable[[], str | None] | None = None


def serve(session: pytest.Session, connection: socket.socket, orders: Orders, *, recall: memoryview | None) -> None:
    """Run tests until the parent says stop; never returns.

    The parent sets the one byte of ``recall`` to take back what the worker has not begun; None where it cannot.
    """
    status = 70
    log = orders.log
    try:
        os.setpgid(0, 0)
        die_with(orders.parent)
        adopt_orphans()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.environ.update(orders.environment)
        channel = Channel(connection)
        captured = fresh_capture(session.config, log)
        attach_log_handlers_once(session.config)
        faulthandler.enable(file=log, all_threads=True)
        faulthandler.register(signal.SIGUSR1, file=log, all_threads=True)
        socket.send_fds(connection, [b"\0"], [captured if captured is not None else log])
        _run(session, channel, orders, recall)
        status = 0
    except BaseException as error:
        os.write(log, f"the worker failed outside any test: {type(error).__name__}: {error}\n".encode())
    finally:
        with contextlib.suppress(Exception):
            if has_children():
                end_children(spare=set())
        os._exit(status)


def _run(session: pytest.Session, channel: Channel, orders: Orders, recall: memoryview | None) -> None:
    config = session.config
    log = orders.log
    buffer = ReportBuffer()
    for name in ("terminalreporter", "conformance-recorder"):
        plugin = config.pluginmanager.get_plugin(name)
        if plugin is not None:
            config.pluginmanager.unregister(plugin)
    config.pluginmanager.register(buffer, "conformance-report-buffer")
    queue: deque[tuple[int, int]] = deque()  # (generation, index)
    draining = False  # no more is coming for now: the last test may run without knowing what follows
    promised: int | None = None  # the test for which the last one left shared fixtures standing
    ended: list[Any] = []  # the end of the last test travels with the start of the next: one wake-up a test
    me = os.getpid()
    give_back, trimmed = _trimmer(), time.monotonic()
    while True:
        while queue and recall is not None and queue[0][0] != recall[0]:
            queue.popleft()  # taken back by the parent
        if not queue or (len(queue) < 2 and not draining):
            if ended:
                channel.send(ended)
                ended = []
            messages = channel.receive()
            arrived: list[Any] = [STOP] if messages is None else messages
            for message in arrived:
                if message == STOP:
                    if promised is not None:
                        _tear_down_everything(session, log)
                    return
                draining = message == DRAIN
                if message != DRAIN:
                    generation, indexes = message
                    queue.extend((generation, index) for index in indexes)
            continue
        _, index = queue.popleft()
        if promised not in (None, index):
            _tear_down_everything(session, log)
        channel.send([*ended, ("start", index)])
        os.ftruncate(log, 0)
        os.lseek(log, 0, os.SEEK_SET)
        buffer.reports.clear()
        item = session.items[index]
        promised = queue[0][1] if queue else None
        following = session.items[promised] if promised is not None else None
        try:
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        except pytest.exit.Exception as stop:  # the test asked for the end of the whole run
            channel.send([*buffer.warnings, ("exit", index, (str(stop.msg), stop.returncode))])
            return
        if os.getpid() != me:
            os._exit(1)  # a child that the test forked has come out of the test: it is no worker
        ended = [*buffer.warnings, ("end", index, pack_reports(config, buffer.reports))]
        buffer.warnings.clear()
        if time.monotonic() - trimmed > _TRIM_EVERY_S:
            trimmed = time.monotonic()
            give_back()
        if orders.health is not None and any(report.failed for report in buffer.reports):
            channel.send([*ended, ("check", index)])
            ended = []
            problem = orders.health()
            if problem is not None:
                channel.send([("sick", index, problem)])
                return
            ended = [("well", index)]  # or the parent would wait for it after the last test


def _trimmer() -> Callable[[], object]:
    """Return what gives freed memory back to the system: glibc keeps up to 64 MiB that large tensors have left."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return lambda: None  # another C library
    return lambda: trim(0)


def can_recall(session: pytest.Session) -> bool:
    """Tell whether this pytest lets fixtures be torn down out of turn, which taking tests back needs (7.0 to 9.2)."""
    return hasattr(getattr(session, "_setupstate", None), "teardown_exact")


def _tear_down_everything(session: pytest.Session, log: int) -> None:
    state: Any = session._setupstate
    try:
        state.teardown_exact(None)
    except Exception as error:  # its test has ended; there is nobody to report it to
        os.write(log, f"tearing fixtures down raised {type(error).__name__}: {error}\n".encode())


class _Keywords(Mapping[str, Any]):
    """The keywords of a test, looked up when somebody asks: each look writes to memory that workers share."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __getitem__(self, name: str) -> Any:
        if name not in self._item.keywords:
            raise KeyError(name)
        return 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._item.keywords)

    def __len__(self) -> int:
        return len(self._item.keywords)


def pack_reports(config: pytest.Config, reports: list[pytest.TestReport]) -> Any:
    """Return what the parent needs to rebuild the reports: three durations for the usual passing test."""
    if [report.when for report in reports] == ["setup", "call", "teardown"] and all(
        type(report) is pytest.TestReport
        and report.passed
        and not report.sections
        and not report.user_properties
        and not hasattr(report, "wasxfail")
        for report in reports
    ):
        extra: dict[str, Any] = {}
        for report in reports:
            extra.update(getattr(report, "conformance", {}))
        return tuple((report.start, report.stop, report.duration) for report in reports), extra, reports[0].location
    return [config.hook.pytest_report_to_serializable(config=config, report=report) for report in reports]


def unpack_reports(config: pytest.Config, item: pytest.Item, packed: Any) -> list[pytest.TestReport]:
    """Rebuild the reports that ``pack_reports`` packed."""
    if isinstance(packed, list):
        return [config.hook.pytest_report_from_serializable(config=config, data=data) for data in packed]
    times, extra, location = packed
    keywords = _Keywords(item)
    reports = []
    phases: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")
    for when, (start, stop, duration) in zip(phases, times, strict=True):
        report = pytest.TestReport(
            item.nodeid, location, keywords, "passed", None, when, duration=duration, start=start, stop=stop
        )
        if when == "call" and extra:
            report.conformance = extra  # type: ignore[attr-defined]
        reports.append(report)
    return reports
