"""The names of PyTorch's dtypes, which skiplists can be checked against without importing torch."""

from __future__ import annotations

import re

# torch.dtype of 2.6 to 2.14, without aliases (torch.half, torch.cfloat).
_NAMES = """
bool
uint1 uint2 uint3 uint4 uint5 uint6 uint7 uint8 uint16 uint32 uint64
int1 int2 int3 int4 int5 int6 int7 int8 int16 int32 int64
float16 float32 float64 bfloat16
float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2
complex32 complex64 complex128
qint8 qint32 quint8 quint2x4 quint4x2
bits8 bits16 bits1x8 bits2x4 bits4x2
"""
DTYPES = frozenset(_NAMES.split())

_ALTERNATIVES = "|".join(sorted(DTYPES, key=len, reverse=True))
DTYPES_SUFFIX = rf"(?:_(?:{_ALTERNATIVES}))"
_LAST = re.compile(rf"_({_ALTERNATIVES})$")


def dtype_at_end(name: str) -> str | None:
    """Return the dtype that a test's name ends with.

    This is how PyTorch builds names (common_device_type.py, ``instantiate_test``), but a name that only happens to
    end so cannot be told from one: where a run knows the dtype of the test, that is to be taken.
    """
    found = _LAST.search(name)
    return found[1] if found else None
