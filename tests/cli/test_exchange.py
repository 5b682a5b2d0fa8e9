"""``conformance export`` and ``conformance import``, as their user meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner

from conformance.cli.export import command as export
from conformance.cli.importing import command as importing
from conformance.errors import ConformanceError, InfrastructureError
from conformance.model.outcome import Outcome
from conformance.store import Database, listed_entries, results, runs
from tests.report.listed_runs import id_of, write_listed_run
from tests.sample_run import build_sample
from tests.skiplist.building import entry_text, list_text

PYTEST = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="2" skipped="2" tests="9" time="1.5"
 timestamp="2026-09-01T10:00:00.5+02:00" hostname="trn2">
<testcase classname="test.test_ops.TestCommonNEURON" name="test_out_add_neuron_float32" file="test/test_ops.py"
 time="0.25" />
<testcase classname="test.test_ops.TestCommonNEURON" name="test_out_sub_neuron_int8" time="0.5">
<failure message="RuntimeError: no kernel">trace
RuntimeError: no kernel</failure></testcase>
<testcase classname="test.test_ops.TestCommonPRIVATEUSE1" name="test_out_sin_neuron_float32" time="0">
<skipped type="pytest.skip" message="not here">test/test_ops.py:1: not here</skipped></testcase>
<testcase classname="test.test_ops.TestCommonNEURON" name="test_xfail_neuron" time="0">
<skipped type="pytest.xfail" message="known" /></testcase>
<testcase classname="test.nn.test_pooling.TestPoolNEURON" name="test_crash_neuron" time="0"><failure
 message="worker 'gw1' crashed while running 'test/nn/test_pooling.py::TestPoolNEURON::test_crash_neuron'" /></testcase>
<testcase classname="test.test_ops.TestCommonNEURON" name="test_slow_neuron" time="60">
<failure message="Failed: Timeout (&gt;60.0s) from pytest-timeout." /></testcase>
<testcase classname="test.test_ops.TestCommonNEURON" name="test_teardown_neuron" time="1" />
<testcase classname="test.test_ops.TestCommonNEURON" name="test_teardown_neuron" time="0">
<error message="failed on teardown with &quot;x&quot;">x</error></testcase>
<testcase classname="test.test_ops.TestCommonCPU" name="test_out_add_cpu_float32" time="0.1" />
<testcase classname="test.test_ops" name="test_function[a::b]" time="0.1" />
<testcase classname="TestNowhereNEURON" name="test_a_neuron" time="0.1" />
</testsuite></testsuites>
"""
XMLRUNNER = """<testsuite name="TestFooNEURON-20240101" tests="1" file="test_foo.py" timestamp="2026-09-01T08:00:00">
<testcase classname="__main__.TestFooNEURON" name="test_x_neuron" time="1,000.5" timestamp="2026-09-01T08:00:00" />
</testsuite>
"""


def run(command: click.Command, *arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.stdout


def imported(*arguments: object) -> Any:
    return json.loads(run(importing, "junit", *arguments, "--format", "json"))


def refused(command: click.Command, *arguments: object) -> ConformanceError:
    with pytest.raises(ConformanceError) as caught:
        run(command, *arguments)
    return caught.value


@pytest.fixture
def xml(tmp_path: Path) -> Path:
    file = tmp_path / "junit.xml"
    file.write_text(PYTEST, encoding="utf-8")
    return file


def outcomes(database: Path, run_id: int = 1) -> dict[str, str]:
    with Database.open_existing(database) as db:
        return {row.test_id: row.outcome.value for row in results(db, run_id)}


def test_a_file_of_pytests_becomes_a_run_under_neutral_ids(xml: Path, tmp_path: Path) -> None:
    database = tmp_path / "new.sqlite"
    account = imported(xml, "--device", "neuron", "--db", database, "--torch", "2.13.0")
    assert outcomes(database) == {
        "nn/test_pooling.py::TestPool::test_crash": "crashed",
        "test_ops.py::TestCommon::test_out_add_float32": "passed",
        "test_ops.py::TestCommon::test_out_sin_float32": "skipped",
        "test_ops.py::TestCommon::test_out_sub_int8": "failed",
        "test_ops.py::TestCommon::test_slow": "timed_out",
        "test_ops.py::TestCommon::test_teardown": "error",
        "test_ops.py::TestCommon::test_xfail": "xfailed",
        "test_ops.py::test_function[a::b]": "passed",
    }
    assert {name: account[name] for name in ("read", "mapped", "again", "without_operator")} == {
        "read": 11,
        "mapped": 8,
        "again": 1,
        "without_operator": 8,
    }
    assert [(one["text"], one["why"][:25]) for one in account["unmapped"]] == [
        ("test.test_ops.TestCommonCPU::test_out_add_cpu_float32", "it is a test of the devic"),
        ("TestNowhereNEURON::test_a_neuron", "neither a file nor a modu"),
    ]
    assert account["read"] == account["mapped"] + account["again"] + len(account["unmapped"])
    with Database.open_existing(database) as db:
        (row,) = runs(db)
        (failed,) = results(db, 1, outcomes=[Outcome.FAILED])
    assert (row.created_at, row.host, row.suites, row.emulated) == (
        "2026-09-01T08:00:00Z",
        "trn2",
        ("upstream",),
        False,
    )
    assert (row.probe, row.torch_version, row.backend, row.python_version) == ("", "2.13.0", "unknown", "unknown")
    assert row.selection == "not known: imported from junit.xml"
    assert (failed.node_id, failed.dtype, failed.fallback_ops) == (
        "test_ops.py::TestCommonNEURON::test_out_sub_neuron_int8",
        "int8",
        None,
    )
    assert (failed.message, failed.signature, failed.duration_s) == (
        "RuntimeError: no kernel",
        "RuntimeError: no kernel",
        0.5,
    )


def test_the_same_files_are_imported_once(xml: Path, tmp_path: Path) -> None:
    words = ("junit", xml, "--device", "neuron", "--db", tmp_path / "new.sqlite")
    run(importing, *words)
    assert refused(importing, *words).slug == "duplicate-run"


def test_files_of_shards_are_one_run_and_xmlrunner_is_read_too(xml: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.xml"
    other.write_text(XMLRUNNER)
    account = imported(xml, other, "--device", "neuron", "--db", tmp_path / "new.sqlite", "--file", "test_nowhere.py")
    assert (account["mapped"], len(account["unmapped"])) == (10, 1)
    found = outcomes(tmp_path / "new.sqlite")
    assert found["test_foo.py::TestFoo::test_x"] == found["test_nowhere.py::TestNowhere::test_a"] == "passed"


def test_a_test_that_a_run_knows_keeps_its_operator(tmp_path: Path) -> None:
    database = write_listed_run(tmp_path / "runs.sqlite", "2026-11-01", {id_of("add", "float32"): "x"})
    file = tmp_path / "junit.xml"
    run(export, "junit", "--db", database, "--out", file)
    account = imported(file, "--device", "neuron", "--db", database, "--emulated")
    assert account["without_operator"] == 1
    with Database.open_existing(database) as db:
        assert {row.test_id: (row.op, row.suite) for row in results(db, 2)} == {
            row.test_id: (row.op, row.suite) for row in results(db, 1)
        }
        assert runs(db)[1].emulated


def test_what_is_exported_and_imported_again_has_the_same_outcomes(tmp_path: Path) -> None:
    sample = build_sample(tmp_path / "sample.sqlite", runs=1, operators=24)
    for by in ("outcome", "verdict"):
        file, database = tmp_path / f"{by}.xml", tmp_path / f"{by}.sqlite"
        run(export, "junit", "--db", sample, "--by", by, "--out", file)
        account = imported(file, "--device", "neuron", "--db", database, "--suite", "local")
        assert account["unmapped"] == []
        expected = outcomes(sample)
        found = outcomes(database)
        assert found.keys() == expected.keys()
        assert {name: (expected[name], end) for name, end in found.items() if end != expected[name]} == {}


def test_a_skiplist_that_was_in_force_comes_with_the_run(xml: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lists"
    folder.mkdir()
    (folder / "a.toml").write_text(
        list_text(
            entry_text("sub", 'tests = ["test_ops.py::TestCommon::test_out_sub_int8"]'),
            entry_text("int8", 'emulated = true\nmatch = { dtypes = ["*"] }'),
        )
    )
    database = tmp_path / "new.sqlite"
    run(importing, "junit", xml, "--device", "neuron", "--db", database, "--lists", folder, "--selection", "")
    with Database.open_existing(database) as db:
        assert {row.entry.entry_id: row.tests for row in listed_entries(db, 1)} == {"int8": 0, "sub": 1}
        (row,) = runs(db)
    assert (row.selection, row.skiplist) == ("", str(folder))


def test_what_is_no_junit_is_one_line(tmp_path: Path) -> None:
    good = "<testsuite><testcase name='test_x' classname='a.TestX'/></testsuite>"
    for text, words in (
        (PYTEST[:400], "no whole XML file"),
        ("<html/>", "its root is <html>"),
        ("<testsuites/>", "no test case in it"),
        (good, "give --date"),
        (good.replace("<testsuite>", "<testsuite timestamp='yesterday'>"), "give --date"),
    ):
        file = tmp_path / "x.xml"
        file.write_text(text)
        error = refused(importing, "junit", file, "--device", "npu", "--db", tmp_path / "new.sqlite")
        assert (error.slug, words in str(error)) == ("bad-junit", True), error
    missing = refused(importing, "junit", tmp_path / "none.xml", "--device", "npu")
    assert (missing.slug, "none.xml" in str(missing)) == ("bad-junit", True)
    file.write_text(good)
    assert refused(importing, "junit", file, "--device", "a b", "--date", "2026-01-01").slug == "unknown-device"
    assert not (tmp_path / "new.sqlite").exists()
    run(importing, "junit", file, "--device", "npu", "--date", "2026-01-01", "--db", tmp_path / "new.sqlite")
    run(importing, "junit", code=2)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build_sample(tmp_path / "sample.sqlite", runs=2, operators=24)


@pytest.mark.parametrize("form", ["junit", "ctrf", "crcr", "github", "pull-request"])
def test_every_export_can_go_to_a_file_or_to_stdout(form: str, database: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    printed = run(export, form, "--db", database, "--baseline", "1")
    assert run(export, form, "--db", database, "--baseline", "1", "--out", out) == ""
    assert out.read_text(encoding="utf-8") == printed
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    away = refused(export, form, "--db", database, "--out", tmp_path / "no" / "out")
    assert (type(away), away.slug) == (InfrastructureError, "output-unwritable")
    for folder in (tmp_path, ".", "/"):
        away = refused(export, form, "--db", database, "--out", folder)
        assert (away.slug, "it is a folder" in str(away)) == ("output-unwritable", True)
    assert refused(export, form, "--db", tmp_path / "none").slug == "database-missing"
    assert "--baseline" in run(export, form, "--help")


def test_the_relays_outputs_have_the_names_of_its_inputs(database: Path) -> None:
    lines = run(export, "crcr", "--db", database, "--as", "outputs", "--artifact-url", "https://x.org/\ny").splitlines()
    assert [line.partition("=")[0] for line in lines] == [
        "conclusion",
        "test-results",
        "failed-tests-detail",
        "artifact-url",
    ]
    assert lines[0] == "conclusion=failure"
    assert lines[3] == "artifact-url=https://x.org/ y"


def test_a_quiet_run_concludes_with_success(tmp_path: Path) -> None:
    test_id = id_of("add", "float32")
    path = write_listed_run(tmp_path / "runs.sqlite", "2026-11-01", {test_id: "x"})
    found = json.loads(run(export, "crcr", "--db", path))
    assert (found["conclusion"], found["test_results"]) == ("success", {"passed": 10, "failed": 1, "skipped": 0})
    by_verdict = json.loads(run(export, "crcr", "--db", path, "--by", "verdict"))
    assert by_verdict["test_results"] == {"passed": 10, "failed": 0, "skipped": 1}


def test_annotations_about_entries_stand_at_their_lines(tmp_path: Path) -> None:
    test_id = id_of("add", "float32")
    file = tmp_path / "a.toml"
    file.write_text(list_text(entry_text("y"), entry_text("x", f'tests = ["{test_id}"]')))
    path = write_listed_run(tmp_path / "runs.sqlite", "2026-11-01", {test_id: "x"}, ends={})
    output = run(export, "github", "--db", path, "--lists", file)
    assert output.count("\n") == 1
    from conformance.model.result import Result

    passed = {test_id: Result(test_id, Outcome.PASSED)}
    path = write_listed_run(tmp_path / "passes.sqlite", "2026-11-01", {test_id: "x"}, ends=passed)
    output = run(export, "github", "--db", path, "--lists", file)
    assert (
        f"::warning title=unexpected pass%2C entry x%3A 1 test on neuron%2C torch 2.13.0,file={file},line=12::"
        in output
    )


def test_exports_need_no_torch(database: Path) -> None:
    program = (
        "import sys\nfrom conformance.cli.export import command\n"
        "for form in ('junit', 'ctrf', 'crcr', 'github', 'pull-request'):\n"
        f"    command([form, '--db', {str(database)!r}], standalone_mode=False)\n"
        "assert not {'torch', 'numpy', 'rich', 'jinja2'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=os.environ)
    assert (done.returncode, done.stderr) == (0, "")


def test_junit_is_one_document(database: Path) -> None:
    root = ElementTree.fromstring(run(export, "junit", "--db", database))
    assert root.tag == "testsuites"
    assert {suite.get("name") for suite in root} == {"opinfo", "modules", "tests/test_local.py"}
