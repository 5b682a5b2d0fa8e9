"""``conformance doctor`` as its user meets it: what it prints and what it ends with."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

from conformance.store import doctor
from tests.conftest import Run
from tests.store.damage import edit, leaves, sample, zero_page

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "doctor.md"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return sample(tmp_path / "conformance.sqlite")


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


def test_a_healthy_database_ends_with_0(conformance: Run, database: Path) -> None:
    done = conformance("doctor")
    assert done.returncode == 0, done.stderr
    first, last = lines(done)
    assert first.startswith("conformance.sqlite: ")
    assert first.endswith(" results")
    assert last == "nothing is wrong"


def test_each_finding_is_one_line_that_says_what_to_do(conformance: Run, database: Path) -> None:
    edit(database, "UPDATE run_outcome SET tests = tests + 1 WHERE run_id = 1 AND outcome = 'passed'")
    edit(database, "UPDATE run SET planned = planned + 2 WHERE run_id = 2")
    done = conformance("doctor")
    assert done.returncode == 1
    text = lines(done)
    assert [line.partition(":")[0] for line in text[1:-1]] == ["counts", "plan"]
    assert all("`conformance doctor --rescue NEWFILE`" in line for line in text[1:-1])
    assert text[-1] == "2 findings"


def test_json_has_the_same_findings(conformance: Run, database: Path) -> None:
    edit(database, "UPDATE run SET planned = planned + 2 WHERE run_id = 2")
    done = conformance("doctor", "--format", "json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert (data["schema"], data["healthy"], data["runs"]) == (1, False, 2)
    (finding,) = data["findings"]
    assert (finding["kind"], finding["run_id"]) == ("plan", 2)
    assert finding["text"]
    assert finding["remedy"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "there is no database"), (b"", "is empty"), (b"a shopping list\n" * 99, "is no SQLite file")],
)
def test_what_is_no_database_is_an_error_in_one_line(
    conformance: Run, tmp_path: Path, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "a.sqlite").write_bytes(content)
    done = conformance("doctor", "--db", "a.sqlite")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert words in line


def test_a_rescue_counts_what_it_saved_and_what_was_lost(conformance: Run, database: Path) -> None:
    zero_page(database, leaves(database, "result")[0])
    before = database.read_bytes()
    found = conformance("doctor")
    assert found.returncode == 1
    assert "damage: 1 page of the table result cannot be read" in found.stdout
    done = conformance("doctor", "--rescue", "new.sqlite")
    assert done.returncode == 1, done.stderr
    (result,) = [line.split(None, 3) for line in lines(done) if line.startswith("result ")]
    assert int(result[1]) > 100
    assert result[3] == "the rows of 1 page"
    assert any(line.startswith("lost: run 1: the results of ") for line in lines(done))
    assert lines(done)[-1] == "nothing is wrong"
    assert database.read_bytes() == before
    assert conformance("doctor", "--db", "new.sqlite").returncode == 0
    report = conformance("report", "--db", "new.sqlite", "--run", "1")
    assert report.returncode == 0, report.stderr
    assert "not run" in report.stdout


def test_a_rescue_that_lost_nothing_ends_with_0_and_says_so(conformance: Run, database: Path) -> None:
    database.write_bytes(bytes(100) + database.read_bytes()[100:])
    done = conformance("doctor", "--rescue", "new.sqlite", "--format", "json")
    assert done.returncode == 0, done.stdout
    rescued = json.loads(done.stdout)["rescue"]
    assert rescued["lost_nothing"] is True
    assert {table["lost_rows"] for table in rescued["tables"]} == {0}


def test_a_rescue_never_overwrites(conformance: Run, database: Path, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("precious")
    done = conformance("doctor", "--rescue", "there")
    assert done.returncode == 2
    assert "there exists already" in done.stderr
    assert (tmp_path / "there").read_text() == "precious"


def test_every_kind_of_finding_is_described() -> None:
    source = Path(doctor.__file__).read_text()
    kinds = {
        call.args[0].value
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add"
        if call.args and isinstance(call.args[0], ast.Constant)
    }
    assert len(kinds) > 10
    assert set(re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(), flags=re.M)) == kinds
