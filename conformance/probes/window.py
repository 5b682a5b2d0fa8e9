"""The operator-under-test window: opened by the suites, watched by the probe of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.probes.probe import Probe


class _Watcher:
    # One process runs one test at a time, and tests are called by pytest, not by us: the probe has to be found here.
    probe: Probe = Probe()


def watch_with(probe: Probe) -> None:
    """Let ``probe`` watch every window that is opened in this process from now on."""
    _Watcher.probe = probe


def current_probe() -> Probe:
    """Return the probe that watches this process."""
    return _Watcher.probe


@contextmanager
def operator_window() -> Iterator[None]:
    """Mark the code that runs the operator under test, and nothing else."""
    probe = _Watcher.probe
    probe.open_window()
    try:
        yield
    finally:
        probe.close_window()
