"""Which dynamo backend torch.compile is given for a device."""

from __future__ import annotations

import difflib
import os

from conformance.devices.adapter import DeviceAdapter
from conformance.devices.loading import import_torch
from conformance.errors import UsageError

VARIABLE = "CONFORMANCE_COMPILE_BACKEND"


def compile_backend(adapter: DeviceAdapter) -> str:
    """Return the name of the backend: what the user has set, else the adapter's; empty where none is known."""
    return os.environ.get(VARIABLE, "").strip() or adapter.compile_backend


def why_not_compiled(adapter: DeviceAdapter) -> str:
    """Return why nothing can be compiled for a device that has been loaded, empty where it can.

    Imports dynamo. Raises UsageError (``unknown-compile-backend``) where the user has named a backend that does not
    exist: every test would fail alike.
    """
    import_torch()
    import torch._dynamo

    # Older torch versions know a newer Python, but their dynamo does not; the question can be asked since torch 2.0.
    asked = getattr(torch._dynamo, "is_dynamo_supported", None)
    if asked is not None and not asked():
        return "torch.compile of this torch does not work on this Python or system"
    name = compile_backend(adapter)
    if not name:
        return f"no backend of torch.compile is known for the device '{adapter.device}'; {VARIABLE} can name one"
    known = sorted(torch._dynamo.list_backends(exclude_tags=()))
    if name in known:
        return ""
    if not os.environ.get(VARIABLE, "").strip():
        return f"torch.compile has no backend '{name}' here, which is that of the device '{adapter.device}'"
    near = difflib.get_close_matches(name, known, n=3) or known
    raise UsageError("unknown-compile-backend", f"{VARIABLE}={name}: there is no such backend; {', '.join(near)} are")
