"""The order in which dtypes are shown: the ones that models use most come first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ORDER = (
    "float32",
    "bfloat16",
    "float16",
    "float64",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
    "complex32",
)
_PLACES = {dtype: place for place, dtype in enumerate(_ORDER)}

NO_DTYPE = "no dtype"


def in_dtype_order(dtypes: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct dtypes in the order of the pages: rare ones follow by name, what has no dtype is last."""
    return tuple(sorted(set(dtypes), key=lambda dtype: (dtype == NO_DTYPE, _PLACES.get(dtype, len(_ORDER)), dtype)))
