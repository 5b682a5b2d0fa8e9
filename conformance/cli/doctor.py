"""``conformance doctor``: what is wrong with a database, and what can be saved of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.cli.selecting import DB_OPTION

if TYPE_CHECKING:
    from conformance.store.doctor import Examination
    from conformance.store.rescue import Rescue


@click.command("doctor")
@DB_OPTION
@click.option(
    "--rescue",
    "new",
    metavar="NEWFILE",
    type=click.Path(path_type=Path),
    help="Copy what can be read into this new file and say what was lost; the database stays as it is.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(db: Path, new: Path | None, form: str) -> None:
    """Check a database: file, tables, references, counts, unfinished runs. It is never changed.

    Exit code 1 if anything is wrong, or if a rescue lost something.
    """
    import json
    import sys

    from conformance.store.doctor import examine

    rescued = None
    if new is not None:
        from conformance.store.rescue import rescue

        rescued = rescue(db, new)
    examination = examine(new or db)
    if form == "json":
        content = {"schema": 1, **_examination(examination)}
        if rescued is not None:
            content["rescue"] = _rescue(db, rescued)
        sys.stdout.write(json.dumps(content, indent=1, sort_keys=True) + "\n")
    else:
        lines = _rescue_lines(db, rescued) if rescued is not None else []
        sys.stdout.write("\n".join([*lines, *_lines(examination)]) + "\n")
    if rescued is not None:
        sys.exit(0 if rescued.lost_nothing else 1)
    sys.exit(1 if examination.findings else 0)


def _lines(examination: Examination) -> list[str]:
    facts = [f"{_size(examination.size)}, {examination.pages:,} pages of {examination.page_size:,} bytes"]
    if examination.free_pages:
        facts[0] += f" ({examination.free_pages:,} of them free)"
    if examination.schema_version is not None:
        facts.append(f"schema {examination.schema_version}")
    for count, noun in ((examination.runs, "run"), (examination.results, "result")):
        if count is not None:
            facts.append(f"{count:,} {noun}{'' if count == 1 else 's'}")
    if examination.holder is not None:
        facts.append(f"open in process {examination.holder or '(unknown)'}")
    lines = [f"{examination.path}: {', '.join(facts)}"]
    lines += [f"note: {note}" for note in examination.notes]
    lines += [f"{finding.kind}: {finding.text}; {finding.remedy}" for finding in examination.findings]
    count = len(examination.findings)
    lines.append("nothing is wrong" if not count else f"{count} finding{'' if count == 1 else 's'}")
    return lines


def _rescue_lines(db: Path, rescued: Rescue) -> list[str]:
    width = max(len(table.table) for table in rescued.tables)
    lines = [f"rescued from {db}", f"{'table':<{width}}  {'rescued':>9}  {'placeholders':>12}  lost"]
    for table in rescued.tables:
        lost = [f"{table.lost_rows:,}"] if table.lost_rows or not table.lost_pages else []
        if table.lost_pages:
            lost.append(f"the rows of {table.lost_pages:,} page{'' if table.lost_pages == 1 else 's'}")
        lines.append(f"{table.table:<{width}}  {table.rescued:>9,}  {table.placeholders:>12,}  {' and '.join(lost)}")
    lines += [f"lost: {note}" for note in rescued.notes]
    if rescued.lost_nothing:
        lines.append("nothing was lost")
    return lines


def _examination(examination: Examination) -> dict[str, Any]:
    return {
        "database": str(examination.path),
        "healthy": not examination.findings,
        "size": examination.size,
        "log_size": examination.log_size,
        "page_size": examination.page_size,
        "pages": examination.pages,
        "free_pages": examination.free_pages,
        "schema_version": examination.schema_version,
        "open_in_process": examination.holder,
        "runs": examination.runs,
        "results": examination.results,
        "notes": examination.notes,
        "findings": [
            {
                "kind": finding.kind,
                "text": finding.text,
                "remedy": finding.remedy,
                "run_id": finding.run_id,
                "table": finding.table,
            }
            for finding in examination.findings
        ],
    }


def _rescue(db: Path, rescued: Rescue) -> dict[str, Any]:
    return {
        "database": str(db),
        "lost_nothing": rescued.lost_nothing,
        "tables": [
            {
                "table": table.table,
                "rescued": table.rescued,
                "lost_rows": table.lost_rows,
                "lost_pages": table.lost_pages,
                "placeholders": table.placeholders,
            }
            for table in rescued.tables
        ],
        "notes": list(rescued.notes),
    }


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"
