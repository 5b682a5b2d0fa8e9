"""A report tells static from dynamic shapes, beside eager mode, and what was never compiled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from conformance.model.compilation import CompileMode
from conformance.model.operator import OperatorStatus
from conformance.model.outcome import Outcome
from conformance.model.result import Result
from conformance.report.compiled import Compiled
from conformance.report.findings import collect_findings
from conformance.report.json_format import render_json
from conformance.report.markdown import render_markdown
from conformance.report.text import render_text
from conformance.store import Database
from tests.report.compiled_runs import write_compiled_run
from tests.report.runs import id_of, write_run

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.report.findings import RunFindings


def _findings(path: Path) -> RunFindings:
    with Database.open_existing(path) as database:
        return collect_findings(database, 1)


def test_numbers_add_up_and_are_those_of_the_tests(tmp_path: Path) -> None:
    static, dynamic = _findings(write_compiled_run(tmp_path / "db")).compiled.tallies
    assert (static.template, dynamic.template) == ("compile", "compile_dynamic")
    for one in (static, dynamic):
        assert one.planned == one.passed + one.failed + one.others == 3
    assert (static.passed, static.failed, static.others, static.in_eager) == (2, 1, 0, 1)
    assert (static.compiled, static.graphs, static.breaks, static.recompilations) == (2, 3, 3, 2)
    assert (static.median_s, static.peak_bytes) == (0.3, 4096)
    assert (dynamic.passed, dynamic.failed, dynamic.others, dynamic.in_eager) == (0, 1, 2, 0)
    assert (dynamic.graphs, dynamic.median_s) == (1, 0.5)  # nobody knows the seconds of the other


def test_each_operator_has_a_status_for_each_mode(tmp_path: Path) -> None:
    findings = _findings(write_compiled_run(tmp_path / "db"))
    said = {one.name: (one.eager, *(one.modes[mode] for mode in CompileMode)) for one in findings.compiled.subjects}
    assert said == {
        "cos": (OperatorStatus.FAILING, OperatorStatus.CRASHING, OperatorStatus.SKIPPED),
        "nonzero": (OperatorStatus.NATIVE, OperatorStatus.NATIVE, OperatorStatus.SKIPPED),
        "sin": (OperatorStatus.NATIVE, OperatorStatus.NATIVE, OperatorStatus.FAILING),
    }
    assert findings.operators.counts[OperatorStatus.NATIVE] == 2
    assert findings.operators.counts[OperatorStatus.PARTIAL] == 0
    assert findings.fallbacks is not None
    assert findings.fallbacks.other_tests == 0  # those that compile are about an operator too


def test_a_few_operators_stand_one_by_one_in_text_and_markdown(tmp_path: Path) -> None:
    findings = _findings(write_compiled_run(tmp_path / "db"))
    text, markdown = render_text(findings), render_markdown(findings)
    assert "  opinfo compile                3       2       1       0      1       3       3         2   0.300" in text
    assert "  nonzero  native   native (no graph)  skipped\n" in text
    assert "| `opinfo` | `compile` | 3 | 2 | 1 | 0 | 1 | 3 | 3 | 2 | 0.300 |" in markdown
    assert "| `sin` | native | native | failing |" in markdown
    assert max(map(len, text.splitlines())) <= 130  # test ids and commands alone may be longer than 100


def test_many_operators_are_counted_by_status(tmp_path: Path) -> None:
    findings = _findings(write_compiled_run(tmp_path / "db", operators=20))
    text, markdown = render_text(findings), render_markdown(findings)
    assert "Operators by status under torch.compile" in text
    assert "Status in each mode" not in text
    assert findings.compiled.counts("operator") == {
        OperatorStatus.NATIVE: {CompileMode.STATIC: 22, CompileMode.DYNAMIC: 20},
        OperatorStatus.FAILING: {CompileMode.STATIC: 0, CompileMode.DYNAMIC: 1},
        OperatorStatus.CRASHING: {CompileMode.STATIC: 1, CompileMode.DYNAMIC: 0},
        OperatorStatus.SKIPPED: {CompileMode.STATIC: 0, CompileMode.DYNAMIC: 2},
    }
    assert "| native | 22 | 20 |" in markdown


def test_scripts_get_every_operator(tmp_path: Path) -> None:
    document = json.loads(render_json(_findings(write_compiled_run(tmp_path / "db", operators=20))))
    assert len(document["compiled"]["subjects"]) == 23
    (sin,) = [one for one in document["compiled"]["subjects"] if one["name"] == "sin"]
    assert sin == {
        "noun": "operator",
        "name": "sin",
        "eager": "native",
        "compile": "native",
        "dynamic": "failing",
        "compile_graphs": 3,
        "dynamic_graphs": 0,
    }
    assert [row["template"] for row in document["compiled"]["rows"]] == ["compile", "compile_dynamic"]


def test_a_run_without_such_tests_says_nothing_of_it(tmp_path: Path) -> None:
    findings = _findings(write_run(tmp_path / "db", [Result(id_of("test_sin"), Outcome.PASSED)]))
    assert findings.compiled == Compiled()
    assert "torch.compile" not in render_text(findings) + render_markdown(findings)
    assert json.loads(render_json(findings))["compiled"] == {"rows": [], "subjects": []}


def test_a_run_of_compiling_tests_alone_has_no_table_of_eager_statuses(tmp_path: Path) -> None:
    findings = _findings(write_compiled_run(tmp_path / "db", operators=20, eager=False))
    assert findings.operators.counts[OperatorStatus.UNTESTED] == 23
    for text in (render_text(findings), render_markdown(findings)):
        assert "untested" not in text
        assert "under torch.compile" in text
