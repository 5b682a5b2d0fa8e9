"""Arguments and options that the commands of ``conformance skiplist`` share, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from datetime import date, datetime

    from conformance.skiplist.conditions import Context
    from conformance.skiplist.known import Known

_F = TypeVar("_F", bound=Callable[..., Any])

# Spelt out, so that --help and completion import nothing; a test holds them against the enums.
BY = ("category", "expect", "owner", "age", "op", "dtype", "file", "class")

EXPECTATIONS = ("skip", "fail", "crash", "timeout", "fallback", "flaky")

CATEGORIES = (
    *("unsupported-op", "unsupported-dtype", "unsupported-layout", "unsupported-feature", "wrong-result", "precision"),
    *("randomness", "error-text", "compiler", "runtime", "memory", "slow", "not-native", "test-assumption"),
    *("environment", "upstream-bug", "harness-bug", "unknown"),
)

IMPORTS = ("disabled-tests", "neuron-spec", "xpu-dict", "array-api", "spyre-yaml", "deselect")

EXPORTS = ("disabled-tests", "test-exclusions")

PATHS = click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
DEVICE = click.option("--device", metavar="DEVICE", help="The lists that come with the harness for this device.")
TODAY = click.option(
    "--today",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Judge ages and last days as of this day (UTC); the default is the present one.",
)


def run_options(function: _F) -> _F:
    """Add the options that hold a list against a run."""
    for decorate in (
        click.option(
            "--run",
            "selector",
            metavar="SELECTOR",
            help="Hold the list against this run: latest, latest-complete, its number, or the start of its key.",
        ),
        click.option(
            "--db",
            metavar="FILE",
            type=click.Path(path_type=Path),
            envvar="CONFORMANCE_DB",
            default="conformance.sqlite",
            show_default=True,
            help="The database that --run is in; it is only read.",
        ),
    ):
        function = decorate(function)
    return function


def checked_device(device: str) -> str:
    """Return the name of a device type; raises UsageError (``unknown-device``) for what cannot be one."""
    from conformance.errors import UsageError

    if not device.isidentifier() or not device.isascii():
        raise UsageError("unknown-device", f"{device!r} is no name of a device type; give one such as neuron or npu")
    return device


def list_paths(paths: tuple[Path, ...], device: str | None) -> list[Path]:
    """Return the files and folders to read: those named, and those that come with the harness for the device."""
    from conformance.errors import UsageError
    from conformance.skiplist.load import skiplist_of_device

    every = list(paths)
    if device is not None:
        folder = skiplist_of_device(device)
        if folder is None:
            raise UsageError("skiplist-missing", f"no skiplist comes with the harness for the device '{device}'")
        every.append(folder)
    if not every:
        raise UsageError("skiplist-missing", "which skiplist? Name a TOML file, a folder of them, or --device")
    return every


def held_against(db: Path, selector: str | None, today: datetime | None) -> tuple[Known | None, Context]:
    """Return what a run knows, None without one, and the context in which conditions are judged."""
    from conformance.cli.skiplist_runs import context_of, known_of

    if selector is None:
        return None, context_of(None, day(today))
    known, run = known_of(db, selector)
    return known, context_of(run, day(today))


def day(today: datetime | None) -> date:
    """Return the day that was given, or the present one in UTC."""
    from datetime import datetime, timezone

    return (today or datetime.now(timezone.utc)).date()
