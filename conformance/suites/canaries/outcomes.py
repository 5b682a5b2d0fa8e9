"""Canaries that end in every ordinary way, and in some ways that look like another."""

from __future__ import annotations

import os
import sys
import unittest
from collections.abc import Iterator

import pytest

from conformance.model.outcome import Outcome
from conformance.suites.canaries import canary, is_armed

pytestmark = pytest.mark.skipif(not is_armed(), reason="a canary: only `conformance selftest` runs it")

_FLOOD = "0123456789abcdef" * 4096  # 64 KiB
_ODD_TEXT = "<script>alert('x')</script> \x1b[31m\x00 \udcff ü 名 & | \\ '\""


@canary(Outcome.PASSED)
def test_passes() -> None:
    """Pass."""
    assert True


@canary(Outcome.FAILED, says="one is not two", keeps="test_fails")
def test_fails() -> None:
    """Fail an assertion."""
    raise AssertionError("one is not two")


@canary(Outcome.FAILED, says=("RuntimeError", "no kernel"), keeps="test_raises")
def test_raises() -> None:
    """Raise an exception."""
    raise RuntimeError("no kernel")


@canary(Outcome.SKIPPED, says="not on this device")
def test_skips() -> None:
    """Be skipped."""
    pytest.skip("not on this device")


@canary(Outcome.XFAILED, says="known to fail")
@pytest.mark.xfail(reason="known to fail")
def test_xfails() -> None:
    """Fail as its mark says."""
    raise AssertionError


@canary(Outcome.XPASSED, says="no longer true")
@pytest.mark.xfail(reason="no longer true")
def test_xpasses() -> None:
    """Pass against its mark."""


@canary(Outcome.XPASSED, says="XPASS(strict)")
@pytest.mark.xfail(strict=True, reason="no longer true")
def test_xpasses_strictly() -> None:
    """Pass against its strict mark."""


@pytest.fixture
def broken_setup() -> None:
    """Raise before the test."""
    raise RuntimeError("the device is not ready")


@canary(Outcome.ERROR, says="the device is not ready")
@pytest.mark.usefixtures("broken_setup")
def test_raises_in_setup() -> None:
    """Raise while being set up."""


@pytest.fixture
def broken_teardown() -> Iterator[None]:
    """Raise after the test."""
    yield
    raise RuntimeError("the device is not free")


@canary(Outcome.ERROR, says="the device is not free")
@pytest.mark.usefixtures("broken_teardown")
def test_raises_in_teardown() -> None:
    """Raise while being torn down."""


@canary(Outcome.FAILED, says=("SystemExit", "3"))
def test_calls_sys_exit() -> None:
    """Call sys.exit."""
    sys.exit(3)


@canary(Outcome.PASSED)
def test_prints_megabytes() -> None:
    """Print 8 MiB."""
    _print_megabytes()


@canary(Outcome.FAILED, says="after the flood")
def test_prints_megabytes_and_fails() -> None:
    """Print 8 MiB and fail."""
    _print_megabytes()
    raise AssertionError("after the flood")


@canary(Outcome.FAILED, says=("<script>", "\\x00", "名"))
def test_fails_oddly() -> None:
    """Fail with a text of markup, colours and half characters."""
    os.write(2, b"\xff\xfe\x00 no UTF-8 \x1b[2J")
    raise AssertionError(_ODD_TEXT)


@canary(Outcome.FAILED, says=("xxxxxxxx", "characters cut"))
def test_fails_with_megabytes() -> None:
    """Fail with a message of 10 MiB."""
    raise AssertionError("x" * (10 << 20))


@canary(Outcome.FAILED, says="RecursionError", keeps="test_recurses")
def test_recurses() -> None:
    """Recurse without an end."""
    test_recurses()


@canary(Outcome.PASSED)
def test_closes_its_output() -> None:
    """Close stdout and stderr."""
    os.close(1)
    os.close(2)


class TestUnittest(unittest.TestCase):
    """The ways of unittest, which PyTorch's own tests use."""

    @canary(Outcome.FAILED, says="2 is not allowed")
    def test_fails_in_a_subtest(self) -> None:
        """Fail in one of three subtests."""
        for number in (1, 2, 3):
            with self.subTest(number=number):
                if number == 2:
                    self.fail("2 is not allowed")

    @canary(Outcome.SKIPPED, says="no such layout")
    def test_skips(self) -> None:
        """Be skipped by unittest."""
        raise unittest.SkipTest("no such layout")

    @canary(Outcome.XFAILED)
    @unittest.expectedFailure
    def test_expected_failure(self) -> None:
        """Fail as unittest's mark says."""
        self.fail("as it should")

    @canary(Outcome.XPASSED, says="Unexpected success")
    @unittest.expectedFailure
    def test_unexpected_success(self) -> None:
        """Pass against unittest's mark."""


class TestBrokenClass(unittest.TestCase):
    """Its two tests never begin."""

    @classmethod
    def setUpClass(cls) -> None:
        """Raise for the whole class."""
        raise RuntimeError("nothing is ready")

    @canary(Outcome.ERROR, says="nothing is ready")
    def test_first(self) -> None:
        """Be of a class whose setUpClass raises."""

    @canary(Outcome.ERROR, says="nothing is ready")
    def test_second(self) -> None:
        """Be of the same class."""


def _print_megabytes() -> None:
    for _ in range(32):
        print(_FLOOD)
        print(_FLOOD, file=sys.stderr)
        os.write(1, _FLOOD.encode())
        os.write(2, _FLOOD.encode())
