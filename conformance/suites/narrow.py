"""Let test files of PyTorch instantiate only what was asked for: one operator of a large file costs one operator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from conformance.suites.selection import ACTIVE

_MARK = "_conformance_narrowed"


def narrow_instantiation() -> list[str]:
    """Make PyTorch's ``ops`` and ``modules`` decorators skip what the active selection does not name.

    Files of PyTorch decorate their tests with these; the built-in suites have subclasses of their own, which select
    by themselves. Returns the names of the decorators that this torch has in another form (torch 2.6 to 2.14 have
    both), which then instantiate everything: it is filtered after collection all the same.
    """
    from torch.testing._internal import common_device_type, common_modules

    missing = []
    for module, name, attribute, name_of in (
        (common_device_type, "ops", "op_list", lambda op: op.full_name),
        (common_modules, "modules", "module_info_list", lambda info: info.name),
    ):
        decorator = getattr(module, name, None)
        original = getattr(decorator, "_parametrize_test", None)
        if original is None or not inspect.isgeneratorfunction(getattr(original, "__wrapped__", original)):
            missing.append(name)
        elif not hasattr(original, _MARK):
            narrowed = _narrowed(original, attribute, name_of)
            setattr(narrowed, _MARK, True)
            decorator._parametrize_test = narrowed  # type: ignore[union-attr]
    return missing


def _narrowed(
    original: Callable[..., Iterator[Any]], attribute: str, name_of: Callable[[Any], str]
) -> Callable[..., Iterator[Any]]:
    @functools.wraps(original)
    def parametrize_test(self: Any, test: Any, generic_cls: Any, device_cls: Any) -> Iterator[Any]:
        every = getattr(self, attribute, None)
        if not ACTIVE.selection.ops or not isinstance(every, list) or not every:
            yield from original(self, test, generic_cls, device_cls)
            return
        wanted = [info for info in every if ACTIVE.selection.names(name_of(info))]
        if not wanted:
            return  # the decorator takes an empty list for a mistake
        setattr(self, attribute, wanted)
        try:
            yield from original(self, test, generic_cls, device_cls)
        finally:
            setattr(self, attribute, every)

    return parametrize_test
