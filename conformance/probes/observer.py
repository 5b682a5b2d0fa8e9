"""The observer: a small C++ library, compiled on first use, that PyTorch tells about every operator call.

It works on any backend whose fallback is ``at::native::cpu_fallback``, in all threads, and sees kernels that compute
on the CPU inside. The rules are in csrc/observer.cpp.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

from conformance.emulator import build
from conformance.errors import InfrastructureError
from conformance.probes.probe import Probe, Seen

SOURCE = build.Source(
    name="observer",
    title="the observer of CPU fallbacks",
    unit=Path(__file__).resolve().parent / "csrc" / "observer.cpp",
    failure=lambda message: InfrastructureError("observer-build", message),
)


class ObserverProbe(Probe):
    """Count fallbacks where they happen, in the process and in all its threads.

    Raises ``InfrastructureError`` ("no-compiler", "observer-build", "cache-unwritable") where there is no library.
    """

    name = "observer"
    sees = True

    def __init__(self) -> None:
        super().__init__()
        library = _load()
        self._begin_observing = library.conformance_observer_begin
        self._set_window = library.conformance_observer_window
        self._end_observing = library.conformance_observer_end
        self._end_observing.restype = ctypes.c_char_p
        self.fallback_calls: dict[str, int] = {}

    def _begin(self) -> None:
        self._begin_observing(int(self._only_windows))

    def _enter(self) -> None:
        self._set_window(1)

    def _leave(self) -> None:
        self._set_window(0)

    def _collect(self) -> Seen | None:
        """Return what was seen; None if the test switched PyTorch's observers off, or removed them."""
        self.fallback_calls = {}
        text = self._end_observing()
        if text is None:
            return None
        seen = {"fallback": Seen(), "inside": Seen()}
        for line in text.decode().splitlines():
            kind, overload, in_window, elsewhere = line.split(" ")
            if int(in_window):
                seen[kind].in_window.add(overload)
            if int(elsewhere):
                seen[kind].elsewhere.add(overload)
            if kind == "fallback":
                self.fallback_calls[overload] = int(in_window) + int(elsewhere)
        self.computed_inside = self._account(seen["inside"])
        return seen["fallback"]


def _load() -> ctypes.PyDLL:
    """Load the library, compiling it once more if the cached one cannot be loaded."""
    first = build.library(SOURCE)
    try:
        return ctypes.PyDLL(str(first))
    except OSError:
        build.forget(first)
    second = build.library(SOURCE)
    try:
        # PyDLL keeps the interpreter's lock: no call here waits for another thread of Python.
        return ctypes.PyDLL(str(second))
    except OSError as error:
        raise InfrastructureError(
            "observer-build",
            f"the compiled observer of CPU fallbacks {second} cannot be loaded ({error}); "
            "use the C++ compiler and standard library that this torch was made for",
        ) from error
