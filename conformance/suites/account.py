"""What the running test says about itself beyond passing or failing."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from conformance.model.compilation import CompileAccount
from conformance.model.result import SampleAccount


@dataclass(slots=True)
class TestAccount:
    """Samples of one running test and the first failure among them.

    A sample for which the CPU itself raises says nothing about the device: it is set aside, not counted as run.
    ``compilation`` is what torch.compile did, None in a test that compiles nothing; ``tolerance`` the widest relative
    and absolute one of its comparisons, None where it is not known.
    """

    __test__ = False

    ran: int = 0
    passed: int = 0
    first_failure: str = ""
    first_error: Exception | None = None
    set_aside: list[str] = field(default_factory=list)
    compilation: CompileAccount | None = None
    tolerance: tuple[float, float] | None = None

    def compared_within(self, rtol: float, atol: float) -> None:
        """Remember by how much results may differ, the widest of a test."""
        known = self.tolerance or (0.0, 0.0)
        self.tolerance = (max(rtol, known[0]), max(atol, known[1]))

    @contextmanager
    def sample(self, description: str) -> Iterator[None]:
        """Count one sample; remember the first failure and go on with the next sample."""
        self.ran += 1
        try:
            yield
        except unittest.SkipTest:
            self.ran -= 1
            raise
        except ReferenceRaised as error:
            self.ran -= 1
            self.set_aside.append(f"{description}: {error}")
        except Exception as error:
            if self.first_error is None:
                self.first_error = error
                self.first_failure = description
        else:
            self.passed += 1

    def conclude(self) -> None:
        """Raise the first failure, with the sample that caused it and how many others passed.

        Raises ``unittest.SkipTest`` where no sample could be compared.
        """
        error = self.first_error
        if error is None:
            if self.set_aside:
                if not self.ran:
                    first = " ".join(self.set_aside[0].split())[:300]
                    raise unittest.SkipTest(f"the CPU itself raises for all {len(self.set_aside)} samples; {first}")
            elif not self.ran:
                raise unittest.SkipTest("PyTorch gives no sample for this dtype and template")
            return
        self.first_error = None
        raise SampleFailure(
            f"{type(error).__name__}: {_text(error)}\n\n"
            f"{self.passed} of {self.ran} samples passed; the first failure: {self.first_failure}"
        ) from error

    def frozen(self) -> SampleAccount:
        """Return the counts as they are stored."""
        return SampleAccount(ran=self.ran, passed=self.passed, first_failure=self.first_failure)


class SampleFailure(AssertionError):  # noqa: N818 - read in reports, where "failure" is the word
    """A sample input failed; the cause holds the original exception."""


class ReferenceRaised(Exception):  # noqa: N818 - says what happened; it is no error of the device
    """The CPU raised for a sample, so there is nothing to compare the device with."""


@contextmanager
def reference() -> Iterator[None]:
    """Mark the code that computes the CPU's answer."""
    try:
        yield
    except unittest.SkipTest:
        raise
    except Exception as error:
        raise ReferenceRaised(f"{type(error).__name__}: {error}") from error


def _text(error: Exception) -> str:
    return str(error).strip() or type(error).__name__


class ActiveAccount:
    """The account of the test that runs in this process; a process runs one test at a time."""

    account: TestAccount | None = None


ACTIVE = ActiveAccount()


def begin() -> TestAccount:
    """Start the account of the test that runs now; the plugin reads it when the test has ended."""
    account = TestAccount()
    ACTIVE.account = account
    return account
