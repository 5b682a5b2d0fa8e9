"""Options that several commands share: what to run, on which device."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from conformance.suites.upstream import Checkout

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
                "--templates",
                metavar="NAME,..",
                help="Built-in suites: only these, such as forward; compile and compile_dynamic run only if named.",
            ),
            click.option("--test", "tests", metavar="TEST_ID", multiple=True, help="Only this test; may be repeated."),
            click.option("-k", "keyword", metavar="EXPR", help="Only tests whose names match, as in pytest."),
            click.option(
                "--upstream",
                metavar="DIR",
                type=click.Path(path_type=Path),
                help="PyTorch's test files, for the suite 'upstream'; default: what `conformance upstream fetch` made.",
            ),
            click.option("--slow", is_flag=True, help="Run the tests too that PyTorch marks as slow."),
            click.option(
                "--include-cuda-only",
                is_flag=True,
                help="Run tests too that PyTorch restricts to other devices, where the installed torch can lift that.",
            ),
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
    upstream: Path | None = None,
    slow: bool = False,
    include_cuda_only: bool = False,
    strict: bool = False,
) -> list[str]:
    """Return the arguments for pytest; names of suites become their files, no sources mean every built-in suite.

    ``upstream`` stands for the curated files of a checkout of PyTorch's tests; a file that does not exist here is
    looked for in that checkout too. Raises ``UsageError`` for a source that is neither a suite nor a file, and with
    ``strict`` for a checkout of another version than the installed torch.
    Configuration files, conftests and plugins of the folder that the command is called in stay out: a run must not
    depend on where it was started.
    """
    from conformance.errors import UsageError
    from conformance.suites import DEFAULT_SUITES, SUITE_FILES

    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageError("no-folder", "the folder this was started in no longer exists; cd to another") from None
    files = []
    checkout: Checkout | None = None
    for source in sources or (("upstream",) if upstream is not None else tuple(DEFAULT_SUITES)):
        path = source.partition("::")[0]
        if source in SUITE_FILES:
            files.append(str(SUITE_FILES[source]))
            continue
        if path and Path(path).exists():
            files.append(str(here / source))
            continue
        if source == "upstream" or path.endswith(".py"):
            checkout = checkout or _checkout(
                upstream, needed=source == "upstream" or upstream is not None, strict=strict
            )
        if checkout is not None and source == "upstream":
            from conformance.suites.upstream import curated_files

            files += [str(checkout.path(curated.file)) for curated in curated_files(checkout)]
        elif checkout is not None and checkout.path(path).is_file():
            files.append(str(checkout.root / source))
        else:
            suites = ", ".join((*SUITE_FILES, "upstream"))
            place = f" or in {checkout.root}" if checkout is not None else ""
            raise UsageError(
                "unknown-suite", f"'{source}' is neither a suite ({suites}) nor a file that exists here{place}"
            )
    # Ids of local tests are relative to the folder that the command is called in, as pytest's are in a project's.
    root = here if all(Path(file.partition("::")[0]).is_relative_to(here) for file in files) else _common(files)
    arguments = [*files, "-c", "/dev/null", "--noconftest", "--continue-on-collection-errors"]
    arguments += _for_checkouts(files) or [f"--rootdir={root}"]
    if slow:
        arguments.append("--conformance-slow")
    if include_cuda_only:
        arguments.append("--conformance-include-cuda-only")
    # Python's own traceback: for any other pytest parses the source of each frame of each failure, which takes longer
    # than the test; a long one also shows arguments, and asking a sick device for a tensor's values may hang.
    arguments += ["--tb=native", "-p", "no:cacheprovider", "-p", "conformance.plugin", f"--conformance-device={device}"]
    for name, value in (("ops", ops), ("dtypes", dtypes), ("templates", templates)):
        if value is not None:
            arguments.append(f"--conformance-{name}={value}")
    arguments.extend(f"--conformance-test={test}" for test in tests)
    if keyword:
        arguments += ["-k", keyword]
    return arguments


def _checkout(upstream: Path | None, *, needed: bool, strict: bool) -> Checkout | None:
    """Return the checkout of PyTorch's tests; None where none is needed and there is none."""
    from conformance.devices.installed import installed_torch
    from conformance.errors import ConformanceError, InfrastructureError, UsageError
    from conformance.suites.upstream import check_version, find_checkout

    installed = installed_torch()
    if installed is None:
        raise InfrastructureError("no-torch", "torch is not installed; install torch 2.6 or newer first")
    version = installed.version
    try:
        checkout = find_checkout(upstream, version)
    except ConformanceError:
        if needed:
            raise
        return None
    warning = check_version(checkout, version)
    if warning is not None:
        if strict:
            raise UsageError("upstream-mismatch", warning)
        click.echo(f"conformance: warning: {warning}", err=True)
    return checkout


def _for_checkouts(files: Sequence[str]) -> list[str]:
    """Return how to import files of a checkout of PyTorch's tests; nothing where none is one.

    Several have one basename in different folders (test_ops.py and functorch/test_ops.py), so they are not imported
    by it; they import others from their own folder and from the top one.
    """
    folders: list[str] = []
    for file in files:
        path = Path(file.partition("::")[0])
        top = next((each for each in path.parents if each.name == "test" and (each / "run_test.py").is_file()), None)
        if top is not None:
            folders += [str(top), str(path.parent)]
    if not folders:
        return []
    unique = list(dict.fromkeys(folders))
    # From the folder above, for pytest makes packages of the folders between: "functorch" alone would hide torch's.
    return [f"--rootdir={Path(unique[0]).parent}", "--import-mode=importlib", "-o", "pythonpath=" + shlex.join(unique)]


def _common(files: Sequence[str]) -> str:
    paths = [Path(file.partition("::")[0]) for file in files]
    return os.path.commonpath([path if path.is_dir() else path.parent for path in paths])
