from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from conformance.cli.site import command
from conformance.errors import UsageError
from conformance.model.outcome import Outcome
from tests.publish.building import write_run
from tests.publish.reading import page

if TYPE_CHECKING:
    from pathlib import Path


def _build(*arguments: object, env: dict[str, str] | None = None) -> str:
    result = CliRunner().invoke(command, ["build", *map(str, arguments)], env=env, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_says_what_it_built(sample_database: Path, tmp_path: Path) -> None:
    output = _build("--db", sample_database, "--out", tmp_path / "site", "--run", "2")
    assert output.startswith(f"{tmp_path / 'site' / 'index.html'}: run 2 on neuron, complete; ")
    assert output.count("\n") == 1


def test_the_best_run_is_shown_by_default(sample_database: Path, tmp_path: Path) -> None:
    output = _build("--out", tmp_path / "site", env={"CONFORMANCE_DB": str(sample_database)})
    assert "run 2 on neuron, complete" in output


def test_the_latest_run_can_be_asked_for_and_is_called_emulated(sample_database: Path, tmp_path: Path) -> None:
    output = _build("--out", tmp_path / "site", "--run", "latest", env={"CONFORMANCE_DB": str(sample_database)})
    assert "run 3 on neuron (EMULATED), interrupted" in output
    assert "interrupted" in page(tmp_path / "site" / "index.html").one("main").text


@pytest.mark.parametrize("address", ["example.org", "ftp://example.org/", "https://example.org/?a=b", "https://"])
def test_an_address_that_is_none_is_refused(sample_database: Path, tmp_path: Path, address: str) -> None:
    with pytest.raises(UsageError) as caught:
        _build("--db", sample_database, "--out", tmp_path / "site", "--base-url", address)
    assert caught.value.slug == "not-an-address"
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        (("--db", "missing.sqlite"), "database-missing"),
        (("--run", "99"), "unknown-run"),
        (("--run", "latest-complete"), "unknown-run"),
    ],
)
def test_what_cannot_be_built_is_refused_before_anything_is_written(
    tmp_path: Path, arguments: tuple[str, ...], slug: str
) -> None:
    from conformance.model.run import RunState

    database = write_run(tmp_path / "db.sqlite", {"add": Outcome.PASSED}, state=RunState.RUNNING)
    with pytest.raises(UsageError) as caught:
        _build("--db", database, "--out", tmp_path / "site", *arguments)
    assert caught.value.slug == slug
    assert not (tmp_path / "site").exists()


def test_the_database_is_not_changed(sample_database: Path, tmp_path: Path) -> None:
    before = sample_database.read_bytes()
    _build("--db", sample_database, "--out", tmp_path / "site")
    assert sample_database.read_bytes() == before


def test_the_help_names_its_options() -> None:
    result = CliRunner().invoke(command, ["build", "--help"])
    for option in ("--db", "--out", "--run", "--base-url"):
        assert option in result.output
