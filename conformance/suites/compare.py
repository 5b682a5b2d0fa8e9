"""Compare what the device computed with what the CPU computed."""

from __future__ import annotations

from typing import Any

import torch
from torch.testing import _comparison
from torch.testing._internal.common_utils import TestCase
from torch.utils import _pytree as pytree

from conformance.suites.account import ACTIVE

# Their result is memory as it was found: only its kind can be compared.
UNINITIALIZED = frozenset({"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"})


def assert_same(
    test: TestCase, actual: Any, expected: Any, *, device: str, values: bool = True, what: str = ""
) -> None:
    """Assert that a nested device result equals the CPU's, on the right device.

    The tolerances are those that PyTorch's machinery has set on ``test`` for this dtype. With ``values`` False only
    the kind (structure, shapes, dtypes) is compared, which is all that can be said of random or uninitialised results.
    Raises ``AssertionError``.
    """
    mine, mine_spec = pytree.tree_flatten(actual)
    theirs, theirs_spec = pytree.tree_flatten(expected)
    if len(mine) != len(theirs):
        raise AssertionError(f"{what}the device gives {mine_spec} where the CPU gives {theirs_spec}")
    for position, (got, want) in enumerate(zip(mine, theirs, strict=True)):
        where = what + (f"result {position}: " if len(mine) > 1 else "")
        if isinstance(want, torch.Tensor):
            _assert_same_tensor(test, got, want, device=device, values=values, where=where)
        elif isinstance(want, torch.device):
            if torch.device(got).type not in (device, want.type):
                raise AssertionError(f"{where}the device gives {got} where the CPU gives {want}")
        elif values:
            test.assertEqual(got, want, msg=lambda text, where=where: where + text)


def _assert_same_tensor(test: TestCase, got: Any, want: torch.Tensor, *, device: str, values: bool, where: str) -> None:
    if not isinstance(got, torch.Tensor):
        raise AssertionError(f"{where}the device gives a {type(got).__name__} where the CPU gives a tensor")
    if got.device.type != device:
        raise AssertionError(f"{where}the result is on '{got.device}', not on '{device}'")
    if got.layout != want.layout:
        raise AssertionError(f"{where}the device gives layout {got.layout} where the CPU gives {want.layout}")
    if values:
        _note_tolerance(test, got, want)
        test.assertEqual(got.detach(), want.detach(), exact_device=False, equal_nan=True, msg=lambda text: where + text)
        return
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        raise AssertionError(
            f"{where}the device gives {got.dtype}{list(got.shape)} where the CPU gives {want.dtype}{list(want.shape)}"
        )


def assert_like_reference(test: TestCase, got: Any, want: Any, *, device: str) -> None:
    """Assert that a device result has the values of a reference written in NumPy or Python; dtypes may differ.

    Raises ``AssertionError``.
    """
    results = list(got) if isinstance(got, (list, tuple)) else [got]
    references = list(want) if isinstance(got, (list, tuple)) else [want]
    if len(results) != len(references):
        raise AssertionError(f"{len(results)} results, but the reference gives {len(references)}")
    for result, reference in zip(results, references, strict=True):
        if isinstance(result, torch.Tensor) and result.device.type != device:
            raise AssertionError(f"the result is on '{result.device}', not on '{device}'")
        expected = torch.as_tensor(reference) if isinstance(result, torch.Tensor) else reference
        if isinstance(result, torch.Tensor):
            _note_tolerance(test, result, expected)
        # A NumPy reference computes in its own precision and promotes as NumPy does: values count, the dtype does not.
        test.assertEqual(result, expected, exact_dtype=False, exact_device=False, equal_nan=True)


def _note_tolerance(test: TestCase, *compared: torch.Tensor) -> None:
    """Let the account of the test know what assertEqual is about to allow, where this torch tells (2.6 to 2.13 do)."""
    defaults = getattr(_comparison, "default_tolerances", None)
    if ACTIVE.account is not None and defaults is not None:
        rtol, atol = defaults(*compared)
        ACTIVE.account.compared_within(max(rtol, test.rel_tol), max(atol, test.precision))
