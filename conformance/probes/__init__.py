"""How a fallback to the CPU is seen while a test runs."""

from __future__ import annotations

from conformance.probes.choose import PROBES, probe_for
from conformance.probes.not_a_fallback import NOT_A_FALLBACK
from conformance.probes.observer import ObserverProbe
from conformance.probes.probe import CounterProbe, Probe
from conformance.probes.profiler import ProfilerProbe
from conformance.probes.window import current_probe, operator_window, watch_with

__all__ = [
    "NOT_A_FALLBACK",
    "PROBES",
    "CounterProbe",
    "ObserverProbe",
    "Probe",
    "ProfilerProbe",
    "current_probe",
    "operator_window",
    "probe_for",
    "watch_with",
]
