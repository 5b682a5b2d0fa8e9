"""The profiler: the observer's rule, applied to the raw events of PyTorch's own profiler; needs no compiler.

It does not see which kernels compute on the CPU inside: recording where inputs lie would triple its cost.
"""

from __future__ import annotations

import os
import resource
import sys
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from conformance.errors import InfrastructureError
from conformance.probes.internals import require
from conformance.probes.probe import Probe, Seen

_MARK = "conformance: operator under test"
_TO_CPU = "aten::_to_cpu"
_LOG_LEVEL = "KINETO_LOG_LEVEL"
_NO_LOG = "6"  # above all of Kineto's levels; it reads the variable once, when it is first used
_EVENTS_MEMORY = 1 << 20  # KiB; an event takes about 1.7 kB
# Where a test, or torch.profiler, finds what begins a session of its own.
_STARTERS = {
    "torch._C._autograd": ("_prepare_profiler", "_enable_profiler", "_enable_profiler_legacy"),
    "torch.autograd": ("_prepare_profiler", "_enable_profiler", "_enable_profiler_legacy"),
    "torch.autograd.profiler": ("_prepare_profiler", "_enable_profiler"),
    "torch.autograd.profiler_legacy": ("_enable_profiler_legacy",),
    "torch.profiler.profiler": ("_add_execution_trace_observer", "_enable_execution_trace_observer"),
}


class ProfilerProbe(Probe):
    """Record one profiler session a test, and step aside where the test uses the profiler itself.

    PyTorch has one session at a time: when the test begins its own, this one is given up, and the test's account is
    unknown. So is that of a test whose events would take more than a GiB. Raises ``InfrastructureError``
    ("no-profiler", "unsupported-torch") where this torch's profiler cannot tell overloads apart (before 2.7).
    """

    name = "profiler"
    sees = True

    def __init__(self) -> None:
        super().__init__()
        self._profiler = _Profiler()
        self._mark: Any = None
        self._whole = False
        self._memory_limit = 0
        self._patched: list[tuple[Any, str, Any]] = []

    def _begin(self) -> None:
        self._give_up()
        self._restore()
        self._memory_limit = _peak_memory() + _EVENTS_MEMORY
        self._whole = self._profiler.start()
        if self._whole and self._only_windows:
            self._profiler.pause()
        self._watch_for_others()

    def _enter(self) -> None:
        if self._profiler.is_running:
            if _peak_memory() > self._memory_limit:
                self._give_up()
                return
            if self._only_windows:
                self._profiler.resume()
            else:
                self._mark = self._profiler.mark()
                self._mark.__enter__()

    def _leave(self) -> None:
        if self._mark is not None:
            self._mark.__exit__(None, None, None)
            self._mark = None
        elif self._only_windows and self._profiler.is_running:
            self._profiler.pause()

    def _collect(self) -> Seen | None:
        self._restore()
        if not self._whole:
            return None
        self._whole = False
        return fallbacks_in(self._profiler.stop(), only_windows=self._only_windows)

    def _give_up(self) -> None:
        """End the session. None follows within the test: calls that are under way still point into this one."""
        self._leave()
        self._whole = False
        if self._profiler.is_running:
            self._profiler.stop()

    def _watch_for_others(self) -> None:
        """Notice, for as long as the test runs, that somebody else begins a session."""

        def announcing(original: Any) -> Any:
            def start(*args: Any, **keywords: Any) -> Any:
                self._give_up()
                return original(*args, **keywords)

            return start

        for name, starters in _STARTERS.items():
            module: Any = sys.modules.get(name)
            for starter in starters:
                original = getattr(module, starter, None)
                if original is not None:
                    self._patched.append((module, starter, original))
                    setattr(module, starter, announcing(original))

    def _restore(self) -> None:
        for module, name, original in self._patched:
            setattr(module, name, original)
        self._patched.clear()


class _Profiler:
    """PyTorch's profiler by its inner functions: no table is made, no file is written, nothing is printed."""

    def __init__(self) -> None:
        import torch

        def find(module: str, path: str) -> Any:
            return require(module, path, needed_by="the profiler probe")

        self._prepare = find("torch._C._autograd", "_prepare_profiler")
        self._enable = find("torch._C._autograd", "_enable_profiler")
        self._disable = find("torch._C._autograd", "_disable_profiler")
        self._record = find("torch._C._autograd", "_enable_record_function")
        self._is_enabled = find("torch._C._autograd", "_profiler_enabled")
        self._config = find("torch._C._profiler", "ProfilerConfig")
        self._state = find("torch._C._profiler", "ProfilerState.KINETO")
        self._activities = {find("torch._C._profiler", "ProfilerActivity.CPU")}
        self._make_mark = find("torch._C._profiler", "_RecordFunctionFast")
        try:
            self._experimental = find("torch._C._profiler", "_ExperimentalConfig")(
                capture_overload_names=True, profile_all_threads=True, disable_external_correlation=True
            )
        except TypeError as error:
            raise InfrastructureError(
                "no-profiler",
                f"the profiler of torch {torch.__version__} does not name overloads, so it cannot tell what fell back; "
                "use torch 2.7 or newer, or install a C++ compiler for the observer",
            ) from error
        if not find("torch._C._autograd", "kineto_available")():
            raise InfrastructureError(
                "no-profiler",
                f"this build of torch {torch.__version__} has no Kineto profiler; install a C++ compiler for the "
                "observer",
            )
        self.is_running = False

    def mark(self) -> Any:
        """Return a context that shows in the trace as one event named ``_MARK``."""
        return self._make_mark(_MARK)

    def start(self) -> bool:
        """Begin a session in all threads; False where one is running already."""
        if self._is_enabled():
            return False
        chatty = _LOG_LEVEL not in os.environ
        if chatty:
            os.environ[_LOG_LEVEL] = _NO_LOG
        try:
            config = self._config(self._state, False, False, False, False, False, self._experimental)
            self._prepare(config, self._activities)
            self._enable(config, self._activities)
        finally:
            if chatty:
                del os.environ[_LOG_LEVEL]
        self.is_running = True
        return True

    def pause(self) -> None:
        """Record nothing more in this thread, and in the threads of autograd that work for it."""
        self._record(False)

    def resume(self) -> None:
        """Record again."""
        self._record(True)

    def stop(self) -> list[Any]:
        """End the session and return the roots of its trees of events."""
        self.is_running = False
        self._record(True)
        roots: list[Any] = self._disable().experimental_event_tree()
        return roots


def _peak_memory() -> int:
    """Return the most memory this process has used, in KiB (on Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def fallbacks_in(roots: Iterable[Any], *, only_windows: bool = False) -> Seen:
    """Return the overloads with an ``aten::_to_cpu`` directly beneath them.

    Autograd's threads have trees of their own, so what lies in a window is told by time: the test's thread waits for
    them. ``only_windows`` says that nothing else was recorded.
    """
    waiting = list(roots)
    windows = [(event.start_time_ns, event.end_time_ns) for event in waiting if event.name == _MARK]
    found: list[tuple[int, str]] = []
    while waiting:
        parent = waiting.pop()
        for event in parent.children:
            name = event.name
            if name == _TO_CPU:
                overload = parent.overload_name
                found.append((event.start_time_ns, f"{parent.name}.{overload}" if overload else parent.name))
                continue
            if name == _MARK:
                windows.append((event.start_time_ns, event.end_time_ns))
            waiting.append(event)
    windows.sort()
    begins = [begin for begin, _ in windows]
    seen = Seen()
    for at, overload in found:
        index = bisect_right(begins, at) - 1
        inside = only_windows or (index >= 0 and at <= windows[index][1])
        (seen.in_window if inside else seen.elsewhere).add(overload)
    return seen
