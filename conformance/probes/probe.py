"""Count fallbacks for one test at a time, inside the operator-under-test window and outside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.devices import DeviceAdapter
from conformance.model.result import FallbackAccount

# Moving data and reading a scalar have to touch the CPU: they say nothing about the operator under test.
NOT_A_FALLBACK = frozenset(
    {
        "aten::_to_copy",
        "aten::_copy_from",
        "aten::_copy_from_and_resize",
        "aten::copy_",
        "aten::_local_scalar_dense",
        "aten::is_pinned",
        "aten::_pin_memory",
        "aten::record_stream",
    }
)


class Probe:
    """Watch one test at a time; this one cannot see anything, and says so by returning None."""

    name = ""

    def begin_test(self) -> None:
        """Forget what happened before this test."""

    def open_window(self) -> None:
        """From here on, what falls back does so inside the operator under test."""

    def close_window(self) -> None:
        """End the window that ``open_window`` began."""

    def end_test(self) -> FallbackAccount | None:
        """Return what fell back in this test, or None where it cannot be known."""
        return None


class CounterProbe(Probe):
    """Use the backend's own account: a function that returns overload -> calls since it was called before."""

    def __init__(self, take: Callable[[], Mapping[str, int]], *, name: str = "backend account") -> None:
        self.name = name
        self._take = take
        self._operator: set[str] = set()
        self._test: set[str] = set()
        self._depth = 0
        self._opened = False

    def begin_test(self) -> None:
        """Forget what the backend counted before this test."""
        self._take()
        self._operator = set()
        self._test = set()
        self._depth = 0
        self._opened = False

    def open_window(self) -> None:
        """Attribute what was counted so far to the test, what follows to the operator."""
        if self._depth == 0:
            self._test.update(self._take())
        self._opened = True
        self._depth += 1

    def close_window(self) -> None:
        """Attribute what was counted since to the operator."""
        self._depth -= 1
        if self._depth == 0:
            self._operator.update(self._take())

    def end_test(self) -> FallbackAccount | None:
        """Return the overloads seen, without those that only move data."""
        self._test.update(self._take())
        # A test that opens no window, such as one of a user's own files, is looked at as a whole.
        operator = (self._operator if self._opened else self._test) - NOT_A_FALLBACK
        return FallbackAccount(
            operator=tuple(sorted(operator)), test=tuple(sorted((self._test | operator) - NOT_A_FALLBACK))
        )


def probe_for(adapter: DeviceAdapter) -> Probe:
    """Return the best probe for a device whose adapter has been loaded."""
    take = adapter.fallback_counter()
    return CounterProbe(take, name=adapter.fallback_counter_name) if take is not None else Probe()
