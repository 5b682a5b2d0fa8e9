"""The closed lists of a skiplist: what an entry expects, and what its cause is."""

from __future__ import annotations

from enum import Enum


class Expectation(str, Enum):
    """What an entry declares about the tests it matches."""

    SKIP = "skip"
    FAIL = "fail"
    CRASH = "crash"
    TIMEOUT = "timeout"
    FALLBACK = "fallback"
    FLAKY = "flaky"

    def __str__(self) -> str:
        return self.value

    @property
    def definition(self) -> str:
        """Return one sentence that says what the tests of such an entry do."""
        return _EXPECTATIONS[self]

    @property
    def runs(self) -> bool:
        """Tell whether the tests are run all the same, so that it shows when they pass."""
        return self is not Expectation.SKIP


class Category(str, Enum):
    """The cause behind an entry: what has to change before it can go."""

    UNSUPPORTED_OP = "unsupported-op"
    UNSUPPORTED_DTYPE = "unsupported-dtype"
    UNSUPPORTED_LAYOUT = "unsupported-layout"
    UNSUPPORTED_FEATURE = "unsupported-feature"
    WRONG_RESULT = "wrong-result"
    PRECISION = "precision"
    RANDOMNESS = "randomness"
    ERROR_TEXT = "error-text"
    COMPILER = "compiler"
    RUNTIME = "runtime"
    MEMORY = "memory"
    SLOW = "slow"
    NOT_NATIVE = "not-native"
    TEST_ASSUMPTION = "test-assumption"
    ENVIRONMENT = "environment"
    UPSTREAM_BUG = "upstream-bug"
    HARNESS_BUG = "harness-bug"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value

    @property
    def definition(self) -> str:
        """Return one sentence that says when a cause belongs here."""
        return _CATEGORIES[self]

    @property
    def endangers_run(self) -> bool:
        """Tell whether running such tests may cost more than the test itself, so that ``skip`` is in place."""
        return self in (Category.RUNTIME, Category.MEMORY, Category.SLOW, Category.ENVIRONMENT)


_EXPECTATIONS = {
    Expectation.SKIP: "The test is not run: only for what takes the device down, hangs it, or exhausts the machine.",
    Expectation.FAIL: "The test is run and fails; with `message`, by a text that it matches.",
    Expectation.CRASH: "The test is run and its process dies.",
    Expectation.TIMEOUT: "The test is run and exceeds its time limit.",
    Expectation.FALLBACK: "The test is run and passes, but the operator under test runs on the CPU.",
    Expectation.FLAKY: "The test is run and passes in some attempts and fails in others.",
}

_CATEGORIES = {
    Category.UNSUPPORTED_OP: "The device does not implement the operator or the module, and nothing stands in for it.",
    Category.UNSUPPORTED_DTYPE: "The device has no such dtype, or computes it in another one.",
    Category.UNSUPPORTED_LAYOUT: "The device lacks a layout, memory format or strides: sparse, nested, channels last.",
    Category.UNSUPPORTED_FEATURE: "The device lacks something else that the test needs: streams, dynamic shapes.",
    Category.WRONG_RESULT: "The device computes, and the result is wrong by more than rounding explains.",
    Category.PRECISION: "The result differs by rounding, beyond the tolerance of the test.",
    Category.RANDOMNESS: "The test expects the very random numbers, or the determinism, of another device.",
    Category.ERROR_TEXT: "The device refuses what it should refuse, with another error or text than the test expects.",
    Category.COMPILER: "The compiler of the device fails or refuses what it should compile.",
    Category.RUNTIME: "The driver or runtime of the device fails: the process dies, or the device hangs.",
    Category.MEMORY: "The test needs more memory than the device or the machine has.",
    Category.SLOW: "The test, or its compilation, takes longer than the time limit.",
    Category.NOT_NATIVE: "The operator works, but by running on the CPU.",
    Category.TEST_ASSUMPTION: "The test assumes another device: its name, its number of devices, its limits.",
    Category.ENVIRONMENT: "The machine lacks something that the test needs: more devices, a library, a network.",
    Category.UPSTREAM_BUG: "PyTorch or its test is wrong for every device of this kind; nothing to do in the backend.",
    Category.HARNESS_BUG: "This harness is wrong.",
    Category.UNKNOWN: "Nobody has looked for the cause yet.",
}
