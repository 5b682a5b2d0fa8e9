"""``conformance upstream``: PyTorch's own test files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.suites.upstream.inspection import FileReport


@click.group("upstream")
def command() -> None:
    """Fetch PyTorch's own test files and list what they hold."""


@command.command("fetch")
@click.option(
    "--torch", "version", metavar="VERSION", help="Release, such as 2.13.0; default: that of the installed torch."
)
@click.option(
    "--dest", metavar="DIR", type=click.Path(path_type=Path), help="Where to; default: a folder of the cache."
)
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="A git address, a clone, a tarball or a folder of PyTorch; default: PyTorch's public repository.",
)
def fetch(version: str | None, dest: Path | None, source: str | None) -> None:
    """Bring the test files of the installed torch's version here, and print where they are.

    A sparse, shallow clone of the tag: no history and no other files. It is there whole or not at all; the same command
    goes on after an interruption.
    """
    import sys

    from conformance.suites.upstream.fetch import fetch as bring

    def say(line: str) -> None:
        click.echo(line, err=True)

    if source is not None and not source.strip():
        from conformance.errors import UsageError

        raise UsageError("empty-option", "--from '' names nothing; leave it out for PyTorch's public repository")
    fetched = bring(version=version, dest=dest, source=source, say=say)
    for note in fetched.notes:
        say(f"conformance: warning: {note}")
    count = len(fetched.checkout.files())
    say(f"PyTorch {fetched.checkout.name}: {count} files of tests{'' if fetched.fresh else ', fetched before'}")
    sys.stdout.write(f"{fetched.folder}\n")


@command.command("list")
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option(
    "--upstream", metavar="DIR", type=click.Path(path_type=Path), help="A checkout; default: that in the cache."
)
@click.option("--device", metavar="DEVICE", default="cpu", show_default=True, help="Count the tests for this device.")
@click.option("--all", "everything", is_flag=True, help="Every file of tests, not only the curated list.")
@click.option("--names", is_flag=True, help="Only list the files; import none.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Time limit for one file.",
)
@click.option("--strict", is_flag=True, help="Files of another version than the installed torch are an error.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_files(
    files: tuple[str, ...],
    upstream: Path | None,
    device: str,
    everything: bool,
    names: bool,
    timeout: float,
    strict: bool,
    form: str,
) -> None:
    """List the files of tests, how many tests each has, and whether it imports here.

    Each file is imported in a process of its own, two at a time. FILE is relative to test/, as nn/test_pooling.py.
    """
    import json
    import sys

    from conformance.devices import adapter_for
    from conformance.devices.installed import installed_torch
    from conformance.errors import InfrastructureError, UsageError
    from conformance.suites.upstream import absent_files, check_version, find_checkout

    adapter_for(device)
    torch = installed_torch()
    if torch is None:
        raise InfrastructureError("no-torch", "torch is not installed here; install torch 2.6 or newer first")
    checkout = find_checkout(upstream, torch.version)
    warning = check_version(checkout, torch.version)
    if warning is not None:
        if strict:
            raise UsageError("upstream-mismatch", warning)
        click.echo(f"conformance: warning: {warning}", err=True)
    chosen = _chosen(checkout, files, everything=everything)
    reports: list[FileReport] = []
    if not names:
        from conformance.suites.upstream.inspection import inspect_files

        reports = inspect_files(
            checkout,
            list(chosen),
            options=["-p", "conformance.plugin", f"--conformance-device={device}"],
            timeout_s=timeout,
            done=_progress(len(chosen)),
        )
    absent = [] if files or everything else list(absent_files(checkout))
    rows = _rows(chosen, reports)
    if form == "json":
        document = {
            "schema": 1,
            "root": str(checkout.root),
            "version": checkout.version,
            "tag": checkout.tag or None,
            "commit": checkout.commit or None,
            "torch": torch.version,
            "device": device,
            "warning": warning,
            "files": rows,
            "absent": absent,
        }
        sys.stdout.write(json.dumps(document, indent=1, sort_keys=True) + "\n")
        return
    sys.stdout.writelines(line + "\n" for line in _table(rows, names=names))
    for line in _summary(rows, absent, device=device, names=names):
        click.echo(line, err=True)


def _chosen(checkout: Any, files: Sequence[str], *, everything: bool) -> dict[str, str]:
    """Return file -> group of what is to be listed; a file outside of the curated list has no group."""
    from conformance.errors import UsageError
    from conformance.suites.upstream import curated_files

    groups = {curated.file: curated.group for curated in curated_files(checkout)}
    if not files and not everything:
        return groups
    present = checkout.files()
    for file in files:
        if file not in present:
            raise UsageError("upstream-no-file", f"{checkout.root} has no file of tests called {file}")
    return {file: groups.get(file, "") for file in (files or present)}


def _progress(total: int) -> Any:
    """Return what is told about each file; it shows a line where somebody is looking."""
    import sys

    seen = 0

    def done(report: FileReport) -> None:
        nonlocal seen
        seen += 1
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{seen} of {total}: {report.file}", nl=seen == total, err=True)

    return done


def _rows(chosen: dict[str, str], reports: Sequence[FileReport]) -> list[dict[str, Any]]:
    known = {report.file: report for report in reports}
    rows = []
    for file, group in chosen.items():
        row: dict[str, Any] = {"file": file, "group": group or None, "tests": None, "imports": None, "error": None}
        report = known.get(file)
        if report is not None:
            row |= {
                "tests": report.tests,
                "imports": report.tests is not None,
                "error": report.error or None,
                "seconds": round(report.seconds, 1),
            }
        rows.append(row)
    return rows


def _table(rows: Sequence[dict[str, Any]], *, names: bool) -> list[str]:
    cells = [("group", "file", "tests", "imports")]
    cells += [
        (
            row["group"] or "-",
            row["file"],
            "-" if row["tests"] is None else f"{row['tests']:,}",
            ("yes" if row["imports"] else "no") + (f": {row['error']}" if row["error"] else ""),
        )
        for row in rows
    ]
    group, file, tests = (max(len(line[column]) for line in cells) for column in range(3))
    if names:
        return [f"{line[0]:<{group}}  {line[1]}" for line in cells]
    return [f"{line[0]:<{group}}  {line[1]:<{file}}  {line[2]:>{tests}}  {line[3]}" for line in cells]


def _summary(rows: Sequence[dict[str, Any]], absent: Sequence[str], *, device: str, names: bool) -> list[str]:
    if names:
        lines = [f"{len(rows)} files"]
    else:
        total = sum(row["tests"] or 0 for row in rows)
        broken = sum(1 for row in rows if not row["imports"])
        lines = [f"{len(rows)} files, {len(rows) - broken} import here, {total:,} tests on {device}"]
    if absent:
        lines.append(f"on the curated list, but not in this checkout: {', '.join(absent)}")
    return lines
