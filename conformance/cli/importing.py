"""``conformance import``: results from before this harness, as a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from conformance.analysis.junit import Document, Mapped, Unmapped
    from conformance.model.run import RunInfo
    from conformance.report.page import Page
    from conformance.skiplist.entry import Entry


@click.group("import")
def command() -> None:
    """Bring results that another tool recorded into the database, as a run."""


@command.command("junit")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--device", metavar="DEVICE", required=True, help="The device that the tests ran on: neuron, npu, ...")
@click.option(
    "--db",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar="CONFORMANCE_DB",
    default="conformance.sqlite",
    show_default=True,
    help="The database to write to, created where it is missing; CONFORMANCE_DB sets another default.",
)
@click.option(
    "--suite",
    type=click.Choice(["upstream", "local"]),
    default="upstream",
    show_default=True,
    help="Whose files the tests are in: PyTorch's own, or yours.",
)
@click.option("--file", "default_file", metavar="NAME", default="", help="The file of tests that name none.")
@click.option("--emulated", is_flag=True, help="A stand-in ran in place of the device.")
@click.option(
    "--device-name", metavar="NAME", default="unknown", show_default=True, help="The device by its full name."
)
@click.option("--torch", "torch_version", metavar="VERSION", default="unknown", show_default=True, help="Which torch.")
@click.option("--backend", metavar="NAME", default="unknown", show_default=True, help="The package of the device.")
@click.option("--backend-version", metavar="VERSION", default="unknown", show_default=True, help="And its version.")
@click.option(
    "--date",
    "moment",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"]),
    metavar="DATE",
    help="When the tests ran (UTC), where the files do not say it.",
)
@click.option(
    "--selection",
    metavar="TEXT",
    help="Which part of the suites was asked for; '' says all of them. The default says that it is not known.",
)
@click.option(
    "--lists",
    metavar="PATH",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The skiplist that was in force, so that the burn-down can begin here. May be repeated.",
)
@click.option(
    "--top",
    type=click.IntRange(min=0),
    metavar="N",
    default=20,
    show_default=True,
    help="Show N of the tests that could not be mapped; 0: all.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for scripts.",
)
def junit_command(
    files: tuple[Path, ...],
    device: str,
    db: Path,
    suite: str,
    default_file: str,
    emulated: bool,
    device_name: str,
    torch_version: str,
    backend: str,
    backend_version: str,
    moment: datetime | None,
    selection: str | None,
    lists: tuple[Path, ...],
    top: int,
    form: str,
) -> None:
    """Write the tests of JUnit XML files as one run, under ids without the device.

    A name tells no operator: it is known where the database has the test from a run of its own. What cannot be mapped
    is listed. The same files are not imported twice.
    """
    from conformance.analysis.junit import map_cases
    from conformance.cli.skiplist_options import checked_device
    from conformance.model.identity import Suite
    from conformance.report.page import write_page
    from conformance.skiplist.load import load_skiplist

    contents = [_read(file) for file in files]
    documents = _documents(files, contents)
    mapped, unmapped, again = map_cases(
        (case for document in documents for case in document.cases),
        device=checked_device(device),
        suite=Suite(suite),
        default_file=default_file,
    )
    entries = load_skiplist(lists).entries if lists else ()
    info = _run_info(
        files,
        contents,
        documents,
        mapped,
        moment,
        device=device,
        emulated=emulated,
        device_name=device_name,
        torch_version=torch_version,
        backend=backend,
        backend_version=backend_version,
        selection=selection,
        skiplist=", ".join(map(str, lists)),
    )
    run_id, unknown = _record(db, info, mapped, entries)
    read = sum(len(document.cases) for document in documents)
    account = {
        "run": run_id,
        "key": info.key,
        "read": read,
        "mapped": len(mapped),
        "again": again,
        "without_operator": unknown,
        "unmapped": [{"text": one.text, "why": one.why} for one in unmapped],
    }
    write_page(_page(db, account, unmapped, top), account, form)


def _read(file: Path) -> bytes:
    from conformance.errors import UsageError

    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError("bad-junit", f"cannot read {file}: {error.strerror or error}") from None


def _documents(files: Sequence[Path], contents: Sequence[bytes]) -> list[Document]:
    from conformance.analysis.junit import read_junit
    from conformance.errors import UsageError

    documents = [read_junit(content, str(file)) for file, content in zip(files, contents, strict=True)]
    if not any(document.cases for document in documents):
        raise UsageError("bad-junit", f"{', '.join(map(str, files))}: no test case in it; is this the right file?")
    return documents


def _run_info(
    files: Sequence[Path],
    contents: Sequence[bytes],
    documents: Sequence[Document],
    mapped: Sequence[Mapped],
    moment: datetime | None,
    *,
    device: str,
    emulated: bool,
    device_name: str,
    torch_version: str,
    backend: str,
    backend_version: str,
    selection: str | None,
    skiplist: str,
) -> RunInfo:
    """Describe the run; its key is made of what was imported, so that a second import is noticed."""
    import hashlib
    import shlex
    import sys

    from conformance import __version__
    from conformance.model.run import RunInfo

    digest = hashlib.blake2b(device.encode(), digest_size=16)
    for content in sorted(contents):
        digest.update(hashlib.blake2b(content).digest())
    names = ", ".join(file.name for file in files)
    hosts = dict.fromkeys(host for document in documents for host in document.hosts)
    return RunInfo(
        key=digest.hexdigest(),
        created_at=_created_at(documents, moment, names),
        suites=tuple(sorted({str(one.identity.suite) for one in mapped})),
        device=device,
        device_name=device_name,
        emulated=emulated,
        torch_version=torch_version,
        backend=backend,
        backend_version=backend_version,
        harness_version=__version__,
        python_version="unknown",
        host=", ".join(hosts) or "unknown",
        operating_system="unknown",
        command=shlex.join(["conformance", *sys.argv[1:]]),
        selection=f"not known: imported from {names}" if selection is None else selection,
        skiplist=skiplist,
    )


def _created_at(documents: Sequence[Document], moment: datetime | None, names: str) -> str:
    """Return when the tests ran, in UTC; a time without a zone, as pytest before 8.3 wrote it, is taken for UTC."""
    import re
    from datetime import datetime, timezone

    from conformance.errors import UsageError

    found = [] if moment is None else [moment]
    for text in () if found else (text for document in documents for text in document.timestamps):
        try:
            # Python 3.10 reads fractions of three or six digits only, and no Z.
            found.append(datetime.fromisoformat(re.sub(r"\.\d+", "", text).replace("Z", "+00:00")))
        except ValueError:
            continue
    if not found:
        raise UsageError("bad-junit", f"{names}: nothing says when the tests ran; give --date")
    utc = [one.astimezone(timezone.utc) if one.tzinfo else one.replace(tzinfo=timezone.utc) for one in found]
    return min(utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _record(db: Path, info: RunInfo, mapped: Sequence[Mapped], entries: Sequence[Entry]) -> tuple[int, int]:
    """Write the run; return its number, and of how many tests neither operator nor module is known."""
    from dataclasses import replace
    from datetime import date

    from conformance.analysis.signature import signature
    from conformance.model.identity import PlannedTest
    from conformance.model.outcome import Outcome
    from conformance.model.result import Result
    from conformance.model.run import RunState
    from conformance.skiplist import Context, compile_skiplist
    from conformance.skiplist.recorded import recorded
    from conformance.store import Database, RunWriter, history

    context = Context(
        None if info.torch_version == "unknown" else info.torch_version,
        None if info.backend_version == "unknown" else info.backend_version,
        None if info.device_name == "unknown" else info.device_name,
        info.emulated,
        date.fromisoformat(info.created_at[:10]),
    )
    with Database.create_or_open(db) as database:
        known = history.known_identities(database, [one.identity.test_id for one in mapped])
        tests = [replace(one, identity=known.get(one.identity.test_id, one.identity)) for one in mapped]
        listed = compile_skiplist(entries, context).apply(one.identity for one in tests)
        writer = RunWriter(database)
        run_id = writer.begin(info)
        writer.write_skiplist(map(recorded, entries))
        writer.write_plan(
            PlannedTest(one.node_id, one.identity, found.entry.id if found else "")
            for one in tests
            for found in (listed.get(one.identity.test_id),)
        )
        writer.start(started_at=info.created_at)
        for one in tests:
            case = one.case
            if case.outcome is Outcome.NOT_RUN:
                continue  # the end of the run writes that
            writer.add(
                Result(
                    one.identity.test_id,
                    case.outcome,
                    case.duration_s,
                    reason=case.reason,
                    message=case.message,
                    details=case.details,
                    signature=signature(case.message) if case.outcome.is_bad and case.message else "",
                )
            )
        writer.finish(RunState.COMPLETE, finished_at=info.created_at)
    return run_id, sum(one.identity.op is None and one.identity.module is None for one in tests)


def _page(db: Path, account: dict[str, object], unmapped: Sequence[Unmapped], top: int) -> Page:
    from collections import Counter

    from conformance.report.page import Block, Lines, Page, Paragraph, limited
    from conformance.report.words import counted, number

    read, mapped, again, unknown = (int(str(account[name])) for name in ("read", "mapped", "again", "without_operator"))
    title = f"Run {account['run']} of {db}: of {counted(read, 'test case')} {number(mapped)} are tests of it"
    sentences = []
    if again:
        sentences.append(
            f"{counted(again, 'case was', 'cases were')} a second account of a test: the worse one counts."
        )
    if unknown:
        sentences.append(f"Of {counted(unknown, 'test')} the operator is not known: a name does not tell it.")
    blocks: list[Block] = [Paragraph(" ".join(sentences))] if sentences else []
    whys = Counter(one.why for one in unmapped)
    blocks.append(Lines("Not mapped", tuple(f"{number(count)}: {why}" for why, count in whys.most_common())))
    if unmapped:
        few, more = limited([f"'{one.text}': {one.why}" for one in unmapped], top)
        blocks.append(Lines("Each of them", few, more))
    return Page(title, tuple(blocks))
