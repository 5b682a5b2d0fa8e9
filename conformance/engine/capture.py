"""Give a forked worker a capture and a log capture of its own."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest


def fresh_capture(config: pytest.Config, log: int) -> int | None:
    """Send the worker's output to ``log`` and capture it anew; return the descriptor that holds what goes to stderr.

    The capture inherited from the parent writes to files whose position all workers would share. None where pytest
    does not capture descriptors (``-s``, ``--capture=sys``).
    """
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(log, 1)
    os.dup2(log, 2)
    if capture is None:
        return None
    capture.start_global_capturing()
    capture.suspend_global_capture()
    streams = getattr(capture, "_global_capturing", None)
    spool = getattr(getattr(streams, "err", None), "tmpfile", None)
    try:
        return int(spool.fileno()) if spool is not None else None
    except (OSError, ValueError, AttributeError):
        return None


def attach_log_handlers_once(config: pytest.Config) -> None:
    """Let pytest's log capture attach its handlers once for the worker's life, not six times a test.

    pytest (from 9.0 on) walks all loggers of the process each time; torch has hundreds, and the walk took a third of
    a worker's time. What is captured and reported stays the same. Does nothing where pytest's plugin is off, keeps
    the usual way where its parts have other names than in pytest 8.2 to 9.2.
    """
    plugin: Any = config.pluginmanager.getplugin("logging-plugin")
    try:
        from _pytest.logging import caplog_handler_key, caplog_records_key, catching_logs

        handlers = (plugin.caplog_handler, plugin.report_handler)
        level = plugin.log_level
        original = plugin._runtest_for
    except (ImportError, AttributeError):
        return
    if not callable(original):
        return
    for handler in handlers:
        catching_logs(handler, level=level).__enter__()

    @contextlib.contextmanager
    def runtest_for(item: Any, when: str) -> Iterator[None]:
        for handler in handlers:
            handler.reset()
        item.stash[caplog_records_key][when] = handlers[0].records
        item.stash[caplog_handler_key] = handlers[0]
        try:
            yield
        finally:
            item.add_report_section(when, "log", handlers[1].stream.getvalue().strip())

    plugin._runtest_for = runtest_for
