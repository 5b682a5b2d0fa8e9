"""Choose how fallbacks are seen."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from conformance.devices import DeviceAdapter
from conformance.errors import InfrastructureError, UsageError
from conformance.probes.observer import ObserverProbe
from conformance.probes.probe import CounterProbe, Probe
from conformance.probes.profiler import ProfilerProbe

PROBES = ("auto", "backend", "observer", "profiler", "none")


def probe_for(adapter: DeviceAdapter, choice: str = "auto") -> Probe:
    """Return the probe of that name for a device whose adapter has been loaded; ``auto`` takes the best there is.

    The best is the backend's own account, then the observer, then the profiler, then none: what a better one lacks is
    the probe's ``note``. Raises ``UsageError`` for an unknown name or an account that the backend does not keep, and
    ``InfrastructureError`` where the named probe cannot be had on this machine.
    """
    match choice:
        case "auto":
            return _best(adapter)
        case "backend":
            probe = _backend_account(adapter)
            if probe is None:
                raise UsageError(
                    "no-backend-account",
                    f"the backend of '{adapter.device}' keeps no account of its fallbacks; use the probe 'observer'",
                )
            return probe
        case "observer":
            return ObserverProbe()
        case "profiler":
            return ProfilerProbe()
        case "none":
            return Probe()
        case _:
            near = difflib.get_close_matches(choice, PROBES, n=1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            raise UsageError("unknown-probe", f"there is no probe '{choice}'{hint}; give one of {', '.join(PROBES)}")


def _backend_account(adapter: DeviceAdapter) -> Probe | None:
    take = adapter.fallback_counter()
    return None if take is None else CounterProbe(take, name=adapter.fallback_counter_name)


def _best(adapter: DeviceAdapter) -> Probe:
    own = _backend_account(adapter)
    if own is not None:
        return own
    makers: tuple[Callable[[], Probe], ...] = (ObserverProbe, ProfilerProbe)
    missing: list[str] = []
    for make in makers:
        try:
            probe = make()
        except InfrastructureError as error:
            missing.append(str(error).partition("\n")[0])
        else:
            probe.note = "; ".join(missing)
            return probe
    none = Probe()
    none.note = "; ".join(missing)
    return none
