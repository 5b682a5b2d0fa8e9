"""Keep a test file from ending the process that imports it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, NoReturn


class Exited(SystemExit):
    """A file called ``os._exit``."""


@contextlib.contextmanager
def no_exit() -> Iterator[None]:
    """Let ``os._exit`` raise ``Exited`` in this process; children that are forked meanwhile end as they mean to."""
    real, owner = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != owner:
            real(status)
        raise Exited(status)

    patched: Any = os
    patched._exit = refuse
    try:
        yield
    finally:
        patched._exit = real
