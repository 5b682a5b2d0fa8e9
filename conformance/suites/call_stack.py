"""Spare PyTorch's tests a walk through source files that they make for each test."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Callable
from types import FrameType
from typing import Any


def running_test_function() -> Callable[..., Any] | None:
    """Return the function of the innermost PyTorch-style test on the call stack, None where there is none.

    Gives what ``extract_test_fn`` of torch/testing/_internal/common_utils.py (torch 2.6 to 2.14) gives. That one asks
    ``inspect.stack`` for the source lines of every frame, looking through all loaded modules: it took three quarters of
    the time of v2.6's test_unary_ufuncs.
    """
    frame: FrameType | None = sys._getframe(1)
    try:
        while frame is not None:
            candidate = frame.f_locals.get("self")
            if isinstance(candidate, unittest.TestCase):
                class_name, _, name = candidate.id().rpartition(".")
                if class_name.rpartition(".")[2] == type(candidate).__name__ and name.startswith("test"):
                    function: Callable[..., Any] = getattr(candidate, name).__func__
                    return function
            frame = frame.f_back
    except Exception:  # a test that is asked in the middle of its own construction may raise anything
        return None
    return None


def walk_quickly() -> bool:
    """Let PyTorch's own test machinery use ``running_test_function``; tell whether it has what that stands in for."""
    from torch.testing._internal import common_utils

    if not callable(getattr(common_utils, "extract_test_fn", None)):
        return False  # this torch has no such walk (all from 2.6 to 2.14 have), or one by another name
    common_utils.extract_test_fn = running_test_function
    return True
