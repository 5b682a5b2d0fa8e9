"""docs/skiplists.md says what the code says, and its samples work."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from conformance.cli.skiplist import command
from conformance.model.identity import Identity, Suite
from conformance.skiplist.formats import EXPORTS, IMPORTS
from conformance.skiplist.keys import ENTRY_KEYS, MATCH_KEYS
from conformance.skiplist.lint import Rule
from conformance.skiplist.observed import Evidence
from conformance.skiplist.parse import parse_text
from conformance.skiplist.vocabulary import Category, Expectation

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "skiplists.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """Return the rows of the table with that line of headings."""
    lines = TEXT.partition(f"\n{heading}\n")[2].splitlines()[1:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    assert rows, heading
    return rows


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_tables_are_those_of_the_code() -> None:
    assert table("| key | required | value | meaning |") == [
        [f"`{key.name}`", "yes" if key.required else "", key.kind.value, key.meaning] for key in ENTRY_KEYS
    ]
    assert table("| field | what it is compared with |") == [[f"`{key.name}`", key.meaning] for key in MATCH_KEYS]
    assert table("| expect | the tests |") == [[f"`{one}`", one.definition] for one in Expectation]
    assert table("| category | the cause |") == [[f"`{one}`", one.definition] for one in Category]
    assert table("| rule | level | what it finds |") == [
        [f"`{rule}`", str(rule.level), rule.definition] for rule in Rule
    ]


def test_every_kind_of_evidence_is_described() -> None:
    assert [row[0] for row in table("| evidence | of a listed test |")] == [f"`{kind}`" for kind in Evidence]


def test_every_format_is_described() -> None:
    rows = table("| format | import | export | what it is |")
    assert {row[0].strip("`") for row in rows if row[1] == "yes"} == set(IMPORTS)
    assert {row[0].strip("`") for row in rows if row[2] == "yes"} == set(EXPORTS)


def test_the_sample_is_a_valid_list() -> None:
    (sample,) = blocks("toml")
    (entry,), problems = parse_text(sample, "sample.toml")
    assert problems == ()
    assert list(entry.tests) == sorted(entry.tests)


def test_the_sample_for_programs_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "skiplists" / "neuron"
    folder.mkdir(parents=True)
    (folder / "a.toml").write_text(blocks("toml")[0])
    monkeypatch.chdir(tmp_path)
    test = Identity("x.py", "TestFoo", "test_x_complex64", Suite.UPSTREAM, "test_x")
    (program,) = blocks("python")
    exec(compile(program, "sample", "exec"), {"identity": test})
    assert capsys.readouterr().out == "complex-dtypes fail\n"


def test_the_commands_of_the_document_exist_with_their_options_and_none_is_missing() -> None:
    lines = [line.partition(" #")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    used = set()
    for line in lines:
        words = line.split()
        assert words[:2] == ["conformance", "skiplist"]
        used.add(words[2])
        found = command.get_command(click.Context(command), words[2])
        assert found is not None, line
        options = {option for parameter in found.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, line
    assert used == set(command.list_commands(click.Context(command)))
