from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from conformance.analysis.status import operator_status
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.result import FallbackAccount, Result
from conformance.store import (
    Database,
    ModuleStatusRow,
    OperatorStatusRow,
    RunWriter,
    module_statuses,
    operator_statuses,
)
from tests.store.building import id_of, planned, run_info

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ({}, OperatorStatus.UNTESTED),
        ({"not_run": 3}, OperatorStatus.UNTESTED),
        ({"passed": 1}, OperatorStatus.NATIVE),
        ({"passed": 1, "skipped": 5, "xfailed": 5, "not_run": 5}, OperatorStatus.NATIVE),
        ({"passed": 9, "fallback": 1}, OperatorStatus.FALLBACK),
        ({"passed": 1, "failed": 1}, OperatorStatus.PARTIAL),
        ({"passed": 1, "failed": 1, "fallback": 1}, OperatorStatus.PARTIAL),
        ({"failed": 1}, OperatorStatus.FAILING),
        ({"failed": 1, "skipped": 1, "xfailed": 1, "fallback": 1}, OperatorStatus.FAILING),
        ({"passed": 9, "failed": 9, "crashed": 1, "fallback": 9}, OperatorStatus.CRASHING),
        ({"skipped": 1}, OperatorStatus.SKIPPED),
        ({"xfailed": 1, "fallback": 1}, OperatorStatus.SKIPPED),
    ],
)
def test_the_counts_make_the_status(counts: dict[str, int], status: OperatorStatus) -> None:
    assert operator_status(**counts) is status


def test_the_view_agrees_over_all_combinations(tmp_path: Path) -> None:
    """Give every set of outcomes, without and with a fallback in its last result, an operator and a module."""
    combinations = [
        (outcomes, fell_back)
        for size in range(len(Outcome) + 1)
        for outcomes in itertools.combinations(Outcome, size)
        for fell_back in (False, True)
    ]
    tests = [
        (f"test_{number}_{outcome}_{kind}", outcome, kind, number, fell_back and outcome is outcomes[-1])
        for number, (outcomes, fell_back) in enumerate(combinations)
        for outcome in outcomes
        for kind in ("op", "module")
    ]
    with Database.create_or_open(tmp_path / "a.sqlite") as database:
        writer = RunWriter(database)
        writer.begin(run_info())
        writer.write_plan([planned(name, dtype="float32", **{kind: str(number)}) for name, _, kind, number, _ in tests])
        for name, outcome, _, _, fell_back in tests:
            writer.add(Result(id_of(name), outcome, fallback=FallbackAccount(("aten::x",), ()) if fell_back else None))
        writer.flush()
        operators = operator_statuses(database, 1)
        modules = module_statuses(database, 1)
    assert len(operators) == len(modules) == 2 * (len(combinations) - 2)
    seen = set()
    rows: list[OperatorStatusRow | ModuleStatusRow] = [*operators, *modules]
    for row in rows:
        expected = operator_status(
            passed=row.passed,
            failed=row.failed,
            skipped=row.skipped,
            xfailed=row.xfailed,
            crashed=row.crashed,
            not_run=row.not_run,
            flaky=row.flaky,
            fallback=row.fallback,
        )
        assert row.status is expected, row
        assert (
            row.planned == row.passed + row.failed + row.skipped + row.xfailed + row.crashed + row.not_run + row.flaky
        )
        seen.add(row.status)
    assert seen == set(OperatorStatus)
    for operator in operators:
        outcomes, fell_back = combinations[int(operator.op)]
        assert operator.planned == len(outcomes)
        assert operator.passed == len({Outcome.PASSED, Outcome.XPASSED} & {*outcomes})
        assert operator.failed == len({Outcome.FAILED, Outcome.ERROR} & {*outcomes})
        assert operator.crashed == sum(outcome.is_death for outcome in outcomes)
        assert operator.fallback == int(fell_back)
