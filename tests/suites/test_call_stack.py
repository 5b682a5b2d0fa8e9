"""PyTorch's walk for the running test and ours find the same."""

from __future__ import annotations

import unittest
from typing import Any

from torch.testing._internal import common_utils

from conformance.suites.call_stack import running_test_function, walk_quickly

_THEIRS = common_utils.extract_test_fn


class Sample(unittest.TestCase):
    found: tuple[Any, Any] = (None, None)

    def test_it(self) -> None:
        self._deeper()

    def _deeper(self) -> None:
        type(self).found = (_THEIRS(), running_test_function())

    def helper(self) -> None:
        type(self).found = (_THEIRS(), running_test_function())


class Odd:
    def __init__(self, inner: unittest.TestCase) -> None:
        self.inner = inner

    def test_it(self) -> None:
        self.inner.run()


def test_it_finds_the_function_of_the_test() -> None:
    Odd(Sample("test_it")).test_it()
    assert Sample.found == (Sample.test_it, Sample.test_it)


def test_outside_of_a_test_there_is_none() -> None:
    Sample("helper").run()
    assert Sample.found == (None, None)
    assert running_test_function() is _THEIRS() is None


def test_the_machinery_uses_it() -> None:
    try:
        assert walk_quickly()
        assert common_utils.extract_test_fn is running_test_function
    finally:
        common_utils.extract_test_fn = _THEIRS
