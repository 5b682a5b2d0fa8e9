"""``conformance devices``: which devices can be tested here."""

from __future__ import annotations

import click


@click.command("devices")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(form: str) -> None:
    """List the devices that have an adapter, and what stands behind each on this machine."""
    import json
    import sys

    from conformance.devices import adapter_for, known_devices
    from conformance.errors import ConformanceError

    rows = []
    for name in known_devices():
        try:
            adapter = adapter_for(name)
            rows.append({"device": name, "here": adapter.presence(), "summary": adapter.summary})
        except ConformanceError as error:
            rows.append({"device": name, "here": f"broken: {error}", "summary": ""})
    if form == "json":
        sys.stdout.write(json.dumps({"schema": 1, "devices": rows}, indent=1, sort_keys=True) + "\n")
        return
    width = max((len(row["device"]) for row in rows), default=0)
    here = max((len(row["here"]) for row in rows), default=0)
    for row in rows:
        sys.stdout.write(f"{row['device']:<{width}}  {row['here']:<{here}}  {row['summary']}".rstrip() + "\n")
