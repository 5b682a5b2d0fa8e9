"""How a fallback to the CPU is seen while a test runs."""

from __future__ import annotations

from conformance.probes.probe import CounterProbe, Probe, probe_for
from conformance.probes.window import current_probe, operator_window, watch_with

__all__ = ["CounterProbe", "Probe", "current_probe", "operator_window", "probe_for", "watch_with"]
