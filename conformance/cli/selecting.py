"""Options that several commands share: what to run, on which device."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])

DB_OPTION = click.option(
    "--db",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar="CONFORMANCE_DB",
    default="conformance.sqlite",
    show_default=True,
    help="SQLite file; the variable CONFORMANCE_DB sets another default.",
)


def selecting(function: _F) -> _F:
    """Add the arguments and options that choose tests."""
    for decorate in reversed(
        (
            click.argument("sources", metavar="[SUITE|FILE]...", nargs=-1),
            click.option("--device", metavar="DEVICE", required=True, help="Device type: neuron, cpu, ..."),
            click.option("--ops", metavar="GLOB,..", help="Built-in suites: only these operators or modules."),
            click.option(
                "--dtypes",
                metavar="DTYPE,..",
                help="Built-in suites: these dtypes; 'all': those an operator declares; 'one': float32 or its first.",
            ),
            click.option(
                "--templates", metavar="NAME,..", help="Built-in suites: only these, such as forward; docs/suites.md."
            ),
            click.option("--test", "tests", metavar="TEST_ID", multiple=True, help="Only this test; may be repeated."),
            click.option("-k", "keyword", metavar="EXPR", help="Only tests whose names match, as in pytest."),
        )
    ):
        function = decorate(function)
    return function


def pytest_arguments(
    sources: Sequence[str],
    *,
    device: str,
    ops: str | None,
    dtypes: str | None,
    templates: str | None,
    tests: Sequence[str],
    keyword: str | None,
) -> list[str]:
    """Return the arguments for pytest; names of suites become their files, no sources mean every built-in suite.

    Raises ``UsageError`` for a source that is neither a suite nor a file. Configuration files, conftests and plugins
    of the folder that the command is called in stay out: a run must not depend on where it was started.
    """
    from conformance.errors import UsageError
    from conformance.suites import SUITE_FILES

    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageError("no-folder", "the folder this was started in no longer exists; cd to another") from None
    files = []
    for source in sources or tuple(SUITE_FILES):
        path = source.partition("::")[0]
        if source in SUITE_FILES:
            files.append(str(SUITE_FILES[source]))
        elif path and Path(path).exists():
            files.append(str(here / source))
        else:
            raise UsageError(
                "unknown-suite", f"'{source}' is neither a suite ({', '.join(SUITE_FILES)}) nor a file that exists here"
            )
    # Ids of local tests are relative to the folder that the command is called in, as pytest's are in a project's.
    root = here if all(Path(file.partition("::")[0]).is_relative_to(here) for file in files) else _common(files)
    arguments = [*files, "-c", "/dev/null", f"--rootdir={root}", "--noconftest", "--continue-on-collection-errors"]
    # A short traceback: a long one shows arguments, and asking a sick device for a tensor's values may hang.
    arguments += ["--tb=short", "-p", "no:cacheprovider", "-p", "conformance.plugin", f"--conformance-device={device}"]
    for name, value in (("ops", ops), ("dtypes", dtypes), ("templates", templates)):
        if value is not None:
            arguments.append(f"--conformance-{name}={value}")
    arguments.extend(f"--conformance-test={test}" for test in tests)
    if keyword:
        arguments += ["-k", keyword]
    return arguments


def _common(files: Sequence[str]) -> str:
    paths = [Path(file.partition("::")[0]) for file in files]
    return os.path.commonpath([path if path.is_dir() else path.parent for path in paths])
