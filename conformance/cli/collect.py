"""``conformance collect``: list the tests that a run would plan."""

from __future__ import annotations

from typing import Any

import click

from conformance.cli.selecting import selecting


@click.command("collect")
@selecting
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    device: str,
    form: str,
    **choice: Any,
) -> None:
    """List the ids of the tests that `run` with the same options would plan, without running any."""
    import sys

    from conformance.cli.collector import Collector
    from conformance.cli.hosting import host_pytest
    from conformance.cli.selecting import pytest_arguments
    from conformance.devices import adapter_for

    adapter_for(device)
    arguments = pytest_arguments(device=device, **choice)
    collector = Collector("conformance collect")
    host_pytest([*arguments, "--collect-only"], collector)
    if form == "json":
        import json

        sys.stdout.write(json.dumps(collector.as_json(device), indent=1, sort_keys=True) + "\n")
    else:
        sys.stdout.writelines(_one_line(test.identity.test_id) + "\n" for test in collector.tests)
    for message in collector.broken:
        click.echo(f"conformance: cannot collect {message}", err=True)
    click.echo(f"{len(collector.tests)} tests", err=True)
    if not collector.tests and not collector.broken:
        from conformance.errors import UsageError

        raise UsageError("nothing-to-run", "the selection matches no test")
    sys.exit(1 if collector.broken else 0)


def _one_line(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
