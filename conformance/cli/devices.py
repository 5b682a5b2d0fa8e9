"""``conformance devices``: which devices can be tested here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDEST = 200  # characters of a reason in the table; the JSON has all of it
_LIMIT_S = 300  # loading the emulated device may compile it first


@click.command("devices")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--load", is_flag=True, help="Import torch and load each device found, in a process of its own: slower, exact."
)
def command(form: str, load: bool) -> None:
    """List the devices that have an adapter: found or not and why, version, number, fork-safe or not, probe.

    Neither torch nor a backend is imported, unless --load is given. The harness's variables are checked as well.
    """
    import json
    import sys

    from conformance.devices import known_devices
    from conformance.devices.variables import check_variables, misspelt_variables

    check_variables()
    for line in misspelt_variables():
        click.echo(f"conformance: warning: {line}", err=True)
    rows = [_row(name) for name in known_devices()]
    for row in rows:
        if load and row["found"]:
            row.update(_loaded(row["device"]))
        row["why"] = " ".join(row["why"].split())  # a compiler's complaint has many lines
    if form == "json":
        sys.stdout.write(json.dumps({"schema": 1, "devices": rows}, indent=1, sort_keys=True) + "\n")
    else:
        sys.stdout.writelines(line + "\n" for line in _table(rows))


def _row(name: str) -> dict[str, Any]:
    from conformance.devices import adapter_for
    from conformance.errors import InfrastructureError

    row: dict[str, Any] = {"device": name, "here": "no", "found": False, "emulated": False, "why": "", "version": None}
    row |= {"count": None, "probe": None, "fork_safe": None, "fork_note": "", "summary": ""}
    try:
        adapter = adapter_for(name)
    except InfrastructureError as error:
        return row | {"here": "broken", "why": str(error)}
    row |= {"fork_safe": adapter.fork_safe, "fork_note": adapter.fork_note, "summary": adapter.summary}
    try:
        seen, probe = adapter.look(), adapter.fallback_note
    except InfrastructureError as error:
        return row | {"why": str(error)}
    return row | {
        "here": "emulated" if seen.emulated else "present" if seen.found else "no",
        "found": seen.found,
        "emulated": seen.emulated,
        "why": seen.why,
        "version": seen.version or None,
        "count": seen.count,
        "probe": probe,
    }


def _loaded(name: str) -> dict[str, Any]:
    """Ask torch about a device, in a process of its own: what it initialises or crashes ends with it."""
    import json
    import os
    import subprocess
    import sys

    code = "import sys; from conformance.cli.devices import tell; tell(sys.argv[1])"
    environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, name], capture_output=True, text=True, timeout=_LIMIT_S, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"here": "no", "found": False, "why": f"loading it took more than {_LIMIT_S} s"}
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        told: dict[str, Any] = json.loads(lines[-1])
        return told
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "it said nothing")
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    return {"here": "broken", "found": False, "why": f"loading it ended with {how}: {last.strip()}"}


def tell(name: str) -> None:
    """Load a device in this process and print what torch says about it as one line of JSON."""
    import json

    from conformance.devices import adapter_for
    from conformance.errors import ConformanceError
    from conformance.probes import probe_for

    told: dict[str, Any]
    try:
        adapter = adapter_for(name)
        adapter.prepare()
        adapter.load()
        described = adapter.describe()
        versions = "".join(f", {what} {version}" for what, version in described.versions)
        told = {
            "why": f"{described.device_name}{versions}",
            "version": described.backend_version,
            "probe": probe_for(adapter).name or "none",
            "used_by_loading": adapter.is_initialized(),
            "count": adapter.device_count(),  # last: it may initialise the device
        }
    except ConformanceError as error:
        told = {"here": "no", "found": False, "why": str(error)}
    print("\n" + json.dumps(told))


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    head = ("device", "here", "version", "count", "fork", "fallbacks seen by", "what was found")
    cells = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in cells
    ]


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["device"],
        row["here"],
        row["version"] or "-",
        "?" if row["count"] is None and row["found"] else str(row["count"] or "-"),
        {True: "safe", False: "unsafe", None: "-"}[row["fork_safe"]],
        (row["probe"] or "-") if row["found"] else "-",
        row["why"] if len(row["why"]) <= _WIDEST else f"{row['why'][:_WIDEST]} ...",
    )
