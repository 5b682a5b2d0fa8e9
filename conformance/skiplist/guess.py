"""Guess the cause of a failure from its text; the guess is marked as one wherever it goes."""

from __future__ import annotations

import re

from conformance.skiplist.vocabulary import Category, Expectation

# What a text says, from the surest sign to the vaguest: the first that is found counts.
_SIGNS: tuple[tuple[re.Pattern[str], Category], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), category)
    for pattern, category in (
        # torch/_ops, c10: out of memory has a class and a text of its own
        (r"out of memory|OutOfMemoryError|cannot allocate memory", Category.MEMORY),
        # A layout or a dtype is named beside "not implemented" too, and says more than that.
        (
            r"sparse|nested tensor|memory format|channels_last|strided layout|non-contiguous",
            Category.UNSUPPORTED_LAYOUT,
        ),
        (r"complex|float8|dtype|data type|ScalarType|not implemented for '\w+'", Category.UNSUPPORTED_DTYPE),
        # aten/src/ATen/core/dispatch/OperatorEntry.cpp:reportError
        (r"could not run '|NotImplementedError|not (?:currently )?implemented|no kernel", Category.UNSUPPORTED_OP),
        (r"compil(?:er|ation|e failed)|lowering|neuronx-cc|NEFF", Category.COMPILER),
        # torch/testing/_comparison.py
        (r"are not close|are not equal|mismatched elements|scalars are not", Category.WRONG_RESULT),
        # torch/testing/_internal/common_utils.py:assertRaisesRegex, unittest
        (r"not raised|does not match|did not raise", Category.ERROR_TEXT),
        (r"no module named|not installed|connection|no such file", Category.ENVIRONMENT),
        (r"cuda|gpu|devices? (?:available|required)|device index", Category.TEST_ASSUMPTION),
    )
)

_RELATIVE = re.compile(r"Greatest relative difference: ([-+.\deE]+)")
_ROUNDING = 1e-2


def guess_category(expect: Expectation, text: str) -> Category:
    """Return the likeliest cause of failures with such a text, ``unknown`` where nothing in it tells.

    ``text`` is a message with its numbers, not a signature: how far a result is off tells rounding from mistakes.
    """
    match expect:
        case Expectation.TIMEOUT:
            return Category.SLOW
        case Expectation.FALLBACK:
            return Category.NOT_NATIVE
        case Expectation.SKIP:
            return Category.MEMORY
        case Expectation.CRASH:
            return Category.RUNTIME
        case Expectation.FAIL | Expectation.FLAKY:
            return _of_text(text)


def _of_text(text: str) -> Category:
    for sign, category in _SIGNS:
        if sign.search(text):
            if category is Category.WRONG_RESULT and _is_rounding(text):
                return Category.PRECISION
            return category
    return Category.UNKNOWN


def _is_rounding(text: str) -> bool:
    found = _RELATIVE.search(text)
    try:
        return found is not None and float(found[1]) < _ROUNDING
    except ValueError:
        return False
