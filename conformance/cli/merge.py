"""``conformance merge``: one database of many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.store.merge import MergedRun


@click.command("merge")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--into",
    "--db",
    "target",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar="CONFORMANCE_DB",
    default="conformance.sqlite",
    show_default=True,
    help="The database to merge into, created where it is missing; CONFORMANCE_DB sets another default.",
)
@click.option(
    "--allow-missing",
    is_flag=True,
    help="Join shards although some of the launch are missing: the run is then an interrupted one.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for scripts.",
)
def command(files: tuple[Path, ...], target: Path, allow_missing: bool, form: str) -> None:
    """Bring the runs of other databases into one, and make one run of the shards of each launch.

    The files are only read. Merging again, or a file that has grown, is safe: what is there is not written twice.
    """
    from conformance.report.output import write_report
    from conformance.store.merge import merge

    merged: list[MergedRun] = []
    for run in merge(target, files, allow_missing=allow_missing):
        merged.append(run)
        if form == "text":
            write_report(_line(run) + "\n")
    if form == "json":
        write_report(_json(target, merged))
    else:
        write_report("".join(f"{line}\n" for line in (*_without_runs(files, merged), _summary(target, merged))))
    for run in merged:
        if run.error is not None:
            raise run.error


def _line(merged: MergedRun) -> str:
    from conformance.report.layout import printable
    from conformance.report.words import counted
    from conformance.store.merge_copy import Action

    run = merged.run
    files = ", ".join(map(str, merged.files))
    name = f"run {run.id} ({run.key[:8]})" if run else f"run {merged.key[:8]}"
    match merged.action:
        case Action.REFUSED:
            text = f"{name} of {files}: {merged.error}"
        case Action.NO_PLAN:
            text = f"{name} of {files}: it was killed, or is being begun, before its plan was stored"
        case _ if run is None:
            text = f"{name} of {files}: it is no longer there"
        case _:
            parts = [
                f"{run.device} (emulated)" if run.emulated else run.device,
                run.state.value,
                counted(run.planned, "test"),
            ]
            if merged.shards:
                parts.insert(0, f"{_shards(merged.shards)} of {merged.shard_count}")
            text = f"{name}: {', '.join(parts)}"
            if merged.missing:
                unknown = f"{run.collected - run.planned:,} of {counted(run.collected, 'collected test')}"
                text += f"; {_shards(merged.missing)} missing: {unknown} unknown"
            text += f"; from {files}"
    return f"{merged.action.value:<10}{printable(text)}"


def _shards(numbers: Sequence[int]) -> str:
    from conformance.store.merge_shards import ranges

    return f"{'shards' if len(numbers) > 1 else 'shard'} {ranges(numbers)}"


def _without_runs(files: Sequence[Path], merged: Sequence[MergedRun]) -> list[str]:
    """Return a line for each file that no run was named of."""
    from conformance.report.layout import printable

    named = {file for run in merged for file in run.files}
    lines = []
    for position, file in enumerate(files):
        again = next((other for other in files[:position] if other.samefile(file)), None)
        if again is not None:
            lines.append(f"{'again':<10}{printable(f'{file} is the same file as {again}')}")
        elif file not in named:
            lines.append(f"{'no runs':<10}{printable(str(file))}")
    return lines


def _summary(target: Path, merged: Sequence[MergedRun]) -> str:
    from conformance.report.layout import printable
    from conformance.store.merge_copy import Action

    parts = []
    for action in Action:
        number = sum(run.action is action for run in merged)
        if number or action in (Action.COPIED, Action.JOINED, Action.UPDATED, Action.UNCHANGED):
            parts.append(f"{number:,} {'without a plan' if action is Action.NO_PLAN else action.value}")
    return printable(f"{target}: {', '.join(parts)}")


def _json(target: Path, merged: Sequence[MergedRun]) -> str:
    import json

    from conformance.store.merge_copy import Action

    rows = [
        {
            "action": run.action.value,
            "key": run.run.key if run.run else run.key,
            "files": [str(file) for file in run.files],
            "run_id": run.run.id if run.run else None,
            "device": run.run.device if run.run else None,
            "emulated": run.run.emulated if run.run else None,
            "state": run.run.state.value if run.run else None,
            "planned": run.run.planned if run.run else None,
            "collected": run.run.collected if run.run else None,
            "shards": list(run.shards),
            "missing_shards": list(run.missing),
            "shard_count": run.shard_count,
            "error": {"slug": run.error.slug, "text": str(run.error)} if run.error else None,
        }
        for run in merged
    ]
    counts = {action.value: sum(run.action is action for run in merged) for action in Action}
    return json.dumps({"target": str(target), "runs": rows, "counts": counts}, indent=2) + "\n"
