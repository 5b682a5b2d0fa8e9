"""Host pytest inside a command: no output of its own, no plugins of the user's, an exit code of ours."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from conformance.engine.bridge import Bridge
from conformance.errors import InfrastructureError, UsageError


@contextlib.contextmanager
def real_stream(descriptor: int) -> Iterator[TextIO]:
    """Open stdout (1) or stderr (2) again, so that it can be written while pytest captures it."""
    stream = os.fdopen(os.dup(descriptor), "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    try:
        yield stream
    finally:
        with contextlib.suppress(OSError):  # what could not be written to a full disk is in its buffer still
            stream.close()


@contextlib.contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Send what is printed to stdout to stderr: torch and test files print when imported, stdout is for the answer."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def host_pytest(arguments: Sequence[str], bridge: Bridge) -> int:
    """Run pytest in this process and return its exit code; raise the error that ended it, if one did.

    ``KeyboardInterrupt`` is raised again, after pytest has closed the run.
    """
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import pytest

    with _quiet_stdout():
        code = int(pytest.main(list(arguments), plugins=[bridge]))
    if bridge.error is not None:
        raise bridge.error
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if code == pytest.ExitCode.USAGE_ERROR:
        raise UsageError("pytest-usage", "pytest refused its arguments; its message stands above")
    if code == pytest.ExitCode.INTERNAL_ERROR:
        raise InfrastructureError("pytest-internal", "pytest failed with an internal error; its message stands above")
    return code
