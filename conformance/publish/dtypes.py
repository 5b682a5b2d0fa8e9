"""The order in which dtypes are shown: the ones that models use most come first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


# So many columns of dtypes fit beside the others in a window of 1280 px.
_COLUMNS = 12
_RARE = 4


def rare_dtypes(declared: Sequence[Iterable[str]]) -> frozenset[str]:
    """Return the dtypes of fewer than a quarter of the operators or modules, where all dtypes need too much room.

    ``declared`` has the dtypes of one operator or module each.
    """
    counts = Counter(dtype for dtypes in declared for dtype in set(dtypes))
    if len(counts) <= _COLUMNS:
        return frozenset()
    return frozenset(dtype for dtype, count in counts.items() if count * _RARE < len(declared))
