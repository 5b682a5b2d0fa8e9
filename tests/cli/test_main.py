"""The command itself: what it imports, how it fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Run

HEAVY = ("torch", "numpy", "sqlite_utils", "jinja2", "pytest", "rich")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["report", "--help"], ["site", "build", "--help"], ["devices"]]
)
def test_nothing_heavy_is_imported_to_answer(arguments: list[str], tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from conformance.cli.main import main\n"
        f"sys.argv = ['conformance', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        f"print('LOADED', sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.strip().splitlines()[-1] == "LOADED []"


def test_every_command_describes_itself(conformance: Run) -> None:
    text = conformance("--help").stdout
    for name in ("run", "report", "site", "collect", "devices"):
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{name} "))
        assert len(line.split()) > 3


def test_devices_says_that_neuron_is_emulated(conformance: Run) -> None:
    done = conformance("devices", env={"CONFORMANCE_NEURON": "emulated"})
    assert ["neuron", "emulated"] in [line.split()[:2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "--device", "toaster"], 2, "unknown device 'toaster'"),
        (["run", "nosuch", "--device", "cpu"], 2, "neither a suite (opinfo, modules, models, upstream) nor a file"),
        (["run", "--device", "cpu", "--workers", "lots"], 2, "number of workers is 'lots'"),
        (["run", "opinfo", "--device", "cpu", "--ops", "ad"], 2, "no operator or module of that name"),
        (["run", "opinfo", "--device", "cpu", "--ops", "add", "--dtypes", "float"], 0, ""),
        (["run", "opinfo", "--device", "cpu", "--dtypes", "int7"], 2, "torch has no such dtype; near: int"),
        (["run", "opinfo", "--device", "cpu", "--ops", "add", "-k", "nothing_like_it"], 2, "matches no test"),
        (["run", "opinfo", "--device", "cpu", "--ops", ","], 2, "names nothing"),
        (
            ["run", "opinfo", "--device", "cpu", "--templates", "frwd"],
            2,
            "known: backward, compile, compile_dynamic, conj_view",
        ),
        (["run", "", "--device", "cpu"], 2, "neither a suite"),
        (["run", "opinfo", "--device", "cpu", "--timeout", "nan"], 2, "time limit is nan"),
        (["collect", "modules", "--device", "cpu", "--templates", "out"], 2, "matches no test"),
        (
            ["run", "opinfo", "--device", "cpu", "--test", "opinfo::TestOperators::test_out_nope"],
            2,
            "no collected test",
        ),
        (["run", "opinfo", "--device", "cpu", "--ops", "add", "--db", "text.txt"], 2, "text.txt"),
        (["run", "opinfo", "--device", "cpu", "--ops", "add", "--db", "/proc/x.sqlite"], 3, "/proc/x.sqlite"),
        (["run", "opinfo", "--device", "neuron", "--ops", "add"], 2, "NEURON_PROFILE"),
        (["report", "--db", "missing.sqlite"], 2, "missing.sqlite"),
        (["run"], 2, "--device"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_gets_one_line_and_an_exit_code(
    conformance: Run, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    (tmp_path / "text.txt").write_text("this is no database\n" * 100)
    env = {"CONFORMANCE_NEURON_PROFILE": "no-such-profile"} if words == "NEURON_PROFILE" else {}
    done = conformance(*arguments, env=env)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    if code:
        errors = [line for line in done.stderr.splitlines() if "rror" in line]
        assert len(errors) == 1, done.stderr
        assert words in done.stderr.replace("no-such-profile", "NEURON_PROFILE")
    assert (tmp_path / "text.txt").read_text() == "this is no database\n" * 100


def test_no_compiler_is_one_line(conformance: Run, tmp_path: Path) -> None:
    done = conformance(
        *("run", "opinfo", "--device", "neuron", "--ops", "add"),
        env={"CXX": "/nonexistent/compiler", "CONFORMANCE_CACHE": str(tmp_path / "cache")},
    )
    assert done.returncode == 3
    assert "compiler" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_torch_that_is_too_old_is_one_line(conformance: Run, tmp_path: Path) -> None:
    (tmp_path / "old" / "torch").mkdir(parents=True)
    (tmp_path / "old" / "torch" / "__init__.py").write_text("__version__ = '2.5.1'\n")
    done = conformance("run", "--device", "cpu", env={"PYTHONPATH": str(tmp_path / "old")})
    assert done.returncode == 3
    assert "torch 2.5.1 is not supported; torch 2.6 or newer" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
