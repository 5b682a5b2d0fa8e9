"""The live line of a run: one rewritten line on a terminal, sparse plain lines in CI."""

from __future__ import annotations

import os
import shutil
import time
from enum import IntEnum
from typing import TYPE_CHECKING, TextIO

from conformance.model.outcome import Outcome
from conformance.report.layout import cut, printable, width_of
from conformance.report.words import duration, number, outcome_word

if TYPE_CHECKING:
    from collections.abc import Callable

REDRAW_S = 0.1
LINE_S = 10.0
LINE_LEAST_S = 1.0
LINE_SHARE = 0.05
BAD_LINES = 50


class _Rank(IntEnum):
    """The order in which a narrow terminal keeps the pieces of the line: the highest goes first."""

    DONE = 0
    BAD = 1
    TIME = 2
    PASSED = 3
    FELL_BACK = 4
    OTHER = 5
    RATE = 6
    LATEST = 7


class Progress:
    """Show how far a run is, on a stream that may be closed at any time without harm to the run.

    On a terminal one line is rewritten, at most ten times a second and never wider than the terminal. Elsewhere a line
    is written after 10 seconds or 5 % of the tests, but not twice a second, and one for each of the first 50 bad
    outcomes. ``columns`` returns the terminal's width and is asked at each drawing, for terminals are resized.
    """

    def __init__(
        self,
        total: int,
        *,
        stream: TextIO,
        is_terminal: bool,
        clock: Callable[[], float] = time.monotonic,
        columns: Callable[[], int] | None = None,
    ) -> None:
        self._total = total
        self._stream = stream
        self._is_terminal = is_terminal
        self._clock = clock
        self._columns = columns or (lambda: _terminal_columns(stream))
        self._started = clock()
        self._counts = dict.fromkeys(Outcome, 0)
        self._done = 0
        self._fell_back = 0
        self._bad = 0
        self._latest = ""
        self._shown_at: float | None = None
        self._shown_done = 0
        self._shown_width = 0
        self._finished = False
        self._broken = False

    def add(self, outcome: Outcome, fell_back: bool, op: str | None, test_id: str) -> None:
        """Count one finished test; ``fell_back`` says whether its operator ran on the CPU, ``op`` names it."""
        self._counts[outcome] += 1
        self._done += 1
        self._fell_back += fell_back
        self._latest = op or test_id
        if self._is_terminal:
            if self._shown_at is None or self._clock() - self._shown_at >= REDRAW_S:
                self._redraw()
            return
        if outcome.is_bad:
            self._report_bad(outcome, test_id)
        if self._is_line_due():
            self._write_line()

    def finish(self) -> None:
        """Show the last state and leave the cursor at the start of a new line; a second call does nothing."""
        if self._finished:
            return
        self._finished = True
        self._latest = ""
        if self._is_terminal:
            self._redraw()
            self._write("\n")
        elif self._shown_at is None or self._shown_done != self._done or self._done < self._total:
            self._write_line()  # also where the last line promised how much time is left, and the run was interrupted

    def _report_bad(self, outcome: Outcome, test_id: str) -> None:
        self._bad += 1
        if self._bad <= BAD_LINES:
            self._write(f"{outcome_word(outcome).upper()} {printable(test_id)}\n")
        elif self._bad == BAD_LINES + 1:
            self._write("further failures are in the database\n")

    def _is_line_due(self) -> bool:
        since = self._started if self._shown_at is None else self._shown_at
        passed = self._clock() - since
        share = self._done - self._shown_done >= max(1, self._total * LINE_SHARE)
        return passed >= LINE_S or (share and passed >= LINE_LEAST_S)

    def _write_line(self) -> None:
        self._shown_at = self._clock()
        self._shown_done = self._done
        self._write(", ".join(text for _, text in self._parts()) + "\n")

    def _redraw(self) -> None:
        """Rewrite the line; the last column stays empty, since some terminals wrap when it is filled."""
        room = max(1, self._columns() - 1)
        parts = self._parts()
        if self._latest:
            parts.append((_Rank.LATEST, printable(self._latest)))
        while len(parts) > 1 and width_of(", ".join(text for _, text in parts)) > room:
            parts.remove(max(parts, key=lambda part: part[0]))
        line = cut(", ".join(text for _, text in parts), room)
        blanks = min(room, self._shown_width) - width_of(line)
        self._shown_width = width_of(line)
        self._shown_at = self._clock()
        self._write("\r" + line + " " * max(0, blanks))

    def _parts(self) -> list[tuple[_Rank, str]]:
        """Return the pieces of the line in reading order, each with its rank."""
        done = "no tests" if self._total == 0 else f"{number(self._done)}/{number(self._total)}"
        if self._total > 0:
            done += f" ({100 * self._done // self._total} %)"
        parts = [(_Rank.DONE, done)]
        for outcome, count in self._counts.items():
            if count:
                parts.append((_rank(outcome), f"{number(count)} {outcome_word(outcome)}"))
        if self._fell_back:
            parts.append((_Rank.FELL_BACK, f"{number(self._fell_back)} fell back"))
        elapsed = self._clock() - self._started
        if self._done and elapsed > 0:
            rate = self._done / elapsed
            parts.append((_Rank.RATE, f"{rate:.1f} tests/s"))
            if self._finished or self._done >= self._total:
                parts.append((_Rank.TIME, f"in {duration(elapsed)}"))
            else:
                parts.append((_Rank.TIME, f"{duration((self._total - self._done) / rate)} left"))
        return parts

    def _write(self, text: str) -> None:
        if self._broken:
            return
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()
        except (OSError, ValueError):
            self._broken = True  # nobody watches any more: the run goes on, its results are in the database


def _terminal_columns(stream: TextIO) -> int:
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or shutil.get_terminal_size().columns


def _rank(outcome: Outcome) -> _Rank:
    if outcome.is_bad:
        return _Rank.BAD
    return _Rank.PASSED if outcome is Outcome.PASSED else _Rank.OTHER
