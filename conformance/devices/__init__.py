"""Adapters, one for each backend, found by the entry-point group ``conformance.devices``."""

from __future__ import annotations

from conformance.devices.adapter import DeviceAdapter, DeviceDescription, Presence
from conformance.devices.registry import adapter_for, known_devices

__all__ = ["DeviceAdapter", "DeviceDescription", "Presence", "adapter_for", "known_devices"]
