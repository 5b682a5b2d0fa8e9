"""Find the adapter for a device."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from conformance.devices.adapter import DeviceAdapter
from conformance.errors import InfrastructureError, UsageError

_GROUP = "conformance.devices"


def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=_GROUP)}


def known_devices() -> list[str]:
    """Return the devices that have an adapter here, sorted by name."""
    return sorted(_entries())


def adapter_for(device: str) -> DeviceAdapter:
    """Return the adapter for ``device`` (a torch device type); neither torch nor the backend is imported.

    Raises ``UsageError`` for an unknown device, ``InfrastructureError`` where its adapter cannot be imported.
    """
    entries = _entries()
    if device not in entries:
        raise UsageError(
            "unknown-device",
            f"unknown device '{device}'; devices with an adapter here: {', '.join(sorted(entries)) or 'none'}",
        )
    entry = entries[device]
    try:
        adapter = entry.load()
    except (Exception, SystemExit) as error:
        raise InfrastructureError(
            "broken-adapter",
            f"the adapter for '{device}' ({entry.value}) cannot be imported: {type(error).__name__}: {error}",
        ) from error
    if not isinstance(adapter, DeviceAdapter):
        raise InfrastructureError(
            "broken-adapter",
            f"the adapter for '{device}' ({entry.value}) is a {type(adapter).__name__}, not a DeviceAdapter instance",
        )
    return adapter
