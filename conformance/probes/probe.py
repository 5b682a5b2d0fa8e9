"""What every probe does: watch one test at a time, the operator-under-test window apart from the rest of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from conformance.model.result import FallbackAccount
from conformance.probes.not_a_fallback import is_fallback


@dataclass(slots=True)
class Seen:
    """The overloads that one test was seen to run on the CPU, inside the window and elsewhere in the test."""

    in_window: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)


class Probe:
    """Watch one test at a time; this one cannot see anything, and says so by returning None.

    ``name`` is recorded in the run, ``note`` says why this probe was taken and not a better one (empty if it is the
    best). Windows may be nested: the outermost counts. ``is_watching`` is True between ``begin_test`` and ``end_test``
    of a probe that sees; ``window_opened`` tells whether the running test has opened a window.

    A child class overrides the methods that begin with an underscore.
    """

    name = ""
    note = ""
    sees = False

    def __init__(self) -> None:
        self._depth = 0
        self.is_watching = False
        self.window_opened = False
        self.computed_inside: FallbackAccount | None = None
        self._has_subject = False
        self._only_windows = False
        self._undo: list[Callable[[], None]] = []

    def begin_test(self, *, has_subject: bool = False, only_windows: bool = False) -> None:
        """Forget what happened before this test.

        ``has_subject`` says that the test is about one operator or module. If no window is opened then, it did not
        run, and nothing that fell back is its doing; a test without a subject and a window is looked at as a whole.
        ``only_windows`` says that nothing else matters: a probe for which looking costs time spares it elsewhere.
        """
        self._run_undo()
        self._has_subject = has_subject or only_windows
        self._only_windows = only_windows
        self._depth = 0
        self.window_opened = False
        self.computed_inside = None
        self.is_watching = self.sees
        self._begin()

    def open_window(self) -> None:
        """From here on, what falls back does so inside the operator under test."""
        if self._depth == 0:
            self.window_opened = True
            self._enter()
        self._depth += 1

    def close_window(self) -> None:
        """End the window that ``open_window`` began; does nothing where the test that opened it has ended."""
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            self._leave()

    def end_test(self) -> FallbackAccount | None:
        """Return what fell back in this test, or None where it cannot be known.

        ``computed_inside`` then has the operators with a kernel of the device that copied their inputs to the CPU and
        computed there; None where the probe cannot see that.
        """
        self.is_watching = False
        self._run_undo()
        if self._depth:
            self._depth = 0
            self._leave()
        seen = self._collect()
        return None if seen is None else self._account(seen)

    def when_test_ends(self, undo: Callable[[], None]) -> None:
        """Call ``undo`` when the running test ends, the last one that was given first."""
        self._undo.append(undo)

    def _run_undo(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _account(self, seen: Seen) -> FallbackAccount:
        everywhere = seen.in_window | seen.elsewhere
        windowed = self.window_opened or self._has_subject
        return FallbackAccount(operator=_counted(seen.in_window if windowed else everywhere), test=_counted(everywhere))

    def _begin(self) -> None:
        """Start to look."""

    def _enter(self) -> None:
        """Attribute what follows to the operator under test."""

    def _leave(self) -> None:
        """Attribute what follows to the rest of the test."""

    def _collect(self) -> Seen | None:
        """Return all that was seen since ``_begin``; None where something could have been missed."""
        return None


def _counted(overloads: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(filter(is_fallback, overloads)))


class CounterProbe(Probe):
    """Use the backend's own account: a function that returns overload -> calls since it was called before."""

    sees = True

    def __init__(self, take: Callable[[], Mapping[str, int]], *, name: str = "backend account") -> None:
        super().__init__()
        self.name = name
        self._take = take
        self._seen = Seen()

    def _begin(self) -> None:
        self._take()
        self._seen = Seen()

    def _enter(self) -> None:
        self._seen.elsewhere.update(self._take())

    def _leave(self) -> None:
        self._seen.in_window.update(self._take())

    def _collect(self) -> Seen:
        self._seen.elsewhere.update(self._take())
        return self._seen
