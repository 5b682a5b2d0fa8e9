"""Divide the devices of a machine among workers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from conformance.errors import InfrastructureError, UsageError


def visible_devices(text: str, *, variable: str) -> list[str]:
    """Return the entries of a list such as ``0-3,7`` or ``GPU-8a3f,GPU-11b2``, ranges written out.

    Raises ``UsageError`` for a range that runs backwards.
    """
    entries: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        found = re.fullmatch(r"(\d+)-(\d+)", part)
        if found is None:
            entries += [part] if part else []
            continue
        first, last = int(found[1]), int(found[2])
        if last < first:
            raise UsageError(
                "bad-variable", f"{variable}={text!r}: the range {part} runs backwards; write {last}-{first}"
            )
        entries += [str(number) for number in range(first, last + 1)]
    return entries


def shared_slice(devices: Sequence[str], *, worker: int, workers: int) -> list[str]:
    """Return the devices for one worker; where there are fewer devices than workers, several share one."""
    if not devices:
        return []
    if len(devices) < workers:
        return [devices[worker % len(devices)]]
    return list(devices[worker * len(devices) // workers : (worker + 1) * len(devices) // workers])


def exclusive_slice(devices: Sequence[str], *, worker: int, workers: int, what: str) -> list[str]:
    """Return the devices for one worker, none of which another worker gets.

    Raises ``InfrastructureError`` where there are fewer devices than workers.
    """
    if len(devices) < workers:
        raise InfrastructureError(
            "too-many-workers",
            f"{workers} workers, but only {len(devices)} {what}, and each belongs to one process at a time; "
            f"give --workers {max(len(devices), 1)} or fewer",
        )
    return shared_slice(devices, worker=worker, workers=workers)
