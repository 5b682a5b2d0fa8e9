"""Find the adapter for a device."""

from __future__ import annotations

import contextlib
import re
from importlib.metadata import EntryPoint, entry_points

from conformance.devices.adapter import DeviceAdapter
from conformance.devices.installed import is_importable
from conformance.devices.private_use import adapter_by_convention
from conformance.errors import ConformanceError, InfrastructureError, UsageError

_GROUP = "conformance.devices"
_BACKENDS = "torch.backends"  # where PyTorch itself looks for backends to load
_OURS = "conformance.devices."
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _entries() -> dict[str, EntryPoint]:
    """Return device -> entry point; an adapter of another package goes before the one that comes with the harness."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=_GROUP), key=lambda entry: (entry.name, entry.value)):
        other = found.get(entry.name)
        if other is None or other.value.startswith(_OURS):
            found[entry.name] = entry
        elif not entry.value.startswith(_OURS) and entry.value != other.value:
            raise UsageError(
                "two-adapters",
                f"two packages bring an adapter for '{entry.name}': {other.value} and {entry.value}; uninstall one",
            )
    return found


def known_devices() -> list[str]:
    """Return the devices that have an adapter here, sorted by name: registered ones, and installed backends."""
    return sorted({*_entries(), *_installed_backends()})


def _installed_backends() -> dict[str, str]:
    """Return device -> module for backends that PyTorch would load and that no registered adapter is for."""
    found = {}
    for entry in entry_points(group=_BACKENDS):
        module = entry.value.partition(":")[0]
        device = module.partition(".")[0].removeprefix("torch_")
        if _NAME.fullmatch(device):
            found[device] = module
    if found:
        claimed = _claimed_packages()
        found = {device: module for device, module in found.items() if module.partition(".")[0] not in claimed}
    return found


def _claimed_packages() -> set[str]:
    claimed: set[str] = set()
    for name in _entries():
        with contextlib.suppress(ConformanceError):  # a broken adapter is reported when its device is asked for
            claimed.update(adapter_for(name).packages)
    return claimed


def adapter_for(device: str) -> DeviceAdapter:
    """Return the adapter for ``device`` (a torch device type); neither torch nor the backend is imported.

    A registered adapter is taken first, then an installed backend: one that PyTorch would load by itself, or a package
    called ``torch_<device>``. Raises ``UsageError`` for an unknown device, ``InfrastructureError`` where its adapter
    cannot be imported.
    """
    entries = _entries()
    if device in entries:
        return _registered(entries[device])
    if _NAME.fullmatch(device):
        module = _installed_backends().get(device)
        if module is None and is_importable(f"torch_{device}") and f"torch_{device}" not in _claimed_packages():
            module = f"torch_{device}"
        if module is not None:
            return adapter_by_convention(device, module)
    raise UsageError(
        "unknown-device",
        f"unknown device '{device}': no adapter, and no package torch_{device} is installed; "
        f"devices with an adapter here: {', '.join(known_devices()) or 'none'}",
    )


def _registered(entry: EntryPoint) -> DeviceAdapter:
    try:
        adapter = entry.load()
    except (Exception, SystemExit) as error:
        raise InfrastructureError(
            "broken-adapter",
            f"the adapter for '{entry.name}' ({entry.value}) cannot be imported: {type(error).__name__}: {error}",
        ) from error
    if not isinstance(adapter, DeviceAdapter):
        raise InfrastructureError(
            "broken-adapter",
            f"the adapter for '{entry.name}' ({entry.value}) is a {type(adapter).__name__}, "
            "not a DeviceAdapter instance",
        )
    if adapter.device != entry.name:
        raise InfrastructureError(
            "broken-adapter",
            f"the adapter for '{entry.name}' ({entry.value}) says that it is for '{adapter.device}'; the entry point "
            "must have the name of the device",
        )
    return adapter
