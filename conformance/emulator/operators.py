"""Which overloads reach the emulated device's kernels, as PyTorch's dispatcher tells it."""

from __future__ import annotations

from functools import lru_cache

import torch

from conformance.emulator.internals import torch_internal
from conformance.emulator.profile import Profile, locate, suggestion
from conformance.errors import UsageError

DEVICE_KEY = "PrivateUse1"
_COMPOSITE_KEYS = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd")


def has_kernel(overload: str, key: str) -> bool:
    """Tell whether an overload has a kernel of its own for a dispatch key."""
    return bool(torch_internal("_dispatch_has_kernel_for_dispatch_key")(overload, key))


@lru_cache(maxsize=1)
def overloads_by_operator() -> dict[str, tuple[str, ...]]:
    """Return the overloads of every aten operator: ``add`` -> (``aten::add.Tensor``, ``aten::add.out``, ...)."""
    found: dict[str, list[str]] = {}
    for overload in torch_internal("_dispatch_get_all_op_names")():
        if overload.startswith("aten::"):
            found.setdefault(operator_of(overload), []).append(overload)
    return {operator: tuple(sorted(overloads)) for operator, overloads in found.items()}


def operator_of(overload: str) -> str:
    """Return the operator of an overload, without its namespace: ``aten::add_.Tensor`` -> ``add_``."""
    return overload.removeprefix("aten::").partition(".")[0]


def select(name: str) -> tuple[str, ...]:
    """Return the overloads a name stands for: ``add`` (with ``add_``), ``add_`` or ``add.Tensor``; none if unknown."""
    known = overloads_by_operator()
    operator = operator_of(name)
    if "." in name:
        full = f"aten::{name.removeprefix('aten::')}"
        return (full,) if full in known.get(operator, ()) else ()
    return known.get(operator, ()) + known.get(f"{operator}_", ())


def schema_of(overload: str) -> torch.FunctionSchema:
    """Return the schema of an overload given by its full name."""
    name, _, variant = overload.partition(".")
    schema: torch.FunctionSchema = torch_internal("_get_schema")(name, variant)
    return schema


def returns_view(overload: str) -> bool:
    """Tell whether an overload's result shares memory with an argument that it does not write to."""
    return any(r.alias_info is not None and not r.alias_info.is_write for r in schema_of(overload).returns)


def native_overloads(profile: Profile) -> list[str]:
    """Return the overloads that get a native kernel under a profile, and the views, which always do.

    Raises UsageError("bad-profile") for a name that torch does not know, or that has no kernel of its own.
    """
    every = [overload for overloads in overloads_by_operator().values() for overload in overloads]
    if profile.native is None:
        return sorted(overload for overload in every if _can_be_native(overload))
    chosen = {overload for overload in every if has_kernel(overload, "CPU") and returns_view(overload)}
    for name in profile.native:
        overloads = select(name)
        able = [overload for overload in overloads if _can_be_native(overload)]
        if not able:
            raise UsageError("bad-profile", _why_not_native(profile, name, known=bool(overloads)))
        chosen.update(able)
    return sorted(chosen)


def _can_be_native(overload: str) -> bool:
    return has_kernel(overload, "CPU") or has_kernel(overload, DEVICE_KEY)


def _why_not_native(profile: Profile, name: str, *, known: bool) -> str:
    where = locate(profile.path, profile.path.read_text(encoding="utf-8").splitlines(), name)
    if known:
        return (
            f"{where}: '{name}' has no kernel in torch {torch.__version__}, it is made of other operators; "
            "list those, or remove it"
        )
    hint = suggestion(name, list(overloads_by_operator()))
    return f"{where}: torch {torch.__version__} has no operator '{name}'{hint}; correct or remove it"


def reached_overloads(overload: str) -> tuple[str, ...]:
    """Return the overloads whose device kernels run when an overload is called: itself, or the out variant it calls.

    PyTorch makes ``add.Tensor`` and ``add_.Tensor`` of ``add.out`` where a backend has no kernel for them. The result
    is empty for an operator that is made of other operators.
    """
    if has_kernel(overload, DEVICE_KEY) or not any(has_kernel(overload, key) for key in _COMPOSITE_KEYS):
        return (overload,)
    mine = schema_of(overload).arguments
    functional = operator_of(overload).removesuffix("_")
    delegates = []
    for other in overloads_by_operator().get(functional, ()):
        theirs = schema_of(other).arguments
        inputs = [a for a in theirs if not a.is_out]
        writes = len(theirs) > len(inputs)
        if writes and has_kernel(other, "CPU") and [str(a.type) for a in inputs] == [str(a.type) for a in mine]:
            delegates.append(other)
    return tuple(delegates)
