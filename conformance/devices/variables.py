"""Check the variables of the harness itself, so that a typing error is found before a run."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from conformance.devices.compiling import VARIABLE as COMPILE_BACKEND
from conformance.devices.neuron import CHOICE, CHOICES
from conformance.errors import UsageError

_PREFIX = "CONFORMANCE_"
_KNOWN = (
    "CONFORMANCE_CACHE",
    COMPILE_BACKEND,
    "CONFORMANCE_DB",
    CHOICE,
    "CONFORMANCE_NEURON_DEVICES",
    "CONFORMANCE_NEURON_FAULTS",
    "CONFORMANCE_NEURON_PROFILE",
)


def check_variables() -> None:
    """Raise ``UsageError`` for a variable whose value the harness would refuse later; torch is not imported.

    Operator names in faults and profiles are checked when the device is loaded: only torch knows them.
    """
    from conformance.emulator.faults import faults_from_environment
    from conformance.emulator.profile import find_profile, read_profile

    choice = os.environ.get(CHOICE, "auto")
    if choice not in CHOICES:
        raise UsageError("bad-variable", f"{CHOICE}={choice!r} is not one of {', '.join(CHOICES)}")
    devices = os.environ.get("CONFORMANCE_NEURON_DEVICES", "2")
    if not devices.isdecimal() or not 1 <= int(devices) <= 64:
        raise UsageError(
            "bad-devices", f"CONFORMANCE_NEURON_DEVICES is {devices!r}: give a number of devices from 1 to 64"
        )
    faults_from_environment()
    read_profile(find_profile())
    database = os.environ.get("CONFORMANCE_DB", "")
    if database and Path(database).is_dir():
        raise UsageError("bad-variable", f"CONFORMANCE_DB={database!r} is a folder; name a file")
    cache = os.environ.get("CONFORMANCE_CACHE", "")
    if cache and Path(cache).expanduser().exists() and not Path(cache).expanduser().is_dir():
        raise UsageError("bad-variable", f"CONFORMANCE_CACHE={cache!r} is a file; name a folder")


def misspelt_variables() -> list[str]:
    """Return a line for each variable whose name is nearly, but not quite, one of the harness's."""
    lines = []
    for name in sorted(os.environ):
        near = difflib.get_close_matches(name, _KNOWN, n=1, cutoff=0.85)
        if name.startswith(_PREFIX) and name not in _KNOWN and near:
            lines.append(f"{name} is no variable of this harness; do you mean {near[0]}?")
    return lines
