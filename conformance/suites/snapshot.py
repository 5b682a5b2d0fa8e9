"""Take a snapshot of the installed torch's operators, overloads and modules, and write it to a folder."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from conformance.analysis.opdb import public_version
from conformance.analysis.opdb_format import FACTS, files_of
from conformance.errors import InfrastructureError
from conformance.model.overload import Measurement, OperatorRecord, Snapshot
from conformance.suites.inventory import dtype_names, group_of, modules
from conformance.suites.selection import SEED

# More than any OpInfo of torch 2.6 to 2.14 has for one dtype; a bound on what a later one may cost.
SAMPLES = 2000
_FORMS = ("method", "inplace", "operator", "inplace_operator")
_FLAG = "supports_"


def take_snapshot(
    *, names: Collection[str] | None = None, samples: int = SAMPLES, progress: Callable[[str], None] | None = None
) -> Snapshot:
    """Return a snapshot of the installed torch; this runs samples of every operator on the CPU, for about a minute.

    ``names`` are the full names of the operators to record: without the others it is a snapshot to test with only.
    ``progress`` is called with the name of each operator before it is measured. Random generators are seeded, the
    number of threads is left as it was. Raises ``InfrastructureError`` (``unsupported-torch``) where torch lacks what
    is needed to see overloads.
    """
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    from conformance.suites.snapshot_measure import DTYPES
    from conformance.suites.snapshot_overloads import overloads
    from conformance.suites.snapshot_watch import check_torch_can_be_watched

    check_torch_can_be_watched()
    every_overload = overloads()  # before anything runs: some operators register others when they are first used
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        operators = []
        for op in sorted(op_db, key=lambda op: str(op.full_name)):
            if names is None or op.full_name in names:
                if progress is not None:
                    progress(op.full_name)
                operators.append(_operator(op, samples))
    finally:
        torch.set_num_threads(threads)
    return Snapshot(
        torch=public_version(str(torch.__version__)),
        build=str(torch.__version__),
        measurement=Measurement(samples=samples, dtypes=DTYPES, seed=SEED),
        operators=tuple(operators),
        overloads=tuple(every_overload),
        modules=tuple(modules("cpu")),
    )


def operator_count() -> int:
    """Return how many operators a snapshot of the installed torch has."""
    from torch.testing._internal.common_methods_invocations import op_db

    return len(op_db)


def _operator(op: Any, samples: int) -> OperatorRecord:
    from conformance.suites.snapshot_measure import measure

    measured = measure(op, limit=samples)
    return OperatorRecord(
        name=str(op.full_name),
        variant=str(op.variant_test_name),
        aten_name=str(op.aten_name or op.name),
        aliases=tuple(sorted(str(alias.name) for alias in op.aliases)),
        group=group_of(op),
        dtypes=dtype_names(op.supported_dtypes("cpu")),
        backward_dtypes=dtype_names(op.supported_backward_dtypes("cpu")),
        privateuse1_dtypes=dtype_names(op.supported_dtypes("privateuse1")),
        privateuse1_backward_dtypes=dtype_names(op.supported_backward_dtypes("privateuse1")),
        forms=tuple(form for form in _FORMS if getattr(op, f"{form}_variant") is not None),
        supports=tuple(
            name.removeprefix(_FLAG) for name in sorted(dir(op)) if name.startswith(_FLAG) and getattr(op, name) is True
        ),
        samples=measured.samples,
        complete=measured.complete,
        reached=measured.reached,
        unmeasured=measured.unmeasured,
    )


def prepare_folder(parent: Path, version: str) -> Path:
    """Make the folder of a version's snapshot, and find out whether it can be written, before a minute of work.

    Raises ``InfrastructureError`` (``snapshot-unwritable``).
    """
    folder = parent / version
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".{FACTS}.new"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _unwritable(folder, error) from error
    return folder


def write_snapshot(snapshot: Snapshot, folder: Path) -> int:
    """Write a snapshot's files over those of an earlier one; return their size in bytes.

    Each file is replaced as a whole, the one that counts the others' records last: a mixture is noticed by ``load``.
    Raises ``InfrastructureError`` (``snapshot-unwritable``).
    """
    texts = files_of(snapshot)
    try:
        for name in sorted(texts, key=lambda name: name == FACTS):
            new = folder / f".{name}.new"
            new.write_text(texts[name], encoding="utf-8", newline="\n")
            new.replace(folder / name)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return sum(len(text.encode()) for text in texts.values())


def _unwritable(folder: Path, error: OSError) -> InfrastructureError:
    return InfrastructureError(
        "snapshot-unwritable",
        f"cannot write {folder}: {error.strerror or error}; give --out a folder that can be written",
    )
