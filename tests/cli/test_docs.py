"""The commands in the documents exist, with every option, and their scripts can be read."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from conformance.cli.main import cli

DOCS = Path(__file__).resolve().parents[2] / "docs"
DOCUMENTS = ("ci.md", "burndown.md", "verdicts.md")
_BLOCK = re.compile(r"^```(yaml|bash|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}|\$\(.*?\)|\$\{.*?\}|\$\w+|\$\?")


def blocks(document: str, *languages: str) -> list[str]:
    text = (DOCS / document).read_text(encoding="utf-8")
    return [block for language, block in _BLOCK.findall(text) if language in languages]


def commands(document: str) -> Iterator[list[str]]:
    """Yield the words of every call of the command line; what a shell or GitHub fills in is a 1."""
    for block in blocks(document, "yaml", "bash", "sh"):
        lines = block.replace("\\\n", " ").splitlines()
        for line in lines:
            found = re.search(r"(?:^|run: |&& )\s*(conformance .*)", line)
            if found and not line.lstrip().startswith("#"):
                call = re.split(r" (?:\|\||&&|\||>>|>|;|#) ", _EXPRESSION.sub("1", found[1]))[0]
                yield shlex.split(call, comments=True)[1:]


def resolve(words: list[str]) -> tuple[click.Command, list[str]]:
    command: click.Command = cli
    rest = list(words)
    while isinstance(command, click.Group) and rest:
        context = click.Context(command)
        found = command.get_command(context, rest[0])
        assert found is not None, words
        command, rest = found, rest[1:]
    return command, rest


CALLS = [(document, words) for document in DOCUMENTS for words in commands(document)]


@pytest.mark.parametrize(
    ("document", "words"), CALLS, ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_every_call_is_one_that_the_command_line_takes(document: str, words: list[str]) -> None:
    command, rest = resolve(words)
    assert not isinstance(command, click.Group)
    command.make_context(words[0], rest, resilient_parsing=False)


def test_the_documents_call_what_they_are_about() -> None:
    called = {document: {words[0] for other, words in CALLS if other == document} for document in DOCUMENTS}
    assert called["ci.md"] >= {"run", "merge", "gate", "site", "burndown", "export"}
    assert called["burndown.md"] == {"burndown", "import"}
    assert called["verdicts.md"] == {"gate", "compare"}


def test_the_tables_name_commands_that_exist() -> None:
    text = (DOCS / "ci.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `conformance ([a-z-]+(?: [a-z-]+)?)", text, re.MULTILINE)
    assert len(named) >= 9
    for name in named:
        command, rest = resolve([word for word in name.split() if not word.startswith("--")])
        assert rest == [] or not isinstance(command, click.Group), name


def test_every_export_is_in_the_document() -> None:
    export, _ = resolve(["export"])
    assert isinstance(export, click.Group)
    text = (DOCS / "ci.md").read_text(encoding="utf-8")
    assert [name for name in export.commands if f"`conformance export {name}`" not in text] == []


def test_the_scripts_are_read_by_a_shell() -> None:
    scripts = blocks("ci.md", "bash")
    assert len(scripts) == 2
    for script in scripts:
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_workflows_are_valid_yaml_and_whole() -> None:
    yaml = pytest.importorskip("yaml")
    workflow, *steps = blocks("ci.md", "yaml")
    read = yaml.safe_load(workflow)
    assert list(read["jobs"]) == ["shard", "gate", "publish"]
    for job in read["jobs"].values():
        assert job["runs-on"]
        assert all(bool(step.get("uses")) != bool(step.get("run")) for step in job["steps"])
    assert read["jobs"]["gate"]["steps"][-1]["run"].startswith("conformance gate")
    for block in steps:
        assert all("uses" in step or "run" in step for step in yaml.safe_load(block))


def test_the_burn_downs_document_has_every_key(tmp_path: Path) -> None:
    import json

    from click.testing import CliRunner

    from tests.report.listed_runs import id_of, write_listed_run

    path = tmp_path / "runs.sqlite"
    for day in range(1, 6):
        listed = dict.fromkeys([id_of("add", "float32"), id_of("sub", "int8")][: 1 + day % 2], "x")
        write_listed_run(path, f"2026-11-0{day}", listed)
    text = (DOCS / "burndown.md").read_text(encoding="utf-8")
    done = CliRunner().invoke(cli, ["burndown", "--db", str(path), "--format", "json"], catch_exceptions=False)
    found = json.loads(done.stdout)

    def keys(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from keys(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)

    assert sorted({key for key in keys(found) if f"`{key}`" not in text}) == []


@pytest.mark.parametrize("words", [["gate"], ["compare"], ["burndown"], ["export", "junit"], ["import", "junit"]])
def test_help_imports_no_more_than_click(words: list[str]) -> None:
    program = (
        "import sys\nfrom conformance.cli.main import cli\n"
        f"try:\n    cli([*{words!r}, '--help'])\nexcept SystemExit:\n    pass\n"
        "late = {'torch', 'sqlite3', 'rich', 'conformance.store', 'conformance.report', 'conformance.skiplist'}\n"
        "loaded = late & set(sys.modules)\nassert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
