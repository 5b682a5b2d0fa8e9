"""The command ``conformance report``, in this process and as a program of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from conformance.cli.report import command
from conformance.errors import UsageError
from tests.sample_run import build_sample

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = "from conformance.cli.report import command; command(standalone_mode=False)"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_sample(tmp_path_factory.mktemp("cli") / "sample.sqlite", runs=3, operators=13)


def run(*arguments: str, env: dict[str, str] | None = None) -> str:
    result = CliRunner().invoke(command, arguments, env=env, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def start(*arguments: str, program: str = PROGRAM, **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, **variables},
    )


def test_reports_the_latest_run_as_text(sample: Path) -> None:
    assert run("--db", str(sample)).startswith("Run 3 (")
    assert run("--db", str(sample), "--run", "latest-complete").startswith("Run 2 (")


def test_reports_as_json_and_markdown(sample: Path) -> None:
    assert json.loads(run("--db", str(sample), "--run", "1", "--format", "json"))["run"]["id"] == 1
    assert run("--db", str(sample), "--run", "1", "--format", "md").startswith("## Run 1 on `neuron`")


def test_top_limits_rows(sample: Path) -> None:
    def rows(top: str) -> int:
        document = json.loads(run("--db", str(sample), "--format", "json", "--top", top))
        return len(document["templates"]["rows"])

    assert rows("2") == 2
    assert rows("0") > 10


def test_takes_the_database_from_the_environment(sample: Path) -> None:
    assert run(env={"CONFORMANCE_DB": str(sample)}) == run("--db", str(sample))


def test_an_unknown_run_or_database_is_an_error_that_names_it(sample: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'77'") as unknown:
        run("--db", str(sample), "--run", "77")
    with pytest.raises(UsageError, match=r"missing\.sqlite") as missing:
        run("--db", str(tmp_path / "missing.sqlite"))
    assert (unknown.value.slug, missing.value.slug) == ("unknown-run", "database-missing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--top", "-1"], ["--top", "many"], ["--format", "xml"], ["extra"]])
def test_wrong_options_are_usage_errors(sample: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(command, ["--db", str(sample), *arguments])
    assert result.exit_code == 2
    assert "Error" in result.output


def test_every_option_has_its_help() -> None:
    output = run("--help")
    for option in ("--db", "--run", "--format", "--top"):
        assert option in output


def test_starts_without_torch_or_rich(sample: Path) -> None:
    program = f"import sys\n{PROGRAM}\nassert not {{'torch', 'numpy', 'rich', 'sqlite_utils'}} & set(sys.modules)"
    for form in ("text", "json", "md"):
        finished = start("--db", str(sample), "--format", form, program=program)
        assert (finished.returncode, finished.stderr) == (0, b"")


def test_a_closed_pipe_is_no_error(sample: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        finished = subprocess.run(
            [sys.executable, "-c", PROGRAM, "--db", str(sample)], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (finished.returncode, finished.stderr) == (0, b"")


def test_an_output_without_unicode_gets_escapes(sample: Path) -> None:
    finished = start("--db", str(sample), "--run", "1", PYTHONIOENCODING="ascii")
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert finished.stdout.isascii()


def test_the_same_database_gives_the_same_bytes(sample: Path) -> None:
    for form in ("text", "json", "md"):
        outputs = {
            start("--db", str(sample), "--format", form, PYTHONHASHSEED=seed, TZ=zone).stdout
            for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
        }
        assert len(outputs) == 1
