from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.analysis.groups import FailureGroup, failure_groups
from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.store import Database, results
from tests.sample_run import build_sample
from tests.store.building import id_of, planned, writer_of

if TYPE_CHECKING:
    from pathlib import Path


def test_failures_with_one_cause_are_one_group(tmp_path: Path) -> None:
    with Database.create_or_open(tmp_path / "a.sqlite") as database:
        names = "abcdefg"
        tests = [planned(name, op=f"op {name}", module="nn.GRU" if name == "b" else None) for name in names]
        writer = writer_of(database, tests)
        writer.add(Result(id_of("b"), Outcome.FAILED, message="size 3 is wrong", signature="size N is wrong"))
        writer.add(Result(id_of("a"), Outcome.FAILED, message="size 4 is wrong"))
        writer.add(Result(id_of("c"), Outcome.ERROR, message="size 5 is wrong"))
        writer.add(Result(id_of("d"), Outcome.PASSED))
        writer.add(Result(id_of("e"), Outcome.SKIPPED, reason="no"))
        writer.add(Result(id_of("f"), Outcome.CRASHED))
        writer.flush()
        groups = failure_groups(results(database, 1))
    sized = "size N is wrong"
    assert groups == [
        FailureGroup(sized, Outcome.FAILED, 2, id_of("a"), "size 4 is wrong", ("op a", "op b"), ("nn.GRU",)),
        FailureGroup("", Outcome.CRASHED, 1, id_of("f"), "", ("op f",), ()),
        FailureGroup("", Outcome.NOT_RUN, 1, id_of("g"), "", ("op g",), ()),
        FailureGroup(sized, Outcome.ERROR, 1, id_of("c"), "size 5 is wrong", ("op c",), ()),
    ]


def test_groups_count_every_bad_test_once(tmp_path: Path) -> None:
    with Database.open_existing(build_sample(tmp_path / "a.sqlite")) as database:
        rows = list(results(database, 1))
    groups = failure_groups(rows)
    assert sum(group.tests for group in groups) == sum(row.outcome.is_bad for row in rows)
    assert [group.tests for group in groups] == sorted((group.tests for group in groups), reverse=True)
    assert groups == failure_groups(reversed(rows))
    assert groups[0].signature.startswith("AssertionError: Tensor-likes are not close! Mismatched elements: N / N (N%)")
