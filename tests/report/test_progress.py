"""The live line, driven by a clock that the test moves."""

from __future__ import annotations

import io
import subprocess
import sys
from functools import partial

import pytest
from expecttest import TestCase

from conformance.model.outcome import Outcome
from conformance.report.layout import width_of
from conformance.report.progress import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class TestInCI(TestCase):
    def test_writes_a_line_every_5_percent_and_one_for_each_bad_outcome(self) -> None:
        clock, stream = Clock(), io.StringIO()
        progress = Progress(40, stream=stream, is_terminal=False, clock=clock)
        for index in range(10):
            clock.now += 0.5
            outcome = {3: Outcome.FAILED, 7: Outcome.TIMED_OUT}.get(index, Outcome.PASSED)
            progress.add(outcome, index == 1, "add", f"test_ops.py::TestCommon::test_out_{index}")
        progress.finish()
        progress.finish()
        self.assertExpectedInline(
            stream.getvalue(),
            """\
2/40 (5 %), 2 passed, 1 fell back, 2.0 tests/s, 19 s left
FAILED test_ops.py::TestCommon::test_out_3
4/40 (10 %), 3 passed, 1 failed, 1 fell back, 2.0 tests/s, 18 s left
6/40 (15 %), 5 passed, 1 failed, 1 fell back, 2.0 tests/s, 17 s left
TIMED OUT test_ops.py::TestCommon::test_out_7
8/40 (20 %), 6 passed, 1 failed, 1 timed out, 1 fell back, 2.0 tests/s, 16 s left
10/40 (25 %), 8 passed, 1 failed, 1 timed out, 1 fell back, 2.0 tests/s, 15 s left
10/40 (25 %), 8 passed, 1 failed, 1 timed out, 1 fell back, 2.0 tests/s, in 5 s
""",
        )

    def test_writes_no_line_within_a_second_of_the_last(self) -> None:
        clock, stream = Clock(), io.StringIO()
        progress = Progress(20, stream=stream, is_terminal=False, clock=clock)
        for index in range(20):
            clock.now += 0.125
            progress.add(Outcome.PASSED, False, "add", f"t{index}")
        progress.finish()
        lines = [line.partition(",")[0] for line in stream.getvalue().splitlines()]
        assert lines == ["8/20 (40 %)", "16/20 (80 %)", "20/20 (100 %)"]

    def test_ends_with_how_long_it_took(self) -> None:
        clock, stream = Clock(), io.StringIO()
        progress = Progress(2, stream=stream, is_terminal=False, clock=clock)
        for _ in range(2):
            clock.now += 52.5
            progress.add(Outcome.PASSED, False, "add", "t")
        progress.finish()
        self.assertExpectedInline(
            stream.getvalue(),
            """\
1/2 (50 %), 1 passed, 0.0 tests/s, 52 s left
2/2 (100 %), 2 passed, 0.0 tests/s, in 1 min 45 s
""",
        )

    def test_writes_a_line_every_10_seconds_of_a_long_run(self) -> None:
        clock, stream = Clock(), io.StringIO()
        progress = Progress(100_000, stream=stream, is_terminal=False, clock=clock)
        for index in range(12):
            clock.now += 4
            progress.add(Outcome.PASSED, False, None, f"t{index}")
        progress.finish()
        self.assertExpectedInline(
            stream.getvalue(),
            """\
3/100,000 (0 %), 3 passed, 0.2 tests/s, 4 d 15 h left
6/100,000 (0 %), 6 passed, 0.2 tests/s, 4 d 15 h left
9/100,000 (0 %), 9 passed, 0.2 tests/s, 4 d 15 h left
12/100,000 (0 %), 12 passed, 0.2 tests/s, 4 d 15 h left
12/100,000 (0 %), 12 passed, 0.2 tests/s, in 48 s
""",
        )

    def test_caps_the_bad_outcomes(self) -> None:
        clock, stream = Clock(), io.StringIO()
        progress = Progress(70, stream=stream, is_terminal=False, clock=clock)
        for index in range(70):
            progress.add(Outcome.CRASHED, False, None, f"t{index}")
        progress.finish()
        lines = stream.getvalue().splitlines()
        assert [line for line in lines if line.startswith("CRASHED")] == [f"CRASHED t{index}" for index in range(50)]
        assert lines.count("further failures are in the database") == 1

    def test_says_so_when_there_was_nothing_to_do(self) -> None:
        stream = io.StringIO()
        Progress(0, stream=stream, is_terminal=False, clock=Clock()).finish()
        self.assertExpectedInline(
            stream.getvalue(),
            """\
no tests
""",
        )

    def test_names_no_bad_outcome_among_good_ones(self) -> None:
        stream = io.StringIO()
        progress = Progress(4, stream=stream, is_terminal=False, clock=Clock())
        for outcome in (Outcome.PASSED, Outcome.SKIPPED, Outcome.XFAILED, Outcome.XPASSED):
            progress.add(outcome, False, None, "t")
        assert all(line[0].isdigit() for line in stream.getvalue().splitlines())


class TestOnATerminal(TestCase):
    def test_rewrites_one_line_at_most_ten_times_a_second(self) -> None:
        clock, stream = Clock(), io.StringIO()
        progress = Progress(1000, stream=stream, is_terminal=True, clock=clock, columns=lambda: 200)
        for _ in range(500):
            clock.now += 0.01
            progress.add(Outcome.PASSED, False, "add", "t")
        drawn = stream.getvalue().count("\r")
        assert 45 <= drawn <= 51
        assert "\n" not in stream.getvalue()
        progress.finish()
        assert stream.getvalue().count("\n") == 1

    def test_shows_counts_rate_time_left_and_the_operator(self) -> None:
        clock, stream = Clock(), io.StringIO()
        progress = Progress(1200, stream=stream, is_terminal=True, clock=clock, columns=lambda: 200)
        for index in range(300):
            clock.now += 0.2
            progress.add(Outcome.FAILED if index % 100 == 0 else Outcome.PASSED, index < 7, "gelu", "t")
        self.assertExpectedInline(
            stream.getvalue().rpartition("\r")[2] + "\n",
            """\
300/1,200 (25 %), 297 passed, 3 failed, 7 fell back, 5.0 tests/s, 3 min 00 s left, gelu
""",
        )
        progress.finish()
        self.assertExpectedInline(
            stream.getvalue().rpartition("\r")[2].rstrip() + "\n",
            """\
300/1,200 (25 %), 297 passed, 3 failed, 7 fell back, 5.0 tests/s, in 1 min 00 s
""",
        )

    def test_is_never_wider_than_the_terminal_and_drops_the_least_important_first(self) -> None:
        shown = []
        for columns in (112, 100, 80, 60, 40, 30, 20, 10, 2, 1):
            clock, stream = Clock(), io.StringIO()
            progress = Progress(90_000, stream=stream, is_terminal=True, clock=clock, columns=partial(int, columns))
            for outcome in Outcome:
                for _ in range(3):
                    clock.now += 1
                    progress.add(outcome, True, "\u6f22\u5b57 operator", "t")
            for line in stream.getvalue().split("\r"):
                assert width_of(line) <= max(1, columns - 1)
            shown.append(stream.getvalue().rpartition("\r")[2].rstrip())
        self.assertExpectedInline(
            "\n".join(shown),
            """\
33/90,000 (0 %), 3 passed, 3 failed, 3 error, 3 crashed, 3 timed out, 3 out of memory, 3 not run, 1 d 00 h left
33/90,000 (0 %), 3 failed, 3 error, 3 crashed, 3 timed out, 3 out of memory, 3 not run
33/90,000 (0 %), 3 error, 3 crashed, 3 timed out, 3 out of memory, 3 not run
33/90,000 (0 %), 3 timed out, 3 out of memory, 3 not run
33/90,000 (0 %), 3 not run
33/90,000 (0 %), 3 not run
33/90,000 (0 %)
33/90,...
.
.""",
        )

    def test_clears_what_a_longer_line_left_behind(self) -> None:
        clock, stream = Clock(), io.StringIO()
        progress = Progress(10, stream=stream, is_terminal=True, clock=clock, columns=lambda: 100)
        progress.add(Outcome.PASSED, False, "a_very_long_operator_name", "t")
        clock.now += 1
        progress.add(Outcome.PASSED, False, "a", "t")
        _, first, second = stream.getvalue().split("\r")
        assert len(second) == len(first)
        assert second.rstrip().endswith(", a")

    def test_follows_a_terminal_that_is_made_narrower(self) -> None:
        clock, stream = Clock(), io.StringIO()
        widths = iter([90, 20])
        progress = Progress(10, stream=stream, is_terminal=True, clock=clock, columns=lambda: next(widths))
        progress.add(Outcome.PASSED, False, "nn.functional.gelu", "t")
        clock.now += 1
        progress.add(Outcome.PASSED, False, "nn.functional.gelu", "t")
        assert width_of(stream.getvalue().rpartition("\r")[2]) <= 19

    def test_asks_the_stream_for_its_width_unless_told(self) -> None:
        clock, stream = Clock(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "24")
            Progress(1_000_000, stream=stream, is_terminal=True, clock=clock).finish()
        assert 0 < width_of(stream.getvalue().strip()) <= 23


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_closed_stream_does_not_stop_the_run(is_terminal: bool) -> None:
    progress = Progress(2, stream=Closed(), is_terminal=is_terminal, clock=Clock())
    progress.add(Outcome.FAILED, False, None, "t")
    progress.finish()


def test_a_stream_without_unicode_gets_escapes() -> None:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    progress = Progress(1, stream=stream, is_terminal=False, clock=Clock())
    progress.add(Outcome.FAILED, False, None, "t\u00e9\x1b[2J")
    assert buffer.getvalue().splitlines()[0] == b"FAILED t\\xe9\\x1b[2J"


def test_needs_neither_torch_nor_the_store() -> None:
    code = (
        "import sys, conformance.report.progress; "
        "sys.exit(any(name == 'torch' or name.startswith('conformance.store') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
