"""Instantiate templates with PyTorch's own machinery, for the selected operators, modules and dtypes only."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.testing._internal.common_device_type import ANY_DTYPE_ORDER, instantiate_device_type_tests, ops
from torch.testing._internal.common_modules import modules
from torch.testing._internal.common_utils import TestCase

from conformance.suites.selection import ACTIVE, ALL_DTYPES, ONE_DTYPE, Selection


@dataclass(frozen=True, slots=True)
class UpstreamTest:
    """A test of PyTorch's own whose per-operator decorators (skips, tolerances, expected failures) hold here too.

    An expected failure is of that test, not of ours: where ours passes it has passed, where it fails that was expected.
    """

    class_name: str
    name: str


class SelectedOps(ops):  # type: ignore[misc,unused-ignore]
    """PyTorch's ``@ops`` over the selected operators, with a template's own choice of dtypes and decorators."""

    def __init__(
        self,
        op_list: Sequence[Any],
        *,
        choose: Callable[[Any, str], Sequence[torch.dtype | None]],
        upstream: Sequence[UpstreamTest],
    ) -> None:
        super().__init__(op_list)
        self._choose = choose
        self._upstream = upstream

    def _parametrize_test(self, test: Any, generic_cls: Any, device_cls: Any) -> Iterator[Any]:
        everything: list[Any] = self.op_list  # type: ignore[has-type]
        for op in everything:
            chosen = self._choose(op, device_cls.device_type)
            if not chosen:
                continue
            self.op_list = [op]
            self.opinfo_dtypes = list(chosen)
            for _, name, keywords, _ in super()._parametrize_test(test, generic_cls, device_cls):
                dtype = keywords.get("dtype")
                decorators = _decorators_of(op, self._upstream, device_cls.device_type, dtype)
                yield _plain(test), name, keywords, decorators
        self.op_list = everything


class SelectedModules(modules):  # type: ignore[misc,unused-ignore]
    """PyTorch's ``@modules`` over the selected modules, with a template's own choice of dtypes and decorators."""

    def __init__(
        self,
        module_list: Sequence[Any],
        *,
        choose: Callable[[Any, str], Sequence[torch.dtype | None]],
        upstream: Sequence[UpstreamTest],
    ) -> None:
        super().__init__(module_list)
        self._choose = choose
        self._upstream = upstream

    def _parametrize_test(self, test: Any, generic_cls: Any, device_cls: Any) -> Iterator[Any]:
        everything: list[Any] = self.module_info_list  # type: ignore[has-type]
        for module_info in everything:
            self.module_info_list = [module_info]
            self.allowed_dtypes = set(self._choose(module_info, device_cls.device_type))
            for _, name, keywords, _ in super()._parametrize_test(test, generic_cls, device_cls):
                dtype = keywords.get("dtype")
                decorators = _decorators_of(module_info, self._upstream, device_cls.device_type, dtype)
                yield _plain(test), name, keywords, decorators
        self.module_info_list = everything


def _plain(test: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of its own for each instance, to which decorators can be applied.

    It stands in for PyTorch's wrapper, which walks the call stack after each test for the sample that was last drawn.
    """

    @functools.wraps(test)
    def run(*args: Any, **keywords: Any) -> Any:
        return test(*args, **keywords)

    return run


def _decorators_of(
    info: Any, upstream: Sequence[UpstreamTest], device: str, dtype: Any
) -> Callable[[dict[str, Any]], list[Any]]:
    def decorators(keywords: dict[str, Any]) -> list[Any]:
        found: dict[int, Any] = {}
        for test in upstream:
            for decorator in info.get_decorators(test.class_name, test.name, device, dtype, keywords):
                found[id(decorator)] = _may_fail(test) if decorator is unittest.expectedFailure else decorator
        return list(found.values())

    return decorators


def _may_fail(test: UpstreamTest) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator under which a failure is recorded as expected and a pass as a pass."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **keywords: Any) -> Any:
            try:
                return function(*args, **keywords)
            except unittest.SkipTest:
                raise
            except Exception as error:
                pytest.xfail(
                    f"PyTorch expects {test.class_name}::{test.name} to fail here; {type(error).__name__}: {error}"
                )

        return run

    return decorate


def preferred_dtype(supported: Sequence[torch.dtype] | set[torch.dtype]) -> list[torch.dtype | None]:
    """Return float32, or the first that exists in PyTorch's own order of preference; empty if there is none."""
    for dtype in ANY_DTYPE_ORDER:
        if dtype in supported:
            return [dtype]
    return sorted(supported, key=str)[:1]


def narrow(
    supported: Sequence[torch.dtype] | set[torch.dtype], selection: Selection, *, every: bool
) -> list[torch.dtype | None]:
    """Return the dtypes that one template runs for one operator.

    ``every`` is True for templates that run all declared dtypes by default. A selection of dtypes holds for all
    templates.
    """
    if selection.dtypes == (ONE_DTYPE,):
        return preferred_dtype(supported)
    if selection.dtypes == (ALL_DTYPES,) or (selection.tests and not selection.dtypes):
        return sorted(set(supported), key=str)
    if selection.dtypes:
        wanted = {getattr(torch, name) for name in selection.dtypes if hasattr(torch, name)}
        return sorted(wanted & set(supported), key=str)
    if every:
        return sorted(set(supported), key=str)
    return preferred_dtype(supported)


def selected_ops(op_list: Sequence[Any], template: str, applies: Callable[[Any], bool]) -> list[Any]:
    """Return the operators of ``op_list`` that the active selection asks for and the template applies to."""
    selection = ACTIVE.selection
    if not selection.has_template(template):
        return []
    return [op for op in op_list if selection.has_name(op.full_name, op.formatted_name) and applies(op)]


def instantiate(generic: type[TestCase], scope: dict[str, Any]) -> None:
    """Instantiate ``generic`` for the active device into ``scope``."""
    instantiate_device_type_tests(generic, scope)
    for name in [key for key, value in scope.items() if isinstance(value, type) and issubclass(value, TestCase)]:
        if not getattr(scope[name], "device_type", "").startswith(ACTIVE.device):
            del scope[name]  # an imported TestCase would be collected by pytest
