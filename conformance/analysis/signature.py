"""Normalise failure texts, so that failures with one cause have one signature."""

from __future__ import annotations

import re

LENGTH_LIMIT = 400

# What comes later in a text never reaches the signature, and some patterns take long over very long words.
INPUT_LIMIT = 8192

# What follows these words names the one test at hand or lists what the build has; the cause stands before them.
_TAILS = (
    # torch/testing/_internal/common_utils.py:TestCase.run, the line on how to run the test again
    "To execute this test, run the following",
    "This message can be suppressed by setting PYTORCH_PRINT_REPRO_ON_FAILURE",
    # aten/src/ATen/core/dispatch/OperatorEntry.cpp:reportError
    "This could be because the operator doesn't exist for this backend",
    # torch/_dynamo/exc.py, behind what a backend or dynamo itself raised
    "Set TORCHDYNAMO_VERBOSE=",
    # torch/_subclasses, torch/_library: where a registration was made
    "Exception raised from",
)

# torch/testing/_internal/common_device_type.py and common_modules.py wrap what a sample raised in such a line; the
# sample's repr may hold brackets of any depth, but no line break.
_SAMPLE = re.compile(r"\b(?:\w+: )?Caused by (?:sample|module|reference|error) input at index \d+: [^\n]*")

# conformance/suites/account.py adds which sample failed first and how many others passed.
_SAMPLES = re.compile(r"\s\d+ of \d+ samples passed; the first failure: .*", re.DOTALL)

# torch/autograd/gradcheck.py:_get_notallclose_msg, the two Jacobians follow, of any number of lines.
_JACOBIANS = re.compile(
    r"(Jacobian [\w ]*mismatch for output \d+ with respect to input \d+),\s*numerical:.*", re.DOTALL
)

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
# A long number with an exponent, such as 3.0870166e-07, holds a letter too, but is no hash.
_HASH = re.compile(r"(?<![\w.])(?!\d+e[-+]?\d*\b)(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b")
_PATH = re.compile(
    r"(?<![\w/.:<])(?:\.{1,2}|~)?(?:/[\w.+@%-]+)+/?|(?<![\w/.:<+-])[A-Za-z][\w.+-]*(?:/[\w.+-]+)+\.\w+\b"
)
_SOURCE = re.compile(r"\.(?:py|pyx|c|cc|cpp|cxx|cu|h|hpp|cuh|mm)$")
_TEMPORARY = ("/tmp", "/var/tmp", "/var/folders", "/private", "/dev/shm")

_DIMENSIONS = re.compile(r"(?<![\w.])\d+(?:x\d+)+(?!\w)")
# Which signal, or which exit code, is the cause itself.
_KEPT = r"(?<!signal )(?<!exit code )(?<!exited with code )"
_SIGN = r"(?:(?<![\w.)\]])[-+])?(?<![\w.])"
_UNIT = r"(?=(?:[munµ]?s|min|h|[kKMGT]i?B|B)?(?!\w))"
_NUMBER = re.compile(rf"{_KEPT}{_SIGN}(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?j?{_UNIT}")
_NOT_FINITE = re.compile(r"(difference: |Expected |but got )[-+]?(?:nan|inf)(?!\w)")
_SEQUENCE = re.compile(r"([(\[])\s*N(?:,\s*N)*,?\s*([)\]])")
_EMPTY = re.compile(r"(index |[Ss]ize |[Ss]hape |[Ss]izes |[Ss]hapes |Size\()(?:\(\)|\[\])")
_SPACE = re.compile(r"\s+")


def signature(message: str) -> str:
    """Return the text without what differs between two failures of one cause.

    Numbers, percentages, shapes and indices become ``N`` (a shape of any length one ``(N)`` or ``[N]``), addresses
    ``ADDRESS``, hashes ``HASH``, paths ``PATH``, with the file's name kept for sources outside temporary folders.
    Names of operators, dtypes, devices (without their index) and exceptions stay. The result is one line of at most
    400 characters; it is its own signature.
    """
    text = _ANSI.sub("", message[:INPUT_LIMIT])
    for tail in _TAILS:
        text = text.partition(tail)[0]
    text = _SAMPLES.sub("", text)
    text = _SAMPLE.sub("", text) if _SAMPLE.sub("", text).strip() else text
    text = _JACOBIANS.sub(r"\1", text)
    text = _UUID.sub("HASH", text)
    text = _ADDRESS.sub("ADDRESS", text)
    text = _PATH.sub(_path, text)
    text = _HASH.sub("HASH", text)
    text = _DIMENSIONS.sub("N", text)
    text = _NUMBER.sub("N", text)
    text = _NOT_FINITE.sub(r"\1N", text)
    text = _SEQUENCE.sub(r"\1N\2", text)
    text = _EMPTY.sub(_shape, text)
    return _SPACE.sub(" ", text).strip()[:LENGTH_LIMIT].rstrip()


def _path(match: re.Match[str]) -> str:
    path = match.group().rstrip("/")
    if not _SOURCE.search(path) or path.startswith(_TEMPORARY):
        return "PATH" if path.startswith(("/", ".", "~")) else match.group()
    return path.rpartition("/")[2]


def _shape(match: re.Match[str]) -> str:
    return match.group().replace("()", "(N)").replace("[]", "[N]")
