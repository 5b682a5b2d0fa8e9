"""What of a failure's message a report shows."""

from __future__ import annotations

import re

from conformance.analysis.signature import signature as signature_of

# conformance/suites/account.py ends a message so; a report has lines of their own for it.
_SAMPLES = re.compile(r"^\d+ of \d+ samples passed; the first failure: ")
_COMPARED = 200

# aten/src/ATen/core/dispatch/OperatorEntry.cpp:reportError goes on with a list of all backends.
_ADVICE = " This could be because the operator doesn't exist for this backend"


def telling_lines(message: str) -> list[str]:
    """Return the lines of the first paragraph, and of the next where the first only announces it.

    torch.testing.assert_close writes ``Tensor-likes are not close!`` in a paragraph of its own, before the numbers. How
    many samples passed is left out, and so is the dispatcher's general advice.
    """
    paragraphs = [lines for part in re.split(r"\n[ \t]*\n", message) if (lines := _lines(part))]
    if len(paragraphs) > 1:
        paragraphs = [lines for lines in paragraphs if not _SAMPLES.match(lines[0])]
    told: list[str] = []
    for lines in paragraphs:
        told += lines
        if len(lines) > 1 or not lines[0].endswith(("!", ":")):
            break
    return told


def _lines(text: str) -> list[str]:
    return [" ".join(line.partition(_ADVICE)[0].split()) for line in text.splitlines() if line.strip()]


def has_own_cause(signature: str, message: str) -> bool:
    """Tell whether the signature says more than the message it stands for, and so is worth a line."""
    return bool(signature) and signature_of(message)[:_COMPARED] != signature[:_COMPARED]


def sample_line(sample: str, samples: int | None, samples_passed: int | None) -> str:
    """Return how many samples passed and which was the first that did not; empty where the test counts none."""
    if not samples or samples_passed is None:
        return sample
    return f"{samples_passed} of {samples} passed; first failure: {sample}" if sample else ""
