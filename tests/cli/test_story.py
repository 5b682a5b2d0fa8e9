"""The story in docs/story.md: every command ends as it says, and prints the lines that it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

STORY = Path(__file__).resolve().parents[2] / "docs" / "story.md"
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"\[exit code (\d+)\]")


def steps(text: str) -> Iterator[tuple[str, list[str], int]]:
    """Yield each command with the lines that stand below it and the exit code that it ends with."""
    for block in _CONSOLE.findall(text):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = step.splitlines()
            codes = [int(found[1]) for line in shown if (found := _EXIT.fullmatch(line))]
            yield command, [line for line in shown if not _EXIT.fullmatch(line)], codes[0] if codes else 0


def missing(shown: list[str], output: list[str]) -> list[str]:
    """Return the lines that are not in the output, or not in this order; ``...`` stands for anything."""
    rest = iter(output)
    patterns = {line: re.escape(line).replace(re.escape("..."), ".*") for line in shown}
    return [line for line in shown if not any(re.fullmatch(patterns[line], candidate) for candidate in rest)]


def test_lines_must_be_there_in_their_order() -> None:
    assert missing(["a", "c"], ["a", "b", "c"]) == []
    assert missing(["c", "a"], ["a", "b", "c"]) == ["a"]
    assert missing(["ab", "x...z"], ["abc", "xyz"]) == ["ab", "x...z"]
    assert missing(["a...c", "b"], ["abc", "b"]) == []


def test_the_story_is_true(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    people = {f"GIT_{role}_{what}": "story" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    variables = tmp_path / "variables"
    variables.touch()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("CONFORMANCE_NEURON")},
        **people,
        "CONFORMANCE_NEURON": "emulated",
        "OMP_NUM_THREADS": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    told = list(steps(STORY.read_text(encoding="utf-8")))
    assert len(told) > 20
    for command, shown, code in told:
        done = subprocess.run(
            ["bash", "-c", f". '{variables}'\n{command}\ncode=$?\nexport -p > '{variables}'\nexit $code"],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        output = f"{done.stdout}\n{done.stderr}"
        assert done.returncode == code, f"{command}\n{output}"
        assert missing(shown, output.splitlines()) == [], f"{command}\n{output}"
